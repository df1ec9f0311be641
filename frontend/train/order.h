// In which order samples are trained on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "frontend/core/random.h"
#include "frontend/train/batch_inputs.h"

namespace sinter {

/// The sample numbers of a piece, shuffled or not, in batches.
class Order {
 public:
  /// `whole`: samples that fill no batch are left out. `bucket_batches`: see FitOptions.
  Order(bool shuffle, std::int64_t batch_size, bool whole = false, std::int64_t bucket_batches = 0)
      : shuffle_(shuffle), batch_size_(batch_size), bucket_batches_(bucket_batches), least_(whole ? static_cast<std::size_t>(batch_size) : 1) {}

  void start(const Dataset& piece, RandomStream& random) {
    order_.resize(static_cast<std::size_t>(piece.size()));
    std::iota(order_.begin(), order_.end(), 0);
    if (shuffle_) shuffle(std::span(order_), random);
    if (const std::vector<const Sequences*> columns = sequences_of(piece.x); bucket_batches_ && !columns.empty()) sort_buckets(*columns[0], random);
    next_ = 0;
  }
  bool done() const { return order_.size() - next_ < least_; }
  /// Samples that have been in a batch.
  std::int64_t place() const { return static_cast<std::int64_t>(next_); }
  void skip(std::int64_t samples) {
    if (samples > static_cast<std::int64_t>(order_.size()))
      throw UserError("fit",
                      str("the checkpoint resumes after sample ", samples, " of a piece of ", order_.size(), " samples; use the data of the run"));
    next_ = static_cast<std::size_t>(samples);
  }
  /// Row numbers of the next batch; full batches use one tensor and smaller ones another, rewritten in place.
  const Tensor& batch() {
    const std::size_t count = std::min(static_cast<std::size_t>(batch_size_), order_.size() - next_);
    Tensor& rows = static_cast<std::int64_t>(count) == batch_size_ ? full_ : ragged_;
    if (!rows.defined() || rows.elements() != static_cast<std::int64_t>(count))
      rows = Tensor::zeros({DType::i32, {static_cast<std::int64_t>(count)}});
    std::copy_n(order_.begin() + static_cast<std::ptrdiff_t>(next_), count, rows.view().as<std::int32_t>());
    next_ += count;
    return rows;
  }

 private:
  void sort_buckets(const Sequences& column, RandomStream& random) {
    const auto batch = static_cast<std::size_t>(batch_size_);
    std::vector<std::int32_t> sorted;
    while (sorted.size() < order_.size()) {
      const auto rest = std::span(order_).subspan(sorted.size());
      const std::size_t batches = std::min(static_cast<std::size_t>(bucket_batches_), (rest.size() + batch - 1) / batch);
      const std::vector<std::int32_t> bucket = in_order_of_length(column, rest.first(std::min(rest.size(), batches * batch)));
      // A batch that is not full stays the last one.
      std::vector<std::size_t> order(bucket.size() / batch);
      std::iota(order.begin(), order.end(), 0);
      if (shuffle_) shuffle(std::span(order), random);
      for (const std::size_t i : order) {
        const auto of_batch = std::span(bucket).subspan(i * batch, batch);
        sorted.insert(sorted.end(), of_batch.begin(), of_batch.end());
      }
      sorted.insert(sorted.end(), bucket.begin() + static_cast<std::ptrdiff_t>(order.size() * batch), bucket.end());
    }
    order_ = std::move(sorted);
  }

  bool shuffle_;
  std::int64_t batch_size_, bucket_batches_;
  std::size_t least_;  // samples of a batch
  std::vector<std::int32_t> order_;
  std::size_t next_ = 0;
  Tensor full_, ragged_;
};

}  // namespace sinter
