#include "passes/passes.h"

namespace sinter::passes {

namespace {

bool is_matrix_transpose(const ir::Node& node) { return std::holds_alternative<ir::Transpose>(node.op) && node.type.shape.rank() == 2; }

}  // namespace

bool fold_transpose(ir::Graph& graph, PassContext& context) {
  std::size_t folded = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const Origin origin = graph.node(id).origin;
    if (const auto* product = graph.op_as<ir::Matmul>(id)) {
      // matmul(transpose(a), b): the product reads a itself, with the flag inverted.
      ir::Matmul op = *product;
      ir::NodeId operands[] = {graph.node(id).inputs[0], graph.node(id).inputs[1]};
      std::size_t read_through = 0;
      for (const std::size_t i : {0u, 1u})
        while (is_matrix_transpose(graph.node(operands[i]))) {
          operands[i] = graph.node(operands[i]).inputs[0];
          bool& flag = i ? op.transpose_b : op.transpose_a;
          flag = !flag;
          ++read_through;
        }
      if (!read_through) continue;
      folded += read_through;
      graph.replace_all_uses(id, graph.add(op, operands, origin).id);
    } else if (is_matrix_transpose(graph.node(id))) {
      // transpose(a b) = transpose(b) transpose(a), if a b has no other reader.
      const ir::NodeId from = graph.node(id).inputs[0];
      const auto* transposed = graph.op_as<ir::Matmul>(from);
      if (!transposed || graph.use_count(from) != 1) continue;
      const ir::NodeId operands[] = {graph.node(from).inputs[1], graph.node(from).inputs[0]};
      const ir::Matmul op{!transposed->transpose_b, !transposed->transpose_a};
      graph.replace_all_uses(id, graph.add(op, operands, origin).id);
      ++folded;
    }
  }
  if (folded) context.notes.push_back("folded " + counted(folded, "transpose", "transposes") + " into products");
  return folded > 0;
}

}  // namespace sinter::passes
