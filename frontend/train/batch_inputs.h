// What steps of a Trainer are called with.
#pragma once

#include <span>
#include <vector>

#include "frontend/train/dataset.h"
#include "frontend/train/step_rows.h"

namespace sinter {

/// Data that a step is run on, and the weight of each sample in the loss: the data's own weights times those of the classes; undefined: 1.
struct Piece {
  Dataset data;
  Tensor weights = {};
};

/// The inputs of a training or evaluation step on some samples of a piece of data, in this order: tables of x and of y, row numbers, of each column
/// of sequences the rows of its steps and which exist (StepRows), and the weights, if there are any. Samples of sequences are taken in order of their
/// lengths, the longest first: a step then computes little padding.
class BatchInputs {
 public:
  /// Valid until the next call, and as long as the piece and the rows.
  std::span<const Tensor* const> of(const Piece& piece, const Tensor& rows);
  std::span<const Tensor* const> list() const { return in_; }
  /// The samples, in the order in which the step gets them.
  const Tensor& rows() const { return *rows_; }
  /// Target number `i` of these samples of the piece: [N, ...], sequences padded with zeros.
  Tensor target(const Piece& piece, std::size_t i) const;

 private:
  std::vector<const Tensor*> in_;
  const Tensor* rows_ = nullptr;
  Tensor ordered_;
  std::vector<StepRows> steps_;  ///< of columns of sequences, of x and then of y
};

/// The columns that are sequences, those of a data set of x and then of y.
std::vector<const Sequences*> sequences_of(const Columns& columns);
std::vector<const Sequences*> sequences_of(const Dataset& data);
/// Of these samples: the most steps of one, at least 1.
std::int64_t longest_of(std::span<const Sequences* const> columns, std::span<const std::int32_t> samples);
/// The samples in order of the lengths of their first sequence, the longest first, those of one length as they are.
std::vector<std::int32_t> in_order_of_length(const Sequences& column, std::span<const std::int32_t> samples);
/// All samples in blocks of at most so many: as they are, or, if there are sequences, in order of their lengths, as many to a block as have at most
/// 64 steps for each of its samples together, with padding.
std::vector<std::vector<std::int32_t>> blocks_of(const Columns& x, std::int64_t samples, std::int64_t most);
/// The inputs of a step that predicts for these samples: x, padded where it is of sequences, then which steps of those exist.
std::vector<Tensor> prediction_inputs(const Columns& x, std::span<const std::int32_t> samples);

}  // namespace sinter
