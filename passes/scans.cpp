#include "passes/scans.h"

namespace sinter::passes {

using ir::NodeId;
using ir::Value;

std::vector<NodeId> scans_of(const ir::Graph& graph) {
  std::vector<NodeId> scans;
  for (const NodeId id : graph.topological_order())
    if (std::holds_alternative<ir::Scan>(graph.node(id).op)) scans.push_back(id);
  return scans;
}

const ir::Scan& scan_of(const ir::Graph& graph, NodeId id) { return std::get<ir::Scan>(graph.node(id).op); }

ir::Value replace_scan(ir::Graph& graph, NodeId old, const ir::Scan& op, const std::vector<NodeId>& operands,
                       const std::vector<std::size_t>& results) {
  const ir::OriginScope scope(graph, graph.node(old).origin);
  const Value made = graph.add(op, operands, graph.node(old).origin);
  const std::vector<NodeId> users = graph.node(old).users;
  for (const NodeId user : users) {
    const Value result = ir::scan_result(made, results[ir::result_index(graph, user)]);
    graph.set_origin(result.id, graph.node(user).origin);
    graph.replace_all_uses(user, result.id);
  }
  return made;
}

}  // namespace sinter::passes
