// Kernel groups: which nodes one kernel computes. The pass creates no ops; it only sets Node::kernel.
#pragma once

#include "ir/graph.h"

namespace sinter::passes {

inline constexpr std::size_t max_group_nodes = 32;
/// The most distinct operands from outside plus results that leave the group: a kernel takes a pointer for each.
inline constexpr std::size_t max_group_buffers = 24;

/// Throws InternalError naming the first rule that does not hold. The code generator relies on these:
///
/// 1. Every live node but leaves has a kernel ≥ 0 or is `inlined`. Kernels are numbered 0..K-1 without gaps, and a value is read by its own kernel
///    or ones with higher numbers: groups have no cycle.
/// 2. `inlined` are exactly the recomputable nodes (ir/kernel.h) that are neither output nor update: whoever reads one computes it, once, outside
///    its loops. A recomputable scalar that is an output or update has a kernel, which stores it; kernels that read it do not wait for that
///    kernel but recompute it (rule 1 does not bind them).
/// 3. A group has at most one anchor (ir/kernel.h); all its other nodes are pointwise or move elements, those of values of other kernels and leaves.
/// 4. Epilogue: nodes of the shape of the anchor's result. They read the anchor's result, each other and values of other kernels and leaves,
///    in that shape or in one that broadcasts to it.
/// 5. Prologue: where the anchor is sum or max, nodes of the shape of its operand that nothing outside the group reads and that are no output or
///    update. Nothing is computed twice, except recomputable scalars.
/// 6. Without an anchor all nodes of a group have one shape.
/// 7. Every node that another kernel reads, or that is an output or update, is a result of its group: a group may have several.
/// 8. At most max_group_nodes nodes and max_group_buffers buffers.
/// 9. Where a pointwise node of a group is the update of a state, neither anchor nor prologue of the group reads that state, nor
///    a node that moves elements. So in a loop over the
///    elements of the result that loads an element's operands before it stores, updates may be written in place.
void verify_groups(const ir::Graph& graph);

}  // namespace sinter::passes
