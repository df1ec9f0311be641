// What the vectorised kernels look like from outside: plain structs and function pointers. The kernels themselves (the other files of this folder)
// are compiled once a target, each in its own namespace, and chosen by CPU at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "ir/layout.h"
#include "ir/ops.h"

namespace sinter::runtime::isa {

inline constexpr std::size_t op_count = std::variant_size_v<ir::Op>;

/// An operand of a pointwise op.
struct Operand {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t stride = 1;  ///< between rows, in elements
  bool splat = false;       ///< one element serves a whole row of the output (or, in a flat run, all of it)
  /// Row of the operand for a row of the output: the output's row index is split by its leading extents, and each part moves this many rows.
  std::array<std::int64_t, Shape::max_rank> steps{};
};

/// A pointwise op on its operands.
struct Pointwise {
  const void* op = nullptr;  ///< the op's struct
  std::array<Operand, 3> in{};
  std::byte* out = nullptr;
  DType dtype = DType::f32;
  Layout layout;                                        ///< of the output
  std::array<std::int64_t, Shape::max_rank> extents{};  ///< of the output, all but the last
  int leading = 0;                                      ///< how many of them
};

/// Output elements (flat) or rows [begin, end). A flat run covers pad lanes too and leaves in them what the op makes of zeros.
using PointwiseKernel = void (*)(const Pointwise&, std::int64_t begin, std::int64_t end);

template <class T>
struct Reduction {
  /// One value of `rows` rows of `cols` elements.
  T (*rows)(const T* in, std::int64_t rows, std::int64_t cols, std::int64_t stride) = nullptr;
  /// out[j] of in[k·stride + j] over all k < count, for each j < width.
  void (*columns)(const T* in, std::int64_t count, std::int64_t stride, std::int64_t width, T* out) = nullptr;
};
/// Row by row, of an operand whose rows are `stride` elements apart; writes the pad lanes of the output too.
using RowsKernel = void (*)(const float* in, std::int64_t stride, float* out, const Layout& layout, std::int64_t begin, std::int64_t end);

/// One product, row-major, accumulated in the order of the contracted index: c[m,f] = op(a)[m,k] · op(b)[k,f].
/// Leading dimensions are in elements. Columns of c from f to its padded width are not written.
struct GemmCall {
  const float* a;
  const float* b;
  float* c;
  std::int64_t m, k, f;
  std::int64_t lda, ldb, ldc;
  std::int32_t transpose_a, transpose_b;
};

struct Kernels {
  std::string_view target;
  std::array<PointwiseKernel, op_count> flat{}, rows{};  ///< by index in ir::Op; null for ops that are not pointwise
  /// Copies with broadcasting, of 4-byte and of 1-byte elements.
  PointwiseKernel copy = nullptr;
  Reduction<float> sum, max, prod;
  Reduction<std::uint32_t> whole_sum, whole_max, whole_prod;  ///< of u32; sums and products of i32 are the same bits
  Reduction<std::int32_t> signed_max;                         ///< of i32
  RowsKernel softmax = nullptr, log_softmax = nullptr;
  std::int32_t (*argmax)(const float* row, std::int64_t cols) = nullptr;
  void (*gemm)(const GemmCall*) = nullptr;
};

/// Those for this CPU.
const Kernels& kernels();
/// For tests: the targets that this CPU can run, and a switch to one of them. Not to be called while anything computes.
std::size_t target_count();
void use_target(std::size_t index);

}  // namespace sinter::runtime::isa
