#include "codegen/kernels/convolution_plan.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "codegen/kernels/pixel_tiles.h"
#include "ir/long_sum.h"
#include "ir/winograd.h"

namespace sinter::codegen {

namespace {

/// With the elements that no window sees, or without.
ConvolutionPlan::Axis plan_axis(const ir::SlidingAxis& a, bool is_whole) {
  ConvolutionPlan::Axis axis{{.source = a.in, .first = a.before}, a.out, a.size, a.dilation, a.stride, a.stride};
  axis.copy = axis.covered();
  if (is_whole || a.stride <= axis.reach()) return axis;
  axis.run = axis.step = axis.reach();
  axis.gap = a.stride - axis.run;
  axis.copy = a.out * axis.run;
  return axis;
}

}  // namespace

std::int64_t ConvolutionPlan::block() const {
  constexpr std::int64_t most = 128 * 1024, copied_once = 4;  // floats; of the rows of a block for each one that the next block copies again
  const std::int64_t row = groups * copy_row();
  if (h.copy * row <= most) return h.windows;
  const std::int64_t fitting = (most / row - rows_under(1)) / h.step + 1, worth = copied_once * rows_under(1) / h.step;
  return std::clamp<std::int64_t>(std::max(fitting, worth), 1, h.windows);
}

std::int64_t ConvolutionPlan::taps_at_a_time(std::int64_t columns) const {
  constexpr std::int64_t most = 64 * 1024;                // floats
  if (w.windows <= most_convolution_rows) return w.size;  // hardly more than one tile
  return std::clamp<std::int64_t>(most / (std::min(columns, most_convolution_columns) * channels), 1, w.size);
}

std::int64_t ConvolutionPlan::chain_rows() const { return std::clamp<std::int64_t>(ir::chain_products / w.windows, 1, h.windows); }

std::int64_t ConvolutionPlan::chain_windows() const { return even_part(w.windows, ir::chain_products); }

std::int64_t ConvolutionPlan::weight_block() const {
  return block() == h.windows ? h.windows : std::min(h.windows, divide_up(block(), chain_rows()) * chain_rows());
}

std::int64_t most_slots(const Shape& weight) {
  constexpr std::int64_t bytes = 16 * 1024 * 1024;
  const SymbolicLayout at = symbolic_layout(weight);
  const std::int64_t fitting = bytes / (4 * at.rows.factor() * at.stride.factor());
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(fitting, 8, 64))));
}

bool is_convolution(const ir::Op& op) {
  return std::visit([]<class O>(const O&) { return ir::IsConvolution<O>; }, op);
}

ir::Convolution convolution_of(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Node& node = graph.node(anchor);
  const Shape &a = graph.node(node.inputs[0]).type.shape, &b = graph.node(node.inputs[1]).type.shape;
  return std::visit(
      [&]<class O>(const O& op) -> ir::Convolution {
        if constexpr (ir::IsConvolution<O>) return ir::convolution_of(op, a, b);
        else throw InternalError("codegen", str(O::name, " is no convolution"));
      },
      node.op);
}

bool tiles_convolution(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Convolution c = convolution_of(graph, anchor);
  return !has_groups_in_lanes(graph, anchor) && (!is_depthwise(c) || c.features > c.channels);
}

bool is_depthwise(const ir::Convolution& c) { return c.groups > 1 && c.groups == c.channels; }

ChannelRatio channel_ratio(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Convolution c = convolution_of(graph, anchor);
  if (std::holds_alternative<ir::Conv2DTranspose>(graph.node(anchor).op)) return {c.channels_a_group(), c.features_a_group()};
  return {c.features_a_group(), c.channels_a_group()};
}

bool has_groups_in_lanes(const ir::Graph& graph, ir::NodeId anchor) {
  // Channels and features of a group; where windows overlap, tiles of products read a copy of each row several times.
  constexpr std::int64_t most = 16, most_of_overlapping = 8, most_sources = 8;  // the last of each result
  const ir::Convolution c = convolution_of(graph, anchor);
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(graph.node(anchor).op);
  const auto [results, sources] = channel_ratio(graph, anchor);
  const ir::SlidingAxis& w = c.sliding.w;
  const bool overlap = w.stride <= (w.size - 1) * w.dilation;
  return c.groups > 1 && std::max(results, sources) <= (overlap ? most_of_overlapping : most) && sources <= most_sources * results &&
         (lanes % results == 0 || c.groups * results <= lanes) && unrolls_taps(w, adjoint);
}

