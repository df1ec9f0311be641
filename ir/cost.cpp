#include "ir/cost.h"

namespace sinter::ir {

namespace {
Cost cost_of(Dim count, double scale) {
  if (count.is_rows()) return {};
  const double value = static_cast<double>(count.factor()) * scale;
  return count.is_batch() ? Cost{0, value} : Cost{value, 0};
}
}  // namespace

Cost elements(const Shape& shape) { return shape.rank() && shape[0].is_rows() ? Cost{} : cost_of(shape.elements(), 1); }

Cost bytes(const Type& type) {
  Cost cost = elements(type.shape);
  cost.fixed *= static_cast<double>(size_of(type.dtype));
  cost.per_sample *= static_cast<double>(size_of(type.dtype));
  return cost;
}

Cost flops(const Graph& graph, NodeId id) {
  if (is_leaf(graph.node(id).op)) return {};
  const Access access = access_of(graph, id);
  double count = access.flops;
  bool batch = false;  // at most one axis is a multiple of N
  for (const Axis& axis : access.axes) {
    if (axis.extent.is_rows()) return {};
    if (axis.kind == Axis::Kind::scattered) continue;
    count *= static_cast<double>(axis.extent.factor());
    batch |= axis.extent.is_batch();
  }
  return batch ? Cost{0, count} : Cost{count, 0};
}

}  // namespace sinter::ir
