// Convolutions with fewer multiplications: minimal filtering (Winograd 1980; for images Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016). m × m results of an r × r kernel take (m + r - 1)² multiplications for each channel and feature instead of m² r²:
//   y = output (Σ over channels of (kernel w kernelᵀ) ⊙ (input x inputᵀ)) outputᵀ
// over a tile x of m + r - 1 rows and columns. The sums over channels are (m + r - 1)² ordinary products of matrices.
// A tile's transforms mix all of its pixels, so that the rounding errors of a result are relative to the greatest of them. A result is computed
// directly where its own window holds no number within 1 / most_spread of that, over all channels, and where the transforms do not give a finite
// number: an error is relative to the window's own numbers, and what is not finite stays in the windows that hold it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ops/convolution.h"

namespace sinter::ir {

/// The greatest number of a tile over the greatest of a window in it, up to which the window's result is made by the transforms.
inline constexpr float most_spread = 64;

/// Row-major.
using Matrix = std::vector<std::vector<double>>;
Matrix transposed(const Matrix& matrix);

/// F(m × m, r × r).
struct Winograd {
  std::int64_t results = 0, taps = 0;  ///< m and r
  Matrix input;                        ///< [size, size]
  Matrix kernel;                       ///< [size, r]
  Matrix output;                       ///< [m, size]
  std::int64_t size() const { return results + taps - 1; }
};

/// The form in which compiled steps compute a convolution or its adjoint in the kernel, or with `adjoint` in the image; null: directly. It depends on
/// shape only, so that bytes don't depend on the machine: the form that takes the fewest vector operations, if there are enough channels and
/// features.
const Winograd* winograd_of(const Convolution& convolution, bool adjoint);

/// The adjoint as a convolution: the image is a convolution of the results, with padding of r - 1 minus that of the convolution, with the
/// kernel rotated by 180 degrees, channels and features exchanged.
inline std::int64_t adjoint_pad(const SlidingAxis& axis) { return axis.size - 1 - axis.before; }

}  // namespace sinter::ir
