#include "ir/kernel.h"

#include <algorithm>

#include "ir/layout.h"

namespace sinter::ir {

NodeId before_reshapes(const Graph& graph, NodeId id) {
  while (std::holds_alternative<Reshape>(graph.node(id).op)) id = graph.node(id).inputs[0];
  return id;
}

bool is_pointwise(const Op& op) { return is_elementwise(op) || std::holds_alternative<Broadcast>(op); }

bool moves_elements(const Op& op) {
  return std::visit([]<class O>(const O&) { return IsMovement<O>; }, op);
}

bool is_anchor(const Op& op) {
  return !is_leaf(op) && !is_pointwise(op) && !moves_elements(op) && !std::holds_alternative<Constant>(op) && !std::holds_alternative<Extent>(op) &&
         !std::holds_alternative<Iota>(op) && !std::holds_alternative<ScanResult>(op);
}

std::optional<std::size_t> prologue_operand(const Op& op) {
  return std::visit(
      []<class O>(const O&) -> std::optional<std::size_t> {
        if constexpr (Combines<O>) return O::combined;
        else return std::nullopt;
      },
      op);
}

namespace {

/// Whether its first operand is images, which it copies, or reads pixel by pixel: of each the channels that it needs.
bool reads_images(const Op& op) {
  return std::visit([]<class O>(const O&) { return std::is_same_v<O, Conv2D> || std::is_same_v<O, Conv2DWeight> || IsPool<O>; }, op);
}

}  // namespace

bool takes_unpadded(const Op& op, std::size_t operand) {
  const bool product = std::holds_alternative<Matmul>(op) || std::holds_alternative<Dense>(op) || std::holds_alternative<BatchMatmul>(op);
  return is_pointwise(op) || moves_elements(op) || prologue_operand(op) == operand || (product && operand == 0) || (reads_images(op) && operand == 0);
}

namespace {

bool is_unpadded_input(const Graph& graph, NodeId id) {
  const auto* input = std::get_if<Input>(&graph.node(id).op);
  return input && graph.inputs()[static_cast<std::size_t>(input->index)].unpadded;
}

/// Whether it is an input without padding under another shape, and nothing reads its pad lanes. A copy leaves out steps that a mask does.
bool is_unpadded_view(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.padding.mask != no_node) return false;
  if (!std::holds_alternative<Reshape>(node.op) || graph.is_output(id) || !is_unpadded_input(graph, node.inputs[0])) return false;
  if (symbolic_layout(node.type.shape).cols != symbolic_layout(graph.node(node.inputs[0]).type.shape).cols) return false;
  return std::all_of(node.users.begin(), node.users.end(), [&](NodeId user) {
    const Node& reader = graph.node(user);
    for (std::size_t k = 0; k < reader.inputs.size(); ++k)
      if (reader.inputs[k] == id && !takes_unpadded(reader.op, k)) return false;
    return true;
  });
}

/// Whether a kernel may write the operand of this reshape as the result that it is.
bool is_result_under_another_shape(const Graph& graph, NodeId reshape) {
  const NodeId from = graph.node(reshape).inputs[0];
  const Node& operand = graph.node(from);
  const auto& updates = graph.updates();
  return !is_leaf(operand.op) && !std::holds_alternative<Reshape>(operand.op) && !std::holds_alternative<ScanResult>(operand.op) &&
         std::find(updates.begin(), updates.end(), reshape) == updates.end();
}

}  // namespace

SymbolicLayout layout_of(const Graph& graph, NodeId id) {
  const SymbolicLayout padded = symbolic_layout(graph.node(id).type.shape);
  return is_unpadded_input(graph, id) || is_unpadded_view(graph, id) ? padded.unpadded() : padded;
}

bool joins_prologue(const Graph& graph, NodeId id, NodeId anchor) {
  const Node &node = graph.node(id), &after = graph.node(anchor);
  const auto operand = prologue_operand(after.op);
  if (!operand || node.type.shape != graph.node(after.inputs[*operand]).type.shape || node.type.shape == after.type.shape) return false;
  for (std::size_t i = 0; i < after.inputs.size(); ++i)  // an index that happens to have that shape is read from memory
    if (i != *operand && after.inputs[i] == id) return false;
  return is_pointwise(node.op) || moves_elements(node.op);
}

NodeId anchor_of(const Graph& graph, std::span<const NodeId> nodes) {
  for (std::size_t i = nodes.size(); i-- > 0;)
    if (is_anchor(graph.node(nodes[i]).op)) return nodes[i];
  return no_node;
}

