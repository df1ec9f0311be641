// Rounding of a convolution with few multiplications (ir/winograd.h): its tiles mix numbers that are outside of a result's own window.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/op.h"
#include "ir/reference.h"

namespace sinter {

/// Of each element of such a convolution's result: the sum of the absolute values of all terms as the transforms compute it, and whether it is
/// certain that the element is computed directly instead.
struct WinogradMagnitude {
  ir::Array terms;
  std::vector<char> direct;
};
/// Empty for ops that are not computed so. `magnitudes` are bounds of the operands' absolute values, `least` lower ones of the first operand's, NaN
/// where that is not finite for certain; `extents` are those of the result.
std::optional<WinogradMagnitude> winograd_magnitude(const ir::Op& op, std::span<const ir::Array> magnitudes, const ir::Array& least,
                                                    const std::vector<std::int64_t>& extents);

/// Roundings per element that the transforms add to those of the sum over channels and tiles.
inline constexpr double winograd_terms = 40;

}  // namespace sinter
