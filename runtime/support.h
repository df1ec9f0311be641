// The ops that the interpreter runs. An op of ir/ops.h that is missing stops the build here with a message that names it.
#pragma once

#include <type_traits>

#include "ir/ops.h"

namespace sinter::runtime {

template <class O, class... Ops>
inline constexpr bool is_one_of = (std::is_same_v<O, Ops> || ...);

/// Pointwise ops need only their eval; each of the others has a kernel in runtime/eval; leaves have none.
template <class O>
inline constexpr bool has_interpreter_kernel =
    ir::IsLeaf<O> || ir::IsElementwise<O> || ir::IsConvolution<O> || ir::IsPool<O> || ir::IsUnpool<O> ||
    is_one_of<O, ir::Constant, ir::Extent, ir::Reshape, ir::Broadcast, ir::Transpose, ir::Sum, ir::Max, ir::Prod, ir::Argmax, ir::Softmax,
              ir::LogSoftmax, ir::Matmul, ir::Dense, ir::GatherRows, ir::ScatterAddRows, ir::OneHot, ir::Slice, ir::Pad, ir::Concat, ir::Iota,
              ir::BatchMatmul, ir::Cumsum, ir::TakeAlong, ir::ScatterAddAlong, ir::TopK>;

template <class O>
constexpr void require_interpreter_kernel() {
  static_assert(has_interpreter_kernel<O>,
                "the interpreter has no kernel for this op (see O): write one in runtime/eval and list the op in runtime/support.h");
}

}  // namespace sinter::runtime
