#include "passes/passes.h"

namespace sinter::passes {

namespace {

/// The operand of an add that is a matmul without other readers, if the other operand is a row of biases for it.
std::optional<std::size_t> product_operand(const ir::Graph& graph, ir::NodeId add) {
  const ir::Node& node = graph.node(add);
  if (!std::holds_alternative<ir::Add>(node.op)) return std::nullopt;
  for (const std::size_t i : {0u, 1u}) {
    const ir::Node& product = graph.node(node.inputs[i]);
    const auto* matmul = std::get_if<ir::Matmul>(&product.op);
    if (!matmul || matmul->transpose_a || matmul->transpose_b || graph.use_count(node.inputs[i]) != 1) continue;
    if (product.type.shape[1].is_fixed() && graph.node(node.inputs[1 - i]).type.shape == Shape{product.type.shape[1]}) return i;
  }
  return std::nullopt;
}

}  // namespace

bool fold_bias(ir::Graph& graph, PassContext& context) {
  std::size_t folded = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const auto at = product_operand(graph, id);
    if (!at) continue;
    const ir::Node& product = graph.node(graph.node(id).inputs[*at]);
    const ir::NodeId operands[] = {product.inputs[0], product.inputs[1], graph.node(id).inputs[1 - *at]};
    const Origin origin = graph.node(id).origin;
    graph.replace_all_uses(id, graph.add(ir::Dense{}, operands, origin).id);
    ++folded;
  }
  if (folded) context.notes.push_back("folded " + counted(folded, "bias", "biases"));
  return folded > 0;
}

}  // namespace sinter::passes
