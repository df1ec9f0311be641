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
  const Node& node = graph.node(id);
  const auto in = [&](std::size_t i) -> const Shape& { return graph.node(node.inputs[i]).type.shape; };
  return std::visit(
      [&]<class O>(const O& op) -> Cost {
        if constexpr (std::is_same_v<O, Matmul> || std::is_same_v<O, Dense>) {
          Matmul product;
          if constexpr (std::is_same_v<O, Matmul>) product = op;
          const auto [m, k, f] = product_extents(product, in(0), in(1));
          // At most one of the three is a multiple of N.
          const double count = 2.0 * static_cast<double>(m.factor()) * static_cast<double>(k.factor()) * static_cast<double>(f.factor());
          return m.is_batch() || k.is_batch() || f.is_batch() ? Cost{0, count} : Cost{count, 0};
        } else if constexpr (std::is_same_v<O, BatchMatmul>) {
          return cost_of(node.type.shape.elements(), 2.0 * static_cast<double>(in(0)[in(0).rank() - (op.transpose_a ? 2 : 1)].factor()));
        } else if constexpr (IsConvolution<O>) {
          const Convolution c = convolution_of(op, in(0), in(1));
          return cost_of(c.images, 2.0 * static_cast<double>(c.products()));
        } else if constexpr (IsPool<O> || IsUnpool<O>) {
          return cost_of(node.type.shape.elements(), static_cast<double>(op.kernel.elements().factor()));
        } else if constexpr (std::is_same_v<O, TopK>) {
          return cost_of(in(0).elements(), static_cast<double>(op.k));
        } else if constexpr (std::is_same_v<O, ScatterAddAlong>) {
          return cost_of(node.type.shape.elements(), static_cast<double>(in(0).back().factor()));
        } else if constexpr (IsReduction<O> || std::is_same_v<O, Argmax> || std::is_same_v<O, Cumsum>) {
          return elements(in(0));
        } else if constexpr (IsElementwise<O> || std::is_same_v<O, Softmax> || std::is_same_v<O, LogSoftmax>) {
          return elements(node.type.shape);
        } else if constexpr (std::is_same_v<O, ScatterAddRows>) {
          return elements(in(1));
        } else {
          return {};
        }
      },
      node.op);
}

}  // namespace sinter::ir
