// In which order samples are trained on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "frontend/core/random.h"
#include "frontend/core/tensor.h"

namespace sinter {

/// The sample numbers of a piece, shuffled or not, in batches.
class Order {
 public:
  /// `whole`: samples that fill no batch are left out.
  Order(bool shuffle, std::int64_t batch_size, bool whole = false)
      : shuffle_(shuffle), batch_size_(batch_size), least_(whole ? static_cast<std::size_t>(batch_size) : 1) {}

  void start(std::int64_t samples, RandomStream& random) {
    order_.resize(static_cast<std::size_t>(samples));
    std::iota(order_.begin(), order_.end(), 0);
    if (shuffle_) shuffle(std::span(order_), random);
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
  bool shuffle_;
  std::int64_t batch_size_;
  std::size_t least_;  // samples of a batch
  std::vector<std::int32_t> order_;
  std::size_t next_ = 0;
  Tensor full_, ragged_;
};

}  // namespace sinter
