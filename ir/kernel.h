// What kernel groups are made of: the words in which the pass `group` and the code generator talk about nodes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// Whether each element of the result depends on one element of each operand: pointwise ops, and broadcast. All other ops but leaves are anchors.
bool is_pointwise(const Op& op);
/// What a kernel is built around, one a group (besides a gather in its prologue): contractions, reductions, softmax, index and movement ops.
bool is_anchor(const Op& op);

/// The operand whose elements an anchor takes one by one, if it does: what a reduction reduces, the updates of a scatter. Nodes of that operand's
/// shape may stand before the anchor in its kernel, as a prologue: pointwise ones, and before a reduction a gather of rows.
std::optional<std::size_t> prologue_operand(const Op& op);
/// Whether the node may stand in a prologue of the anchor.
bool joins_prologue(const Graph& graph, NodeId id, NodeId anchor);
/// The anchor of a kernel group, given in topological order: the last, since one before it is part of its prologue; else no_node.
NodeId anchor_of(const Graph& graph, std::span<const NodeId> nodes);

/// Most nodes that a recomputable scalar may stand for, itself included.
inline constexpr std::size_t recomputable_nodes = 16;

/// Whether register tiles serve a matmul or dense: all but products with the batch as columns of an operand or the result, or with a single column
/// of several rows. The runtime's kernel serves the others; it reads its operands in memory.
bool fits_tiles(const Graph& graph, NodeId product);

/// The gather_rows of a matrix [rows, several columns] by a list of indices, both leaves, of which this node is nothing but pointwise arithmetic with
/// constants (at most 8 ops), or which it is; else no_node.
NodeId picked_rows(const Graph& graph, NodeId id);

/// Such rows, where products that fit tiles alone read the gather, as their left operand, directly or through arithmetic: products read the rows
/// where they are, and a batch that is picked from a data set is never copied nor stored in another type. All that is made of a gather is a row view,
/// or nothing is: no row view stands behind what another kernel stores.
bool is_row_view(const Graph& graph, NodeId id);

/// Whether a kernel that reads this node computes it for itself instead of waiting for another kernel to store it: a row view, a constant, an
/// extent, an iota that pointwise ops alone read, or scalar pointwise arithmetic on scalar inputs, scalar states (as they are on entry) and other
/// such nodes, at most `recomputable_nodes` in all. Where it is an output or an update it is stored by a kernel too, but readers in other kernels
/// still recompute it: a step counter `t <- t + 1` that many kernels read orders none of them.
bool is_recomputable(const Graph& graph, NodeId id);

/// The leaves that a node reads, directly or through recomputable operands, each once.
std::vector<NodeId> leaves_read(const Graph& graph, NodeId id);

}  // namespace sinter::ir
