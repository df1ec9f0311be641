// Products. Every path accumulates in the order of the contracted index.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// Product of two matrices, either of which may be read transposed. The contracted dimension may be N: dW = x^T dz.
struct Matmul {
  static constexpr std::string_view name = "matmul";
  bool transpose_a = false, transpose_b = false;
  static constexpr auto fields = std::tuple{field("transpose_a", &Matmul::transpose_a), field("transpose_b", &Matmul::transpose_b)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Matmul>> samples();
};

/// x[M,K] w[K,F] + b[F]: the pass `fold_bias` makes it of matmul and add; the only op that merges two.
struct Dense {
  static constexpr std::string_view name = "dense";
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Dense>> samples();
};

/// Products of the matrices in the last two axes, one for each index of the leading axes, which must be equal: [...,M,K] [...,K,F]. The matrices'
/// own dimensions are fixed.
struct BatchMatmul {
  static constexpr std::string_view name = "batch_matmul";
  bool transpose_a = false, transpose_b = false;
  static constexpr auto fields = std::tuple{field("transpose_a", &BatchMatmul::transpose_a), field("transpose_b", &BatchMatmul::transpose_b)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<BatchMatmul>> samples();
};

/// The shape of the product, or of those of the matrices in the last two axes, as rows M, contraction K, columns F.
struct ProductExtents {
  Dim m, k, f;
};
ProductExtents product_extents(const Matmul& op, const Shape& a, const Shape& b);

}  // namespace sinter::ir
