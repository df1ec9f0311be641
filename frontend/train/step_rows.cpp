#include "frontend/train/step_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "frontend/core/counted.h"
#include "frontend/core/ops.h"
#include "frontend/nn/mask.h"

namespace sinter {

StepRows step_rows(const Sequences& all, std::span<const std::int32_t> numbers, std::int64_t steps, PaddingSide side) {
  const auto count = std::ssize(numbers);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count * steps));
  std::vector<std::uint8_t> exists(rows.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(numbers[static_cast<std::size_t>(i)]);
    const std::int64_t begin = all.offsets()[at], length = all.offsets()[at + 1] - begin;
    if (length > steps) throw UserError("Sequences", str("sequence ", at, " has ", counted(length, "step"), ", more than ", steps, "; truncate it"));
    const std::int64_t first = i * steps + (side == PaddingSide::before ? steps - length : 0);
    std::iota(rows.begin() + first, rows.begin() + first + length, static_cast<std::int32_t>(begin));
    std::fill_n(exists.begin() + first, length, std::uint8_t{1});
  }
  return {Tensor(rows, {count, steps}), Tensor::from_bytes({DType::boolean, {count, steps}}, exists.data())};
}

Tensor padded_steps(const Tensor& values, const Tensor& row, const Tensor& exists) {
  if (values.dim(0) != Dim(0)) return nn::where_exists(exists, gather_rows(values, row));
  return Tensor::zeros({values.dtype(), values.shape().erase(0, 1).insert(0, exists.dim(1)).insert(0, exists.dim(0))});
}

}  // namespace sinter