std::optional<Shape> packed_for_lanes(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Convolution c = convolution_of(graph, anchor);
  if (!std::holds_alternative<ir::Conv2DTranspose>(graph.node(anchor).op) || (c.groups == c.channels && c.groups == c.features)) return std::nullopt;
  return Shape{c.sliding.h.size * c.sliding.w.size * c.features_a_group(), c.channels};
}

ConvolutionPlan plan_convolution(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Convolution c = convolution_of(graph, anchor);
  const bool is_whole = std::holds_alternative<ir::Conv2DTranspose>(graph.node(anchor).op);  // all of the copy is the result
  return {plan_axis(c.sliding.h, is_whole), plan_axis(c.sliding.w, is_whole), c.channels_a_group(), c.groups};
}

bool reads_images_in_place(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Node& node = graph.node(anchor);
  if (!std::holds_alternative<ir::Conv2D>(node.op)) return false;
  const ConvolutionPlan plan = plan_convolution(graph, anchor);
  const auto has_no_padding = [](const ConvolutionPlan::Axis& axis) { return axis.first == 0 && axis.covered() <= axis.source; };
  const SymbolicLayout images = ir::layout_of(graph, node.inputs[0]);
  const bool rows_are_adjacent = plan.groups == 1 && images.stride == images.cols;
  return has_no_padding(plan.h) && has_no_padding(plan.w) && (rows_are_adjacent || plan.w.size == 1);
}

bool is_narrow(const ir::Graph& graph, ir::NodeId anchor) {
  constexpr std::int64_t most_features = 8, vector = 16, sum_of_lanes = 10;  // in vector operations
  if (!std::holds_alternative<ir::Conv2D>(graph.node(anchor).op) || convolution_of(graph, anchor).groups > 1) return false;
  const std::int64_t features = convolution_of(graph, anchor).features;
  const ConvolutionPlan plan = plan_convolution(graph, anchor);
  const std::int64_t runs = plan.h.size * plan.runs_a_row();
  return features == 1 || (features <= most_features && features * (runs * divide_up(plan.run(), vector) + sum_of_lanes) < plan.taps());
}

Shape packed_by_features(const ConvolutionPlan& plan, std::int64_t features) { return {features, plan.taps()}; }

bool is_window_product(const ir::Graph& graph, ir::NodeId anchor) {
  constexpr std::int64_t large_kernel = 32 * 1024, most_row_windows = 1024;
  const ir::Op& op = graph.node(anchor).op;
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(op);
  if (!adjoint && !std::holds_alternative<ir::Conv2D>(op)) return false;
  const ir::Convolution c = convolution_of(graph, anchor);
  if (c.groups != 1 || ir::winograd_of(c, adjoint)) return false;
  for (const ir::SlidingAxis& axis : {c.sliding.h, c.sliding.w})
    if (adjoint && (axis.stride != 1 || axis.dilation != 1 || axis.before >= axis.size)) return false;
  const SymbolicLayout result = symbolic_layout(graph.node(anchor).type.shape);
  const ConvolutionPlan plan = plan_windows(graph, anchor);
  return result.stride.factor() > window_columns && plan.taps() * result.stride.factor() >= large_kernel && plan.w.windows <= most_row_windows;
}

bool is_transposed_window_product(const ir::Graph& graph, ir::NodeId anchor) {
  constexpr std::int64_t large_kernel = 128 * 1024, most_windows = 256, least_channels = 32;
  const ir::Convolution c = convolution_of(graph, anchor);
  if (!std::holds_alternative<ir::Conv2DWeight>(graph.node(anchor).op) || c.groups != 1 || ir::winograd_of(c, false)) return false;
  const SymbolicLayout result = symbolic_layout(graph.node(anchor).type.shape);
  return c.sliding.h.out * c.sliding.w.out <= most_windows && c.channels >= least_channels && c.features > 1 &&
         result.rows.factor() * result.stride.factor() >= large_kernel;
}

