#include <map>

#include "passes/passes.h"

namespace sinter::passes {

bool common_subexpressions(ir::Graph& graph, PassContext& context) {
  std::map<std::string, ir::NodeId> first;  // keyed by op, attributes and operands as text: numbers print exactly, and -0 differs from 0
  std::size_t merged = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::is_leaf(node.op)) continue;
    std::string key(ir::name(node.op));
    for (const auto& [name, value] : ir::attributes(node.op)) key += str(" ", name, "=", ir::to_string(value));
    for (const ir::NodeId input : node.inputs) key += str(" %", input);
    const auto [found, is_first] = first.emplace(std::move(key), id);
    if (is_first) continue;
    graph.replace_all_uses(id, found->second);
    ++merged;
  }
  if (merged) context.notes.push_back("merged " + counted(merged, "node that repeats another", "nodes that repeat another"));
  return merged > 0;
}

}  // namespace sinter::passes
