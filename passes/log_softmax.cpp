// Only the exact forms: a probability that was clipped or divided first is left as written.
#include "passes/passes.h"

namespace sinter::passes {

namespace {

template <class O>
bool is(const ir::Graph& graph, ir::NodeId id) {
  return std::holds_alternative<O>(graph.node(id).op);
}

ir::NodeId operand(const ir::Graph& graph, ir::NodeId id, std::size_t i) { return graph.node(id).inputs[i]; }

/// dy if the node is the gradient dx = (d - row_sum(d·y))·y, d = dy / y, that goes through log and y = softmax(x).
ir::NodeId gradient_through(const ir::Graph& graph, ir::NodeId id, ir::NodeId y) {
  if (!is<ir::Mul>(graph, id) || operand(graph, id, 1) != y) return ir::no_node;
  const ir::NodeId difference = operand(graph, id, 0);
  if (!is<ir::Sub>(graph, difference)) return ir::no_node;
  const ir::NodeId d = operand(graph, difference, 0), row_sum = operand(graph, difference, 1);
  if (!is<ir::Div>(graph, d) || operand(graph, d, 1) != y || !is<ir::Reshape>(graph, row_sum)) return ir::no_node;
  const Shape& shape = graph.node(y).type.shape;
  if (graph.node(d).type.shape != shape) return ir::no_node;  // dy repeats y
  const ir::NodeId sum = operand(graph, row_sum, 0);
  if (!is<ir::Sum>(graph, sum) || graph.node(row_sum).type.shape != shape.with(shape.rank() - 1, 1)) return ir::no_node;
  const auto& axes = std::get<ir::Sum>(graph.node(sum).op);
  const auto last = static_cast<std::int64_t>(shape.rank());
  const ir::NodeId product = operand(graph, sum, 0);
  if (axes.first != last - 1 || axes.last != last || !is<ir::Mul>(graph, product)) return ir::no_node;
  return operand(graph, product, 0) == d && operand(graph, product, 1) == y ? operand(graph, d, 0) : ir::no_node;
}

}  // namespace

bool log_softmax(ir::Graph& graph, PassContext& context) {
  std::size_t forward = 0, backward = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    if (!is<ir::Log>(graph, id) || !is<ir::Softmax>(graph, operand(graph, id, 0))) continue;
    const ir::NodeId y = operand(graph, id, 0);
    const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
    const ir::Value log_y = graph.add(ir::LogSoftmax{}, {graph.value(operand(graph, y, 0))});
    const std::vector<ir::NodeId> readers = graph.node(y).users;
    graph.replace_all_uses(id, log_y.id);
    ++forward;
    for (const ir::NodeId reader : readers) {
      const ir::NodeId dy = gradient_through(graph, reader, y);
      if (dy == ir::no_node) continue;
      const ir::Value full = ir::broadcast(graph.value(dy), log_y.shape());
      const ir::Value dx = ir::LogSoftmax{}.vjp({graph, {}, log_y, full})[0];
      graph.replace_all_uses(reader, dx.id);
      ++backward;
    }
  }
  if (forward)
    context.notes.push_back("made " + counted(forward, "log of a softmax", "logs of a softmax") + " one stable op" +
                            (backward ? ", " + counted(backward, "gradient", "gradients") + " with it" : ""));
  return forward > 0;
}

}  // namespace sinter::passes
