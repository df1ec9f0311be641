// Reshapes that keep the columns (and so the layout) move past pointwise ops and sums, until they meet one that undoes them or have no readers
// left. Bias and relu of a one-dimensional convolution are then adjacent to the convolution, fuse into its kernel, and no copy is made.
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

bool keeps_columns(const Shape& from, const Shape& to) { return from.rank() > 1 && to.rank() > 1 && from.back() == to.back(); }

/// The operand of a reshape that keeps the columns; no_node for other nodes.
NodeId below_reshape(const ir::Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!std::holds_alternative<ir::Reshape>(node.op)) return ir::no_node;
  return keeps_columns(graph.node(node.inputs[0]).type.shape, node.type.shape) ? node.inputs[0] : ir::no_node;
}

/// Whether a tensor broadcasts in the same way with all shapes that have so many dimensions and some columns: a scalar, or one row of columns.
bool is_row(const Shape& shape, std::size_t rank) {
  if (shape.rank() > rank) return false;
  for (std::size_t axis = 0; axis + 1 < shape.rank(); ++axis)
    if (shape[axis] != Dim(1)) return false;
  return true;
}

/// op(reshape(x), reshape(y), row) → reshape(op(x, y, row)); no_node if the pattern does not match.
NodeId before_pointwise(ir::Graph& graph, NodeId id) {
  const ir::Node node = graph.node(id);
  const auto below = [&](NodeId input) { return graph.node(input).type.shape == node.type.shape ? below_reshape(graph, input) : ir::no_node; };
  const Shape* from = nullptr;
  for (const NodeId input : node.inputs)
    if (const NodeId x = below(input); x != ir::no_node) from = &graph.node(x).type.shape;
  if (!from) return ir::no_node;
  std::vector<NodeId> operands;
  for (const NodeId input : node.inputs) {
    if (const NodeId x = below(input); x != ir::no_node && graph.node(x).type.shape == *from) operands.push_back(x);
    else if (is_row(graph.node(input).type.shape, from->rank())) operands.push_back(input);
    else return ir::no_node;
  }
  return ir::reshape(graph.add(node.op, operands, node.origin), node.type.shape).id;
}

/// sum(reshape(x)) → sum(x) over the axes that the reshape's axes come from, if the axes before and after them are the same.
NodeId before_sum(ir::Graph& graph, NodeId id, const ir::Sum& sum) {
  const NodeId below = below_reshape(graph, graph.node(id).inputs[0]);
  if (below == ir::no_node) return ir::no_node;
  const Shape &from = graph.node(below).type.shape, &to = graph.node(graph.node(id).inputs[0]).type.shape;
  const auto first = static_cast<std::size_t>(sum.first), behind = to.rank() - static_cast<std::size_t>(sum.last);
  if (first + behind >= from.rank() || !std::equal(to.begin(), to.begin() + sum.first, from.begin()) ||
      !std::equal(to.end() - static_cast<std::ptrdiff_t>(behind), to.end(), from.end() - static_cast<std::ptrdiff_t>(behind)))
    return ir::no_node;
  return graph.add(ir::Sum{sum.first, static_cast<std::int64_t>(from.rank() - behind)}, {graph.value(below)}).id;
}

/// reshape(reshape(x)) → reshape(x), and a reshape to the same shape → x.
NodeId merged(ir::Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  const NodeId input = node.inputs[0];
  if (graph.node(input).type == node.type) return input;
  if (!std::holds_alternative<ir::Reshape>(graph.node(input).op)) return ir::no_node;
  return ir::reshape(graph.value(graph.node(input).inputs[0]), Shape(node.type.shape)).id;
}

NodeId moved(ir::Graph& graph, NodeId id) {
  const ir::Op& op = graph.node(id).op;
  if (std::holds_alternative<ir::Reshape>(op)) return merged(graph, id);
  if (const auto* sum = std::get_if<ir::Sum>(&op)) return before_sum(graph, id, ir::Sum(*sum));
  return ir::is_elementwise(op) ? before_pointwise(graph, id) : ir::no_node;
}

}  // namespace

bool reshape_past_pointwise(ir::Graph& graph, PassContext& context) {
  std::size_t count = 0;
  // In topological order a node is visited after its operands have moved; new reshapes follow their operands, where later nodes
  // read them.
  for (const NodeId id : graph.topological_order()) {
    const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
    const NodeId other = moved(graph, id);
    if (other == ir::no_node) continue;
    graph.replace_all_uses(id, other);
    ++count;
  }
  if (count) context.notes.push_back("moved reshapes past " + counted(count, "node", "nodes"));
  return count > 0;
}

}  // namespace sinter::passes
