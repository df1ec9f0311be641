// The parts of kernel groups: the terms that the pass `group` and the code generator share.
#pragma once

#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"

namespace sinter::ir {

/// Whether an op is of one of these types.
template <class O, class... Ops>
inline constexpr bool is_one_of = (std::is_same_v<O, Ops> || ...);

/// What a value was before it got another shape.
NodeId before_reshapes(const Graph& graph, NodeId id);

/// Whether each element of the result depends on one element of each operand: pointwise ops, and broadcast. All other ops but leaves are anchors.
bool is_pointwise(const Op& op);
/// Whether each element of the result is one of an operand, or a constant, at a place that the walk says: reshape, transpose, slice, gather.
bool moves_elements(const Op& op);
/// What a kernel is built around, at most one per group: contractions, reductions, softmax, pools.
bool is_anchor(const Op& op);

/// The operand whose elements an anchor reads one by one, if any: what a reduction reduces, the updates of a scatter. Nodes of that operand's
/// shape may precede the anchor in its kernel, as a prologue: pointwise ones, and those that move elements.
std::optional<std::size_t> prologue_operand(const Op& op);
/// Whether an op reads this operand element by element, or a few at a time whatever follows them: its rows may be adjacent (InputSpec::unpadded).
/// Others read whole vectors of a row, pad lanes included.
bool takes_unpadded(const Op& op, std::size_t operand);
/// Of a node's value in the memory of a step.
SymbolicLayout layout_of(const Graph& graph, NodeId id);
/// Whether the node may be in a prologue of the anchor.
bool joins_prologue(const Graph& graph, NodeId id, NodeId anchor);
/// The anchor of a kernel group, given in topological order: the last, since one before it is part of its prologue; else no_node.
NodeId anchor_of(const Graph& graph, std::span<const NodeId> nodes);

/// The most nodes that computing a recomputable scalar may take, itself included.
inline constexpr std::size_t recomputable_nodes = 16;

/// Whether a matmul or dense runs in register tiles: all but products with the batch as columns of an operand or the result, or with a single column
/// of several rows. The runtime's kernel computes the others; it reads its operands from memory.
bool fits_tiles(const Graph& graph, NodeId product);

/// The gather_rows of a matrix [rows, several columns] by a list of indices, both leaves, if this node is only pointwise arithmetic on it with
/// constants (at most 8 ops), or the gather itself; else no_node.
NodeId picked_rows(const Graph& graph, NodeId id);

/// Such rows, if only products in tiles read the gather, as their left operand, directly or through arithmetic: products read the rows
/// in place, and a batch that is picked from a data set is never copied nor stored in another type. Either all that is made of a gather is a row
/// view, or nothing is: no row view depends on what another kernel stores.
bool is_row_view(const Graph& graph, NodeId id);

/// Whether the node is a value in memory under another shape, with as many rows of as many columns: readers read that value in place. If it is an
/// output, the kernel that computes the value writes it there.
bool is_view(const Graph& graph, NodeId id);

/// Whether a kernel that reads this node computes it for itself instead of waiting for another kernel to store it: a row view, a constant, an
/// extent, an iota that only pointwise ops read, or scalar pointwise arithmetic on scalar inputs, scalar states (as they are on entry) and other
/// such nodes, at most `recomputable_nodes` in all. Where it is an output or an update it is stored by a kernel too, but readers in other kernels
/// still recompute it: a step counter `t <- t + 1` that many kernels read orders none of them.
bool is_recomputable(const Graph& graph, NodeId id);

/// The leaves that a node reads, directly or through recomputable operands, each once.
std::vector<NodeId> leaves_read(const Graph& graph, NodeId id);

/// All that of each node of a graph that no longer changes.
struct NodeFacts {
  NodeFacts() = default;
  explicit NodeFacts(const Graph& graph);

  std::vector<char> recomputable;               ///< is_recomputable
  std::vector<std::vector<NodeId>> leaves;      ///< leaves_read
  std::vector<std::vector<NodeId>> overwrites;  ///< leaves of the states whose update it is
};

}  // namespace sinter::ir
