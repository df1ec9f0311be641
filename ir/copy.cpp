#include "ir/copy.h"

namespace sinter::ir {

void Copy::add_inputs() {
  for (std::size_t i = 0; i < from_.inputs().size(); ++i) values_[from_.input_node(i)] = to_.add_input(from_.inputs()[i]);
}

Value Copy::add(NodeId id, Op op) {
  const Node& node = from_.node(id);
  std::vector<NodeId> inputs;
  for (const NodeId input : node.inputs) {
    if (!values_[input]) throw InternalError("copy", str("node ", id, " is copied before its operand ", input));
    inputs.push_back(values_[input].id);
  }
  values_[id] = to_.add(std::move(op), inputs, node.origin);
  to_.set_kernel(values_[id].id, node.kernel);
  return values_[id];
}

void Copy::add_all(std::span<const NodeId> ids) {
  std::vector<char> known(from_.size());
  for (NodeId id = 0; id < from_.size(); ++id) known[id] = bool(values_[id]);
  const std::vector<char> needed = needed_nodes(from_, ids, known);
  for (const NodeId id : from_.topological_order())
    if (needed[id] && !known[id]) add(id);
}

std::vector<char> needed_nodes(const Graph& graph, std::span<const NodeId> ids, const std::vector<char>& stop) {
  std::vector<char> needed(graph.size());
  std::vector<NodeId> stack(ids.begin(), ids.end());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (needed[id]) continue;
    needed[id] = 1;
    if (!stop.empty() && stop[id]) continue;
    stack.insert(stack.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  }
  return needed;
}

}  // namespace sinter::ir
