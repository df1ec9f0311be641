// The order of elements along an axis, which has a fixed size: axes count from 0, negative ones from the last.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

/// i32 index of the first NaN, else of the first greatest (least) element along an axis, which leaves the shape unless keepdims.
Tensor argmax(const Arg& x, std::int64_t axis = -1, bool keepdims = false);
Tensor argmin(const Arg& x, std::int64_t axis = -1, bool keepdims = false);
/// i32 indices that sort along an axis: equal elements keep their order; NaN counts as the greatest.
Tensor argsort(const Arg& x, std::int64_t axis = -1, bool descending = false);
/// The elements in order along an axis, NaN as the greatest.
Tensor sort(const Arg& x, std::int64_t axis = -1, bool descending = false);
/// The elements along an axis from the last to the first.
Tensor flip(const Arg& x, std::int64_t axis = -1);
struct TopK {
  Tensor values, indices;
};
/// The k greatest elements along an axis, the greatest first, and their indices (i32); NaN is greatest, and equal elements keep their order.
TopK top_k(const Arg& x, std::int64_t k, std::int64_t axis = -1);

}  // namespace sinter
