#include "frontend/train/sequences.h"

#include <algorithm>
#include <numeric>

#include "frontend/core/counted.h"
#include "frontend/core/ops.h"
#include "frontend/train/row_numbers.h"
#include "frontend/train/step_rows.h"

namespace sinter {

namespace {

constexpr const char* here = "Sequences";

/// Rows of `values` by number.
Tensor picked(const Tensor& values, const std::vector<std::int32_t>& numbers) {
  return gather_rows(values, Tensor(numbers, {static_cast<std::int64_t>(numbers.size())}));
}

void add_range(std::vector<std::int32_t>& numbers, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) numbers.push_back(static_cast<std::int32_t>(i));
}

}  // namespace

Sequences::Sequences(Tensor values, std::vector<std::int64_t> offsets) : values_(std::move(values)) {
  if (!values_.defined() || values_.rank() < 1) throw UserError(here, "values must be [steps, features...] of all sequences, one behind the other");
  const std::int64_t steps = values_.shape()[0].factor();
  require_row_numbers(here, steps);
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != steps)
    throw UserError(here, str("offsets must begin with 0 and end with the number of steps, ", steps, ", got ",
                              offsets.empty() ? "none" : str(offsets.front(), " and ", offsets.back())));
  const auto falls = std::adjacent_find(offsets.begin(), offsets.end(), std::greater<>());
  if (falls != offsets.end())
    throw UserError(here, str("offset ", falls - offsets.begin() + 1, " is ", falls[1], ", after ", falls[0], "; offsets never descend"));
  offsets_ = std::make_shared<const std::vector<std::int64_t>>(std::move(offsets));
}

Sequences::Sequences(const std::vector<std::vector<std::int32_t>>& lists) {
  if (lists.empty()) throw UserError(here, "needs at least one sequence, got none");
  std::vector<std::int32_t> values;
  std::vector<std::int64_t> offsets{0};
  for (const std::vector<std::int32_t>& list : lists) {
    values.insert(values.end(), list.begin(), list.end());
    offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
  const auto steps = static_cast<std::int64_t>(values.size());
  *this = Sequences(Tensor(values, {steps}), std::move(offsets));
}

Sequences Sequences::from_padded(const Tensor& padded, std::span<const std::int64_t> lengths, PaddingSide side) {
  if (padded.rank() < 2) throw UserError(here, str("padded sequences are [n, T, features...], got ", padded.type()));
  const std::int64_t count = padded.shape()[0].factor(), steps = padded.shape()[1].factor();
  if (!lengths.empty() && std::ssize(lengths) != count)
    throw UserError(here, str("needs a length for each of ", counted(count, "sequence"), ", got ", lengths.size()));
  std::vector<std::int32_t> numbers;
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = lengths.empty() ? steps : lengths[static_cast<std::size_t>(i)];
    if (length < 0 || length > steps) throw UserError(here, str("sequence ", i, " has the length ", length, ", outside [0, ", steps, "]"));
    const std::int64_t first = i * steps + (side == PaddingSide::before ? steps - length : 0);
    add_range(numbers, first, first + length);
    offsets.push_back(offsets.back() + length);
  }
  std::vector<Dim> dims{count * steps};
  dims.insert(dims.end(), padded.shape().begin() + 2, padded.shape().end());
  return {picked(reshape(padded, dims), numbers), std::move(offsets)};
}

std::int64_t Sequences::length(std::int64_t sequence) const {
  const auto i = static_cast<std::size_t>(sequence);
  return (*offsets_)[i + 1] - (*offsets_)[i];
}

std::int64_t Sequences::longest() const {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < size(); ++i) most = std::max(most, length(i));
  return most;
}

Type Sequences::type() const {
  const Shape features = values_.shape().erase(0, 1);
  return {values_.dtype(), features.insert(0, Dim::length()).insert(0, size())};
}

Sequences Sequences::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin >= end || end > size())
    throw UserError(here, str("sequences [", begin, ", ", end, ") of ", size(), " are empty or out of range"));
  const auto at = [&](std::int64_t i) { return (*offsets_)[static_cast<std::size_t>(i)]; };
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = begin; i <= end; ++i) offsets.push_back(at(i) - at(begin));
  std::vector<std::int32_t> rows;
  add_range(rows, at(begin), at(end));
  return {picked(values_, rows), std::move(offsets)};  // none, perhaps, which is no slice
}

Sequences Sequences::select(std::span<const std::int32_t> numbers) const {
  if (numbers.empty()) throw UserError(here, "needs the number of at least one sequence");
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets{0};
  for (const std::int32_t i : numbers) {
    if (i < 0 || i >= size()) throw UserError(here, str("sequence ", i, " is outside of [0, ", size(), ")"));
    const auto at = static_cast<std::size_t>(i);
    add_range(rows, (*offsets_)[at], (*offsets_)[at + 1]);
    offsets.push_back(static_cast<std::int64_t>(rows.size()));
  }
  return {picked(values_, rows), std::move(offsets)};
}

Sequences Sequences::truncated(std::int64_t most, Keep keep) const {
  if (most < 1) throw UserError(here, str("at least one step must be kept, got ", most));
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t i = 0; i < size(); ++i) {
    const std::int64_t begin = (*offsets_)[static_cast<std::size_t>(i)], kept = std::min(length(i), most);
    const std::int64_t first = keep == Keep::first ? begin : begin + length(i) - kept;
    add_range(rows, first, first + kept);
    offsets.push_back(offsets.back() + kept);
  }
  return {picked(values_, rows), std::move(offsets)};
}

Tensor Sequences::padded(PaddingSide side, std::int64_t steps) const {
  if (size() == 0) throw UserError(here, "there are no sequences");
  std::vector<std::int32_t> all(static_cast<std::size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  const StepRows rows = step_rows(*this, all, steps ? steps : std::max<std::int64_t>(1, longest()), side);
  return padded_steps(values_, rows.row, rows.exists);
}

}  // namespace sinter