namespace {

/// A gather from leaves whose row i is row index[i] of its table, contiguous: from a matrix of several columns by a list. Other ranks give matrices
/// too, whose rows are something else: a vector's elements by a matrix of indices, or a page of three dimensions by a single index.
bool picks_rows_of_a_matrix(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<GatherRows>(node.op)) return false;
  const Node &table = graph.node(node.inputs[0]), &index = graph.node(node.inputs[1]);
  const auto is_matrix = [](const Shape& shape) { return shape.rank() == 2 && shape.back().is_fixed() && shape.back() != Dim(1); };
  return is_leaf(table.op) && is_leaf(index.op) && is_matrix(table.type.shape) && index.type.shape.rank() == 1;
}

}  // namespace

NodeId picked_rows(const Graph& graph, NodeId id) {
  const Shape& shape = graph.node(id).type.shape;
  for (int ops = 0; ops <= 8; ++ops) {
    const Node& node = graph.node(id);
    if (picks_rows_of_a_matrix(graph, node)) return id;
    if (!is_elementwise(node.op)) return no_node;
    NodeId next = no_node;
    for (const NodeId input : node.inputs) {
      if (std::holds_alternative<Constant>(graph.node(input).op)) continue;
      if (next != no_node || graph.node(input).type.shape != shape) return no_node;
      next = input;
    }
    if (next == no_node) return no_node;
    id = next;
  }
  return no_node;
}

bool fits_tiles(const Graph& graph, NodeId product) {
  const Node& node = graph.node(product);
  for (const Shape* shape : {&graph.node(node.inputs[0]).type.shape, &graph.node(node.inputs[1]).type.shape, &node.type.shape}) {
    const SymbolicLayout at = symbolic_layout(*shape);
    if (!at.stride.is_fixed() || (at.cols == Dim(1) && at.rows != Dim(1))) return false;
  }
  return node.type.shape.back() != Dim(1);
}

bool is_row_view(const Graph& graph, NodeId id) {
  const NodeId gather = picked_rows(graph, id);
  if (gather == no_node) return false;
  const auto reads_left = [&](NodeId user, NodeId rows) {
    const Node& reader = graph.node(user);
    return (std::holds_alternative<Matmul>(reader.op) || std::holds_alternative<Dense>(reader.op)) && fits_tiles(graph, user) &&
           reader.inputs[0] == rows && std::count(reader.inputs.begin(), reader.inputs.end(), rows) == 1;
  };
  std::vector<NodeId> views{gather};
  for (std::size_t next = 0; next < views.size(); ++next) {
    const NodeId view = views[next];
    if (graph.is_output(view) || graph.node(view).users.empty() || views.size() > recomputable_nodes) return false;
    for (const NodeId user : graph.node(view).users) {
      if (reads_left(user, view)) continue;
      if (picked_rows(graph, user) == no_node) return false;
      if (std::find(views.begin(), views.end(), user) == views.end()) views.push_back(user);
    }
  }
  return true;
}

bool is_view(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!std::holds_alternative<Reshape>(node.op) || is_recomputable(graph, node.inputs[0])) return false;
  if (graph.is_output(id) && !is_result_under_another_shape(graph, id)) return false;
  return layout_of(graph, node.inputs[0]) == layout_of(graph, id);
}

bool is_recomputable(const Graph& graph, NodeId id) {
  if (is_leaf(graph.node(id).op)) return false;
  if (is_row_view(graph, id)) return true;
  if (std::holds_alternative<Iota>(graph.node(id).op))
    return std::all_of(graph.node(id).users.begin(), graph.node(id).users.end(), [&](NodeId user) { return is_pointwise(graph.node(user).op); });
  std::vector<NodeId> found{id};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const Node& node = graph.node(found[next]);
    if (!node.type.shape.is_scalar() || is_anchor(node.op) || moves_elements(node.op) || found.size() > recomputable_nodes) return false;
    for (const NodeId input : node.inputs) {
      if (!graph.node(input).type.shape.is_scalar()) return false;
      if (!is_leaf(graph.node(input).op) && std::find(found.begin(), found.end(), input) == found.end()) found.push_back(input);
    }
  }
  return true;
}

std::vector<NodeId> leaves_read(const Graph& graph, NodeId id) {
  std::vector<NodeId> leaves, seen{id};
  for (std::size_t next = 0; next < seen.size(); ++next)
    for (const NodeId input : graph.node(seen[next]).inputs) {
      const bool leaf = is_leaf(graph.node(input).op);
      auto& list = leaf ? leaves : seen;
      if ((leaf || is_recomputable(graph, input)) && std::find(list.begin(), list.end(), input) == list.end()) list.push_back(input);
    }
  return leaves;
}

NodeFacts::NodeFacts(const Graph& graph) : recomputable(graph.size()), leaves(graph.size()), overwrites(graph.size()) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).dead) continue;
    recomputable[id] = is_recomputable(graph, id);
    leaves[id] = leaves_read(graph, id);
  }
  for (std::size_t state = 0; state < graph.states().size(); ++state)
    if (const NodeId update = graph.updates()[state]; update != no_node) overwrites[update].push_back(graph.state_node(state));
}

}  // namespace sinter::ir
