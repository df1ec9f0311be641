#include "frontend/train/batch_inputs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/core/ops.h"

namespace sinter {

std::vector<const Sequences*> sequences_of(const Columns& columns) {
  std::vector<const Sequences*> found;
  for (const Column& column : columns)
    if (column.has_sequences()) found.push_back(&column.sequences());
  return found;
}

std::vector<const Sequences*> sequences_of(const Dataset& data) {
  std::vector<const Sequences*> found = sequences_of(data.x), of_y = sequences_of(data.y);
  found.insert(found.end(), of_y.begin(), of_y.end());
  return found;
}

std::int64_t longest_of(std::span<const Sequences* const> columns, std::span<const std::int32_t> samples) {
  std::int64_t most = 1;
  for (const Sequences* column : columns)
    for (const std::int32_t sample : samples) most = std::max(most, column->length(sample));
  return most;
}

std::vector<std::int32_t> in_order_of_length(const Sequences& column, std::span<const std::int32_t> samples) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // length, place
  for (std::size_t i = 0; i < samples.size(); ++i) order.emplace_back(column.length(samples[i]), i);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<std::int32_t> result;
  for (const auto& [length, place] : order) result.push_back(samples[place]);
  return result;
}

std::span<const Tensor* const> BatchInputs::of(const Piece& piece, const Tensor& rows) {
  in_.clear();
  for (const Columns* list : {&piece.data.x, &piece.data.y})
    for (const Column& column : *list) in_.push_back(&column.values());
  rows_ = &rows;
  if (const std::vector<const Sequences*> columns = sequences_of(piece.data); columns.empty()) {
    in_.push_back(&rows);
  } else {
    const std::vector<std::int32_t> samples = in_order_of_length(*columns[0], rows.to_vector<std::int32_t>());
    ordered_ = Tensor(samples, {std::ssize(samples)});
    rows_ = &ordered_;
    in_.push_back(&ordered_);
    steps_.clear();
    for (const Sequences* column : columns) steps_.push_back(step_rows(*column, samples, longest_of(columns, samples), PaddingSide::behind));
    for (const StepRows& steps : steps_) in_.insert(in_.end(), {&steps.row, &steps.exists});
  }
  if (piece.weights.defined()) in_.push_back(&piece.weights);
  return in_;
}

Tensor BatchInputs::target(const Piece& piece, std::size_t i) const {
  const Column& column = piece.data.y[i];
  if (!column.has_sequences()) return gather_rows(column.array(), *rows_);
  const auto is_of_sequences = [](const Column& other) { return other.has_sequences(); };
  const auto before = std::count_if(piece.data.x.begin(), piece.data.x.end(), is_of_sequences) +
                      std::count_if(piece.data.y.begin(), piece.data.y.begin() + static_cast<std::ptrdiff_t>(i), is_of_sequences);
  const StepRows& steps = steps_[static_cast<std::size_t>(before)];
  return padded_steps(column.values(), steps.row, steps.exists);
}

std::vector<std::vector<std::int32_t>> blocks_of(const Columns& x, std::int64_t samples, std::int64_t most) {
  constexpr std::int64_t steps_each = 64;
  std::vector<std::int32_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<const Sequences*> columns = sequences_of(x);
  if (!columns.empty()) order = in_order_of_length(*columns[0], order);
  std::vector<std::vector<std::int32_t>> blocks;
  std::int64_t longest = 0;  // of the last block
  for (const std::int32_t sample : order) {
    const std::int64_t length = columns.empty() ? 0 : longest_of(columns, {&sample, 1});
    const std::int64_t grown = blocks.empty() ? 0 : std::ssize(blocks.back()) + 1;
    if (blocks.empty() || grown > most || grown * std::max(longest, length) > most * steps_each) {
      blocks.emplace_back();
      longest = 0;
    }
    blocks.back().push_back(sample);
    longest = std::max(longest, length);
  }
  return blocks;
}

std::vector<Tensor> prediction_inputs(const Columns& x, std::span<const std::int32_t> samples) {
  const std::vector<const Sequences*> columns = sequences_of(x);
  std::vector<Tensor> in, exist;
  const Tensor rows(samples, {std::ssize(samples)});
  for (const Column& column : x) {
    if (!column.has_sequences()) {
      in.push_back(gather_rows(column.array(), rows));
      continue;
    }
    const StepRows steps = step_rows(column.sequences(), samples, longest_of(columns, samples), PaddingSide::behind);
    in.push_back(padded_steps(column.values(), steps.row, steps.exists));
    exist.push_back(steps.exists);
  }
  in.insert(in.end(), exist.begin(), exist.end());
  return in;
}

}  // namespace sinter
