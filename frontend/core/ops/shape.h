// Functions that move elements without changing them.
#pragma once

#include <limits>
#include <vector>

#include "frontend/core/arg.h"

namespace sinter {

/// The same elements in another shape. One dimension may be -1: it is inferred.
Tensor reshape(const Arg& x, const std::vector<Dim>& dims);
Tensor broadcast_to(const Arg& x, const Shape& shape);
/// Exchanges the last two dimensions.
Tensor transpose(const Arg& x);
/// Axis i of the result is axis axes[i] of x: every axis once, negative ones count from the last.
Tensor permute(const Arg& x, const std::vector<std::int64_t>& axes);

/// Concatenates along an axis; negative axes count from the last.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis = 0, std::source_location where = std::source_location::current());
/// Concatenates along a new axis.
Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis = 0, std::source_location where = std::source_location::current());
/// Elements [begin, end) along an axis of fixed size; negative indices count from its end.
Tensor slice(const Arg& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
/// Each step-th element of [begin, end) along an axis: Slice{} is all of it, {.begin = 1} all but the first. Negative indices count from the end.
struct Slice {
  static constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();
  std::int64_t begin = 0, end = to_end, step = 1;
};
/// A slice along each of the first axes; axes that are not listed are kept whole. x[0:2, :, 1:] of NumPy is slice(x, {{0, 2}, {}, {1}}).
Tensor slice(const Arg& x, const std::vector<Slice>& slices);
/// Parts of these sizes along an axis. Throws UserError if they don't add up to it.
std::vector<Tensor> split(const Arg& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = -1);
/// Adds `before` and `after` elements of `value` along an axis of fixed size.
Tensor pad(const Arg& x, std::int64_t axis, std::int64_t before, std::int64_t after, float value = 0);
/// Moves the elements by so many places along an axis, towards its end if `by` is positive: [1, 2, 3] by 1 is [value, 1, 2]. Not along N.
Tensor shift(const Arg& x, std::int64_t by, std::int64_t axis, float value = 0);
/// The row-major index of each element (u32) of a shape.
Tensor iota(const Shape& shape, std::source_location where = std::source_location::current());

}  // namespace sinter
