// Rounding of a convolution with few multiplications (ir/winograd.h): its tiles mix numbers that are outside of a result's own window.
#pragma once

#include <optional>
#include <span>

#include "ir/op.h"
#include "ir/reference.h"

namespace sinter {

/// The sum of the absolute values of all terms of each element, as compiled steps compute it; empty for ops that are not computed so. `magnitudes`
/// are bounds of the operands' absolute values, `extents` those of the result.
std::optional<ir::Array> winograd_magnitude(const ir::Op& op, std::span<const ir::Array> magnitudes, const std::vector<std::int64_t>& extents);

/// Roundings per element that the transforms add to those of the sum over channels and tiles.
inline constexpr double winograd_terms = 40;

}  // namespace sinter
