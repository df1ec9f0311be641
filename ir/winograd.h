// Convolutions with fewer multiplications: minimal filtering (Winograd 1980; for images Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016). m × m results of a 3 × 3 kernel take (m + 2)² multiplications for each channel and feature instead of 9 m²:
//   y = output (Σ over channels of (kernel w kernelᵀ) ⊙ (input x inputᵀ)) outputᵀ
// over a tile x of m + 2 rows and columns. The sums over channels are (m + 2)² ordinary products of matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ops/convolution.h"

namespace sinter::ir {

/// Row after row.
using Matrix = std::vector<std::vector<double>>;
Matrix transposed(const Matrix& matrix);

/// F(m × m, 3 × 3).
struct Winograd {
  std::int64_t results = 0;  ///< m
  Matrix input;              ///< of a tile, [m + 2, m + 2]
  Matrix kernel;             ///< [m + 2, 3]
  Matrix output;             ///< [m, m + 2]
  std::int64_t size() const { return results + 2; }
};

/// How a convolution and its adjoints are computed in compiled steps; null: directly. A function of shape alone, so that bytes don't depend on the
/// machine: the form that takes the fewest vector operations, if there are enough channels and features.
const Winograd* winograd_of(const Convolution& convolution);

/// The same convolution as seen from its adjoint: the image is a convolution of the results, with pads of 2 less those of the convolution, by the
/// kernel turned round, channels and features exchanged.
inline std::int64_t adjoint_pad(const SlidingAxis& axis) { return axis.size - 1 - axis.before; }

}  // namespace sinter::ir
