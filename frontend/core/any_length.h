// Convolutions and pools over sequences of any length, [N, T, C].
#pragma once

#include <cstdint>

#include "frontend/core/image.h"
#include "ir/ops.h"

namespace sinter {

/// Whether x is [N, T, C].
bool has_any_length(const Tensor& x);
/// conv1d and the pools of series. Throw UserError for strides other than 1 and for padding that does not keep the length: neither T / 2 nor T - 2 is
/// a length that a graph could have.
Tensor conv_over_steps(const Tensor& x, const Tensor& kernel, const ConvOptions& options);
Tensor pool_over_steps(const ir::Op& pool, const Tensor& x, std::int64_t window, const PoolOptions& options);

/// The sum of each window of so many steps, whose padding keeps the length and counts 0: [N, T, C] of x [N, T, C]. Its rounding does not depend on
/// how much padding a window has. Throws UserError for other padding, in the words of `what`.
Tensor window_sums(const char* what, const Tensor& x, std::int64_t window, const Padding& padding);

}  // namespace sinter
