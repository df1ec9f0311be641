#include "ir/kernel.h"

#include <algorithm>

namespace sinter::ir {

bool is_pointwise(const Op& op) { return is_elementwise(op) || std::holds_alternative<Broadcast>(op); }

bool is_anchor(const Op& op) {
  return !is_leaf(op) && !is_pointwise(op) && !std::holds_alternative<Constant>(op) && !std::holds_alternative<Extent>(op);
}

bool is_row_view(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto wide = [](const Shape& shape) { return shape.rank() == 2 && shape.back().is_fixed() && shape.back() != Dim(1); };
  if (!std::holds_alternative<GatherRows>(node.op) || node.type.dtype != DType::f32 || !wide(node.type.shape) || graph.is_output(id)) return false;
  for (const NodeId input : node.inputs)
    if (!is_leaf(graph.node(input).op)) return false;
  return !node.users.empty() && std::all_of(node.users.begin(), node.users.end(), [&](NodeId user) {
    const Node& reader = graph.node(user);
    return (std::holds_alternative<Matmul>(reader.op) || std::holds_alternative<Dense>(reader.op)) && wide(reader.type.shape) &&
           reader.inputs[0] == id && std::count(reader.inputs.begin(), reader.inputs.end(), id) == 1;
  });
}

bool is_recomputable(const Graph& graph, NodeId id) {
  if (is_leaf(graph.node(id).op)) return false;
  if (is_row_view(graph, id)) return true;
  std::vector<NodeId> found{id};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const Node& node = graph.node(found[next]);
    if (!node.type.shape.is_scalar() || is_anchor(node.op) || found.size() > recomputable_nodes) return false;
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

}  // namespace sinter::ir
