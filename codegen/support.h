// The kind of kernel that computes an op. An op of ir/ops.h without one stops the build here with a message that names it.
#pragma once

#include <type_traits>

#include "ir/ops.h"

namespace sinter::codegen {

enum class KernelKind : std::uint8_t {
  none,       ///< the code generator does not know this op
  pointwise,  ///< its eval on vectors; also what computes each element from named elements of its operands: reshape, transpose, gather, slice, …
  product,
  convolution,         ///< collected too, a row of pixels at a time
  convolution_weight,  ///< a sum over samples as large as a weight: parts in slots, then their sum and the epilogue
  collected,           ///< its result is collected in memory before the epilogue: scatter, cumulative sum, top-k, products of many matrices
  softmax,
  argmax,
  reduction,
};

template <class O, class... Ops>
inline constexpr bool is_one_of = (std::is_same_v<O, Ops> || ...);

template <class O>
constexpr KernelKind kernel_kind() {
  if constexpr (ir::IsElementwise<O> || ir::IsLeaf<O>) return KernelKind::pointwise;
  else if constexpr (is_one_of<O, ir::Constant, ir::Extent, ir::Broadcast, ir::Reshape, ir::Transpose, ir::GatherRows, ir::OneHot, ir::Slice, ir::Pad,
                               ir::Concat, ir::Iota, ir::TakeAlong, ir::ScatterAddAlong>)
    return KernelKind::pointwise;
  else if constexpr (ir::IsPool<O> || ir::IsUnpool<O>) return KernelKind::pointwise;
  else if constexpr (is_one_of<O, ir::Matmul, ir::Dense>) return KernelKind::product;
  else if constexpr (is_one_of<O, ir::Conv2D, ir::Conv2DTranspose>) return KernelKind::convolution;
  else if constexpr (is_one_of<O, ir::Conv2DWeight>) return KernelKind::convolution_weight;
  else if constexpr (is_one_of<O, ir::ScatterAddRows, ir::Cumsum, ir::TopK, ir::BatchMatmul>) return KernelKind::collected;
  else if constexpr (is_one_of<O, ir::Softmax, ir::LogSoftmax>) return KernelKind::softmax;
  else if constexpr (is_one_of<O, ir::Argmax>) return KernelKind::argmax;
  else if constexpr (ir::IsReduction<O>) return KernelKind::reduction;
  else return KernelKind::none;
}

template <class O>
constexpr KernelKind require_kernel_kind() {
  static_assert(kernel_kind<O>() != KernelKind::none,
                "the code generator has no kernel for this op (see O): write one in codegen/kernels and list the op in codegen/support.h");
  return kernel_kind<O>();
}

/// Whether the op's result is collected in a separate buffer before the epilogue.
inline bool is_collected(const ir::Op& op) {
  const KernelKind kind = std::visit([]<class O>(const O&) { return kernel_kind<O>(); }, op);
  return kind == KernelKind::product || kind == KernelKind::collected || kind == KernelKind::convolution;
}

}  // namespace sinter::codegen
