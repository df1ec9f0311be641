// Convolutions and pools over images of one column, computed over images of one row: channels of the pixels along a row are adjacent, and so is a
// row of windows, while each row of an image is copied, and begun, on its own. The reshapes copy nothing: rows and columns of the matrices that lie
// in memory stay what they are.
#include "ir/ops/convolution.h"
#include "ir/ops/pool.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

/// Whether along w there is one window, of one pixel, which is all that the images have there; and more along h.
bool is_one_column(const ir::Sliding& sliding) { return sliding.w.in == 1 && sliding.w.out == 1 && sliding.w.size == 1 && sliding.h.in > 1; }

Shape swapped(const Shape& shape, std::size_t axis) { return shape.with(axis, shape[axis + 1]).with(axis + 1, shape[axis]); }

/// The attributes that ops on images have for h and w, with those of the other axis.
template <class O>
O swapped(O op) {
  op.strides = swapped(op.strides, 0);
  op.pads = swapped(swapped(op.pads, 0), 2);  // top, left, bottom, right
  if constexpr (requires { op.dilations; }) op.dilations = swapped(op.dilations, 0);
  if constexpr (requires { op.kernel; }) op.kernel = swapped(op.kernel, 0);
  if constexpr (requires { op.image; }) op.image = swapped(op.image, 0);
  return op;
}

/// The same value over images of one row; the node itself if it is no op over images of one column.
struct OverRow {
  ir::Graph& graph;
  NodeId id;
  std::vector<NodeId> inputs = graph.node(id).inputs;

  template <class O>
  NodeId operator()(const O& op) const {
    if constexpr (ir::IsConvolution<O>) {
      if (!is_one_column(ir::convolution_of(op, shape_of(inputs[0]), shape_of(inputs[1])).sliding)) return id;
      return between_reshapes(op, std::is_same_v<O, ir::Conv2DWeight> ? h_of_images : h_of_kernels);
    } else if constexpr (ir::IsPool<O> || ir::IsUnpool<O>) {
      const Shape& image = shape_of(ir::IsPool<O> ? inputs[0] : id);
      return is_one_column(ir::pool_windows(image, op.kernel, op.strides, op.pads)) ? between_reshapes(op, h_of_images) : id;
    } else {
      return id;
    }
  }

 private:
  static constexpr std::size_t h_of_images = 1, h_of_kernels = 0;  ///< axes: [N, H, W, C], [KH, KW, C, F]

  const Shape& shape_of(NodeId node) const { return graph.node(node).type.shape; }

  /// With the axis of a second operand that is h.
  template <class O>
  NodeId between_reshapes(const O& op, std::size_t h_of_second) const {
    std::vector<NodeId> rows;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      rows.push_back(ir::reshape(graph.value(inputs[i]), swapped(shape_of(inputs[i]), i == 0 ? h_of_images : h_of_second)).id);
    return ir::reshape(graph.add(swapped(op), rows, Origin(graph.node(id).origin)), Shape(shape_of(id))).id;
  }
};

}  // namespace

bool swap_image_axes(ir::Graph& graph, PassContext& context) {
  std::size_t changed = 0;
  for (const NodeId id : graph.topological_order()) {
    const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
    const NodeId other = std::visit(OverRow{graph, id}, ir::Op(graph.node(id).op));
    if (other == id) continue;
    graph.replace_all_uses(id, other);
    ++changed;
  }
  if (changed) context.notes.push_back(counted(changed, "convolution or pool", "convolutions and pools") + " of one column computed as of one row");
  return changed > 0;
}

}  // namespace sinter::passes
