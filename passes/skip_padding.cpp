#include <algorithm>

#include "ir/kernel.h"
#include "ir/layout.h"
#include "passes/padding.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// Masks of steps: booleans [N, L], or with 1 behind, by which values are selected, or which loops over time read. L is symbolic or long.
std::vector<NodeId> masks_of(const ir::Graph& graph) {
  constexpr std::int64_t least_steps = 16;
  std::vector<NodeId> masks;
  const auto add = [&](NodeId id) {
    const NodeId mask = ir::before_reshapes(graph, id);
    const Type& type = graph.node(mask).type;
    if (type.dtype != DType::boolean || type.shape.rank() < 2 || type.shape[0] != Dim::batch()) return;
    const Dim length = type.shape[1];
    if (type.shape.elements().per_sample() != length || (length.is_fixed() && length.factor() < least_steps)) return;
    if (std::find(masks.begin(), masks.end(), mask) == masks.end()) masks.push_back(mask);
  };
  for (const NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Select>(node.op)) add(node.inputs[0]);
    if (const auto* scan = std::get_if<ir::Scan>(&node.op))
      for (std::size_t i = scan->carry_count(); i < scan->carry_count() + scan->sequence_count(); ++i) add(node.inputs[i]);
  }
  return masks;
}

/// Whether an op that adds a row, or a product of two, for each step adds zeros for those that the mask leaves out.
bool adds_zeros(const ir::Graph& graph, NodeId id, const Padding& padding, Dim steps) {
  const ir::Node& node = graph.node(id);
  const auto shape = [&](std::size_t operand) -> const Shape& { return graph.node(node.inputs[operand]).type.shape; };
  const auto is_zero = [&](std::size_t operand) { return padding.is_zero(node.inputs[operand]); };
  if (const auto* product = std::get_if<ir::Matmul>(&node.op))
    return product->transpose_a && !product->transpose_b && shape(0)[0] == steps && shape(1)[0] == steps && (is_zero(0) || is_zero(1));
  if (const auto* sum = std::get_if<ir::Sum>(&node.op))
    return sum->first == 0 && shape(0).product(0, static_cast<std::size_t>(sum->last)) == steps && is_zero(0);
  return std::holds_alternative<ir::ScatterAddRows>(node.op) && shape(0).elements() == steps && is_zero(1);
}

/// Returns how many nodes need not heed the steps that the mask leaves out.
std::size_t skip(ir::Graph& graph, NodeId mask) {
  const Dim steps = graph.node(mask).type.shape.elements();
  Padding padding(graph, steps, mask);
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph.is_output(id)) padding.limit(id, Freedom::exact);
  padding.find_values();
  padding.find_freedom();
  std::size_t count = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const ir::Node& node = graph.node(id);
    if (node.dead || ir::is_leaf(node.op) || node.padding.mask != ir::no_node) continue;
    const bool is_in_rows = symbolic_layout(node.type.shape).rows == steps || std::holds_alternative<ir::ScanResult>(node.op);
    const bool is_over_steps = is_float(node.type.dtype) && is_in_rows;
    if (!padding.skips_steps(id) && !adds_zeros(graph, id, padding, steps) && !(is_over_steps && padding.may_be_zero(id))) continue;
    graph.set_padding(id, {mask, is_over_steps && padding.freedom(id) == Freedom::anything});
    ++count;
  }
  return count;
}

}  // namespace

bool skip_padding(ir::Graph& graph, PassContext& context) {
  std::size_t count = 0;
  for (const NodeId mask : masks_of(graph)) count += skip(graph, mask);
  if (count)
    context.notes.push_back(
        str(counted(count, "value", "values"), " over steps of sequences, or sums over them, without those that a mask leaves out"));
  return count > 0;
}

}  // namespace sinter::passes
