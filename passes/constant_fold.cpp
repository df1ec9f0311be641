#include <algorithm>
#include <cmath>

#include "passes/passes.h"

namespace sinter::passes {

bool constant_fold(ir::Graph& graph, PassContext& context) {
  if (!context.options.evaluate) return false;
  std::size_t folded = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (node.inputs.empty() || !node.type.shape.is_scalar()) continue;
    std::vector<ir::Constant> operands;
    for (const ir::NodeId input : node.inputs)
      if (const auto* constant = graph.op_as<ir::Constant>(input)) operands.push_back(*constant);
    if (operands.size() != node.inputs.size()) continue;
    const double value = ir::wrap(node.type.dtype, context.options.evaluate(node.op, node.type, operands));
    if (std::isnan(value)) continue;  // no constant is NaN: the op stays, and makes its NaN at run time
    const Origin origin = node.origin;
    graph.replace_all_uses(id, graph.add(ir::Constant{value, node.type.dtype}, {}, origin).id);
    ++folded;
  }
  if (folded) context.notes.push_back("folded " + counted(folded, "op of constants", "ops of constants"));
  return folded > 0;
}

}  // namespace sinter::passes
