#include "ir/cost.h"

namespace sinter::ir {

Cost elements(const Shape& shape) { return shape.rank() && shape[0].is_rows() ? Cost{} : Cost::of(shape.elements()); }

Cost bytes(const Type& type) {
  Cost cost = elements(type.shape);
  cost *= static_cast<double>(size_of(type.dtype));
  return cost;
}

Cost flops(const Graph& graph, NodeId id) {
  if (is_leaf(graph.node(id).op)) return {};
  if (const auto* scan = graph.op_as<Scan>(id)) {
    const Graph& body = scan->body.graph();
    Cost all;
    for (NodeId inner = 0; inner < body.size(); ++inner) {
      const Cost step = flops(body, inner);
      for (const Dim symbols : {Dim(1), Dim::batch(), Dim::length(), Dim::batch() * Dim::length()}) {
        const std::optional<Dim> steps = product(symbols, scan->length);  // T in a step and T steps: counted as T
        all += Cost::of(steps.value_or(symbols).with_factor(1), step[symbols] * static_cast<double>(scan->length.factor()));
      }
    }
    return all;
  }
  const Access access = access_of(graph, id);
  double count = access.flops;
  Dim symbols = 1;  // each occurs in at most one axis
  for (const Axis& axis : access.axes) {
    if (axis.extent.is_rows()) return {};
    if (axis.kind == Axis::Kind::scattered) continue;
    count *= static_cast<double>(axis.extent.factor());
    symbols = symbols * axis.extent.with_factor(1);
  }
  return Cost::of(symbols, count);
}

}  // namespace sinter::ir
