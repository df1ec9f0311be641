#include <algorithm>
#include <span>

#include "passes/passes.h"

namespace sinter::passes {

namespace {

/// The most operands of a concatenation: each element is chosen among all of them.
constexpr std::size_t most_parts = 16;

}  // namespace

bool split_concat(ir::Graph& graph, PassContext& context) {
  std::size_t split = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const auto* concat = graph.op_as<ir::Concat>(id);
    if (!concat || graph.node(id).inputs.size() <= most_parts) continue;
    const ir::Concat op = *concat;
    const Origin origin = graph.node(id).origin;
    std::vector<ir::NodeId> parts(graph.node(id).inputs.begin(), graph.node(id).inputs.end());
    while (parts.size() > 1) {  // level by level
      std::vector<ir::NodeId> joined;
      for (std::size_t first = 0; first < parts.size(); first += most_parts) {
        const std::span some(parts.data() + first, std::min(most_parts, parts.size() - first));
        joined.push_back(some.size() == 1 ? some[0] : graph.add(op, some, origin).id);
      }
      parts = std::move(joined);
    }
    graph.replace_all_uses(id, parts[0]);
    ++split;
  }
  if (split) context.notes.push_back("split " + counted(split, "concatenation", "concatenations"));
  return split > 0;
}

}  // namespace sinter::passes
