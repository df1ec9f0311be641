// A convolution with a kernel of 1 × 1 is a product of pixels and the kernel, and so is its adjoint in the image. Products read their operands in
// place, in rows of all pixels of several images, where convolutions copy an image and go through it row by row. The adjoint in the kernel stays: as
// a product, a small kernel would be divided into few chunks, each of which reads the whole batch.
#include "ir/ops/convolution.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

bool is_one_by_one(const ir::Convolution& c) {
  for (const ir::SlidingAxis& axis : {c.sliding.h, c.sliding.w}) {
    const bool is_each_pixel = axis.in == axis.out && axis.before == 0 && (axis.stride == 1 || axis.in == 1);
    if (axis.size != 1 || !is_each_pixel) return false;
  }
  // Products of one column are computed element by element.
  return c.groups == 1 && c.channels > 1 && c.features > 1;
}

/// The same value by a product; the node itself if it is none.
struct AsProduct {
  ir::Graph& graph;
  NodeId id;

  NodeId operator()(const ir::Conv2D& op) const {
    return rewritten(op, [](Value x, Value w) { return ir::matmul(x, w); });
  }
  NodeId operator()(const ir::Conv2DTranspose& op) const {
    return rewritten(op, [](Value y, Value w) { return ir::matmul(y, w, false, true); });
  }
  template <class O>
  NodeId operator()(const O&) const {
    return id;
  }

 private:
  template <class O, class Product>
  NodeId rewritten(const O& op, const Product& product) const {
    const NodeId images = graph.node(id).inputs[0], kernel = graph.node(id).inputs[1];
    const Shape shape = graph.node(id).type.shape, from = graph.node(images).type.shape;
    const ir::Convolution c = ir::convolution_of(op, from, graph.node(kernel).type.shape);
    if (!is_one_by_one(c)) return id;
    const Value pixels = ir::reshape(graph.value(images), {from.product(0, 3), from[3]});
    return ir::reshape(product(pixels, ir::reshape(graph.value(kernel), {c.channels, c.features})), shape).id;
  }
};

}  // namespace

bool convolution_to_matmul(ir::Graph& graph, PassContext& context) {
  std::size_t changed = 0;
  for (const NodeId id : graph.topological_order()) {
    const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
    const NodeId product = std::visit(AsProduct{graph, id}, graph.node(id).op);
    if (product == id) continue;
    graph.replace_all_uses(id, product);
    ++changed;
  }
  if (changed)
    context.notes.push_back("made " + counted(changed, "convolution a product", "convolutions products") + " of pixels and a kernel of 1 × 1");
  return changed > 0;
}

}  // namespace sinter::passes
