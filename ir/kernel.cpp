#include "ir/kernel.h"

#include <algorithm>

namespace sinter::ir {

bool is_pointwise(const Op& op) { return is_elementwise(op) || std::holds_alternative<Broadcast>(op); }

bool is_anchor(const Op& op) {
  return !is_leaf(op) && !is_pointwise(op) && !std::holds_alternative<Constant>(op) && !std::holds_alternative<Extent>(op);
}

bool is_recomputable(const Graph& graph, NodeId id) {
  if (is_leaf(graph.node(id).op)) return false;
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