ConvolutionPlan plan_windows(const ir::Graph& graph, ir::NodeId anchor) {
  if (!std::holds_alternative<ir::Conv2DTranspose>(graph.node(anchor).op)) return plan_convolution(graph, anchor);
  const ir::Convolution c = convolution_of(graph, anchor);
  const auto axis = [](const ir::SlidingAxis& a) { return ConvolutionPlan::Axis{{a.out, a.in + a.size - 1, ir::adjoint_pad(a)}, a.in, a.size}; };
  return {axis(c.sliding.h), axis(c.sliding.w), c.features};
}

WindowBlock plan_window_block(const ConvolutionPlan& plan) {
  constexpr std::int64_t most_elements = 128 * 1024, wanted_windows = 128, most_windows = 1024;
  const std::int64_t windows = plan.h.windows * plan.w.windows;
  WindowBlock block{1, plan.h.windows, divide_up(plan.copy_elements(), 16) * 16};
  if (plan.block() < plan.h.windows || windows > most_windows) block.rows = std::clamp<std::int64_t>(most_windows / plan.w.windows, 1, plan.block());
  else block.images = std::clamp<std::int64_t>(most_elements / block.image_elements, 1, divide_up(wanted_windows, windows));
  return block;
}

std::int64_t least_images(std::int64_t windows) {
  constexpr std::int64_t wanted = 64;
  return divide_up(wanted, windows);
}

RowTiles tile_rows(std::int64_t count, std::int64_t most) {
  const std::int64_t tiles = divide_up(count, most), size = divide_up(count, tiles), small = tiles * size - count;
  return {static_cast<unsigned>(size), tiles - small, small};
}

std::int64_t most_rows(std::int64_t vectors, VectorUnit unit) {
  return std::min<std::int64_t>((unit.registers - 1 - vectors) / vectors, most_convolution_rows);
}

double tile_cost(std::int64_t rows, std::int64_t vectors) {
  // Multiply-adds, several of which must be in flight, and a little for loads and the loop.
  constexpr double least_sums = 8, overhead = 1;
  const auto sums = static_cast<double>(rows * vectors), loads = static_cast<double>(rows + vectors);
  return std::max({sums, least_sums, loads / 2}) + overhead;
}

ConvolutionTiles plan_tiles(std::int64_t rows, std::int64_t columns, VectorUnit unit) {
  ConvolutionTiles best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t vectors = 1; vectors <= (unit.registers >= 32 ? 5 : 3); ++vectors) {
    ConvolutionTiles tiles{cut_panels(columns, vectors * unit.lanes, unit.lanes), tile_rows(rows, most_rows(vectors, unit))};
    double total = 0;
    for (Panels& p : tiles.panels) {
      const auto v = static_cast<std::int64_t>(p.widths.size());
      p.rows = tiles.rows.size;
      total += static_cast<double>(p.count) * (static_cast<double>(tiles.rows.large) * tile_cost(tiles.rows.size, v) +
                                               static_cast<double>(tiles.rows.small) * tile_cost(tiles.rows.size - 1, v));
    }
    if (total < least) least = total, best = std::move(tiles);
  }
  return best;
}

std::string to_text(const ConvolutionPlan& plan, const ConvolutionTiles& tiles) {
  std::string text = str(plan.groups > 1 ? str(plan.groups, " groups, ") : "", "windows of ", plan.h.size, "×", plan.w.size, "×", plan.channels,
                         " in ", plan.h.size * plan.runs_a_row(), " runs of ", plan.run(), " over a copy of ", plan.h.copy, "×", plan.w.copy,
                         ", tiles of ", tiles.rows.size, " rows ×");
  for (const Panels& p : tiles.panels) text += str(&p == tiles.panels.data() ? " " : " and ", p.count > 1 ? str(p.count, " × ") : "", p.columns);
  return text + " columns";
}

}  // namespace sinter::codegen
