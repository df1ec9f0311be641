// Where the windows of a convolution tile its images, each of them contiguous, they are the rows of a matrix as they lie: a convolution and its
// adjoint in the image are products with the kernel. So it is with kernels of 1 × 1, with kernels as large as the image, and with windows side by
// side along rows. Products read their operands in place, in rows of several images, where convolutions copy an image and go through it row by row.
// The adjoint in the kernel is a product only where a window is a whole image: otherwise there are many windows and a small kernel, which would be
// divided into few chunks, each of which reads the whole batch.
#include "ir/ops/convolution.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

/// Whether windows are next to each other along this axis, cover all of it, and have no gaps.
bool tiles(const ir::SlidingAxis& axis) {
  const bool is_dense = axis.dilation == 1 || axis.size == 1, are_adjacent = axis.stride == axis.size || axis.out == 1;
  return axis.before == 0 && axis.in == axis.out * axis.size && is_dense && are_adjacent;
}

/// Numbers in a window, without groups.
std::int64_t window_size(const ir::Convolution& c) { return c.sliding.h.size * c.sliding.w.size * c.channels; }

bool has_windows_as_rows(const ir::Convolution& c) {
  const auto& [h, w] = c.sliding;
  const bool are_contiguous = h.size == 1 || w.out == 1;
  // Products of one column are computed element by element.
  return c.groups == 1 && tiles(h) && tiles(w) && are_contiguous && window_size(c) > 1 && c.features > 1;
}

/// The same value by a product; the node itself if it is none.
struct AsProduct {
  ir::Graph& graph;
  NodeId id;

  NodeId operator()(const ir::Conv2D& op) const {
    return rewritten(op, [](const ir::Convolution& c, Value x, Value w) { return ir::matmul(windows(c, x), kernel(c, w)); });
  }
  NodeId operator()(const ir::Conv2DTranspose& op) const {
    return rewritten(op, [](const ir::Convolution& c, Value y, Value w) { return ir::matmul(results(c, y), kernel(c, w), false, true); });
  }
  NodeId operator()(const ir::Conv2DWeight& op) const {
    return rewritten(op, [](const ir::Convolution& c, Value x, Value y) {
      const bool are_whole_images = c.sliding.h.out == 1 && c.sliding.w.out == 1;
      return are_whole_images ? ir::matmul(windows(c, x), results(c, y), true) : Value();
    });
  }
  template <class O>
  NodeId operator()(const O&) const {
    return id;
  }

 private:
  static Dim count(const ir::Convolution& c) { return c.y().product(0, 3); }
  static Value windows(const ir::Convolution& c, Value x) { return ir::reshape(x, {count(c), window_size(c)}); }
  static Value results(const ir::Convolution& c, Value y) { return ir::reshape(y, {count(c), c.features}); }
  static Value kernel(const ir::Convolution& c, Value w) { return ir::reshape(w, {window_size(c), c.features}); }

  template <class O, class Product>
  NodeId rewritten(const O& op, const Product& product) const {
    const Value a = graph.value(graph.node(id).inputs[0]), b = graph.value(graph.node(id).inputs[1]);
    const Shape shape = graph.node(id).type.shape;
    const ir::Convolution c = ir::convolution_of(op, a.shape(), b.shape());
    if (!has_windows_as_rows(c)) return id;
    const Value made = product(c, a, b);
    return made ? ir::reshape(made, shape).id : id;
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
  if (changed) context.notes.push_back("made " + counted(changed, "convolution a product", "convolutions products") + " of windows and a kernel");
  return changed > 0;
}

}  // namespace sinter::passes
