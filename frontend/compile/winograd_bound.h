// How much a convolution with few multiplications (ir/winograd.h) may round: its tiles mix numbers that do not stand under a result's own window.
#pragma once

#include <optional>
#include <span>

#include "ir/op.h"
#include "ir/reference.h"

namespace sinter {

/// The sum of the absolute values of all terms of each element, as compiled steps compute it; nothing for ops that are not computed so. `magnitudes`
/// are bounds of the operands' absolute values, `extents` those of the result.
std::optional<ir::Array> winograd_magnitude(const ir::Op& op, std::span<const ir::Array> magnitudes, const std::vector<std::int64_t>& extents);

/// Roundings of an element beside those of the sum over channels and tiles: of the transforms.
inline constexpr double winograd_terms = 40;

}  // namespace sinter
