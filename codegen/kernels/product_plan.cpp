#include "codegen/kernels/product_plan.h"

#include <algorithm>
#include <bit>

#include "codegen/kernels/convolution_plan.h"
#include "codegen/schedule.h"
#include "ir/error.h"
#include "ir/kernel.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

namespace {

/// Bytes of b that a pass may keep in the second-level cache while tiles stream over it.
constexpr std::int64_t pass_bytes = 288 * 1024;
/// Contracted indices per pass where a block of b is copied, or where each is another row (another page) of a.
constexpr std::int64_t copied_block = 256, transposed_block = 64;
/// Contracted indices per pass over windows: of so many a panel stays in the second-level cache.
constexpr std::int64_t window_block = 128;
/// The least stride of b, in elements, that is worth packing: each row is in another page. So is a transposed b of so many elements.
constexpr std::int64_t long_stride = 512, many_elements = 16 * 1024;

/// The most vectors of a tile row, by rows: leaves registers for a row of b and an element of a.
unsigned most_vectors(VectorUnit unit) { return unit.registers >= 32 ? 5 : 3; }
unsigned tile_rows(std::size_t vectors, VectorUnit unit) {
  const auto fits = static_cast<std::int64_t>((unit.registers - 1 - vectors) / vectors);
  return static_cast<unsigned>(std::clamp<std::int64_t>(fits, 1, most_tile_rows));
}

/// In register tiles, and not one of several.
bool is_single_product(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Op& op = graph.node(anchor).op;
  return (std::holds_alternative<ir::Matmul>(op) || std::holds_alternative<ir::Dense>(op)) && ir::fits_tiles(graph, anchor);
}

/// Of a convolution: windows times the kernel; or, for the adjoint in that, windows as columns times gradients.
Product product_of_windows(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Node& node = graph.node(anchor);
  const ConvolutionPlan plan = plan_windows(graph, anchor);
  Product product;
  product.op.transpose_a = std::holds_alternative<ir::Conv2DWeight>(node.op);
  product.run = product.op.transpose_a ? plan.channels : plan.run();
  if (std::holds_alternative<ir::Conv2DTranspose>(node.op)) product.rotated = plan.channels;
  product.left = node.inputs[0];
  product.right = node.inputs[1];
  product.result_layout = symbolic_layout(node.type.shape);
  const Dim terms = product.op.transpose_a ? symbolic_layout(graph.node(product.right).type.shape).rows : Dim(plan.taps());
  product.sizes = {product.result_layout.rows, terms, product.result_layout.cols};
  product.left_layout = ir::layout_of(graph, product.left);
  product.right_layout = symbolic_layout(graph.node(product.right).type.shape);
  return product;
}

}  // namespace

std::vector<Panels> cut_panels(std::int64_t columns, std::int64_t each, unsigned lanes) {
  std::vector<Panels> panels;
  const std::int64_t whole = columns / each;
  if (whole) panels.push_back({0, each, whole, widths_of(each, lanes), 0});
  if (columns % each) panels.push_back({whole * each, columns % each, 1, widths_of(columns % each, lanes), 0});
  return panels;
}

std::vector<unsigned> widths_of(std::int64_t columns, unsigned lanes) {
  std::vector<unsigned> widths(static_cast<std::size_t>(columns / lanes), lanes);
  if (columns % lanes) widths.push_back(static_cast<unsigned>(columns % lanes));
  return widths;
}

std::int64_t ProductPlan::widest() const {
  std::int64_t most = 0;
  for (const Panels& p : panels) most = std::max(most, p.columns);
  return most;
}

Product product_of(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Node& node = graph.node(anchor);
  if (is_convolution(node.op)) return product_of_windows(graph, anchor);
  Product product;
  if (const auto* matmul = std::get_if<ir::Matmul>(&node.op)) product.op = *matmul;
  if (const auto* several = std::get_if<ir::BatchMatmul>(&node.op)) product.op = {several->transpose_a, several->transpose_b};
  product.leading = node.type.shape.rank() - 2;
  product.left = node.inputs[0];
  product.right = node.inputs[1];
  const Shape &a = graph.node(product.left).type.shape, &b = graph.node(product.right).type.shape;
  product.sizes = ir::product_extents(product.op, a, b);
  product.left_layout = ir::layout_of(graph, product.left);
  product.right_layout = symbolic_layout(b);
  product.result_layout = symbolic_layout(node.type.shape);
  return product;
}

bool packs_right(const ir::Graph& graph, ir::NodeId anchor, bool of_step) {
  if (!is_single_product(graph, anchor)) return false;
  const Product p = product_of(graph, anchor);
  if (p.sizes.m.is_fixed() && p.sizes.m.factor() < paying_rows) return false;
  const std::int64_t stride = p.result_layout.stride.factor();
  if (of_step) return p.sizes.k.is_fixed();
  return p.op.transpose_b ? p.sizes.k.is_fixed() && p.sizes.k.factor() * stride >= many_elements : stride >= long_stride;
}

bool divides_columns(const ir::Graph& graph, ir::NodeId anchor, bool of_step) {
  if (!is_single_product(graph, anchor)) return false;
  const std::int64_t least_elements = of_step ? much_elements / 4 : much_elements, least_columns = 2 * (of_step ? step_columns : piece_columns);
  const Product p = product_of(graph, anchor);
  const SymbolicLayout& right = p.right_layout;
  return !p.op.transpose_a && p.sizes.m.is_batch() && right.rows.is_fixed() && right.cols.is_fixed() &&
         right.rows.factor() * right.stride.factor() >= least_elements && p.result_layout.stride.factor() > least_columns;
}

bool is_long(const Product& product) {
  return !product.of_windows() && (!product.sizes.k.is_fixed() || product.sizes.k.factor() > ir::chain_products);
}

ProductParts parts_of(const ir::Graph& graph, ir::NodeId anchor) {
  constexpr std::int64_t least_elements = 4096, most_elements = 128 * 1024, least_rows = 32, chunks = 128;
  if (!ir::fits_tiles(graph, anchor)) return {};
  const Product p = product_of(graph, anchor);
  const std::int64_t rows = p.sizes.m.factor(), elements = rows * p.result_layout.stride.factor();
  if (!p.op.transpose_a || p.leading || p.sizes.k.is_fixed() || !p.sizes.m.is_fixed() || !p.sizes.f.is_fixed() || elements < least_elements ||
      elements > most_elements)
    return {};
  ProductParts parts;
  // All pieces of a slot read its part of the right operand, which they should find in the second-level cache.
  const bool much = least_terms * p.right_layout.stride.factor() >= much_elements / 2;
  parts.pieces = much ? 1 : std::clamp<std::int64_t>(rows / least_rows, 1, 8);
  parts.slots = std::min<std::int64_t>(much ? 16 : 8, chunks / parts.pieces);
  parts.piece_rows = divide_up(rows, parts.pieces);
  parts.pieces = divide_up(rows, parts.piece_rows);
  return parts;
}

void limit_matrix_rows(const Product& product, ChunkLimits& limits) {
  constexpr std::int64_t sums_bytes = 512 * 1024;  // of a chunk, which each pass over contracted indices reads and writes again
  const auto parts = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(product.sizes.m.factor()) / 64));
  limits.most_parts = std::clamp<std::int64_t>(parts, 8, 64);
  const std::int64_t row_bytes = product.result_layout.stride.factor() * 4;
  limits.joined = std::max<std::int64_t>(1, std::clamp<std::int64_t>(sums_bytes / row_bytes, 8, 64) / limits.most);
}

namespace {

/// Tiles for calls of step_rows rows: as many tiles of rows as must be, of equal size, and the vectors for which a call takes least: two
/// multiply-adds or loads a cycle, and half a cycle for the loop.
struct StepTile {
  std::int64_t vectors, rows;
};
StepTile step_tile(std::int64_t vectors, VectorUnit unit) {
  const std::int64_t most = tile_rows(static_cast<std::size_t>(vectors), unit);
  return {vectors, even_part(step_rows, most)};
}
std::int64_t step_vectors(VectorUnit unit) {
  const auto cycles = [&](std::int64_t vectors) {
    const StepTile tile = step_tile(vectors, unit);
    const double each = 0.5 * static_cast<double>(std::max(tile.rows * vectors, tile.rows + vectors) + 1);
    return each * static_cast<double>(divide_up(step_rows, tile.rows)) / static_cast<double>(vectors);
  };
  std::int64_t best = 1;
  for (std::int64_t vectors = 2; vectors <= most_vectors(unit); ++vectors)
    if (cycles(vectors) < cycles(best)) best = vectors;
  return best;
}

}  // namespace

ProductPlan plan_product(const Product& product, ProductUse use, VectorUnit unit) {
  ProductPlan plan;
  const std::int64_t stride = product.result_layout.stride.factor();
  const Dim k = product.sizes.k;
  // Panels as even as whole vectors allow, so that there are at most two kinds of tiles.
  const std::int64_t vectors = divide_up(stride, unit.lanes), panels = divide_up(vectors, use.of_step ? step_vectors(unit) : most_vectors(unit));
  std::int64_t each = divide_up(vectors, panels) * unit.lanes;
  if (use.divided) each = (use.of_step ? step_vectors(unit) : std::bit_floor(most_vectors(unit))) * unit.lanes;
  if (use.divided && (use.of_step ? step_columns : window_columns) % each) throw InternalError("product", str("a piece is no panels of ", each));
  plan.panels = cut_panels(stride, each, unit.lanes);
  for (Panels& p : plan.panels) {
    const auto width = static_cast<std::int64_t>(p.widths.size());
    p.rows = use.of_step ? static_cast<unsigned>(step_tile(width, unit).rows) : tile_rows(p.widths.size(), unit);
  }

  using Right = ProductPlan::Right;
  plan.right = use.packs ? Right::packed : product.op.transpose_b ? Right::copied : Right::in_place;
  std::int64_t in_place = std::max<std::int64_t>(64, pass_bytes / 4 / plan.widest() / 64 * 64);
  if (is_long(product)) in_place = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::min(in_place, ir::chain_products))));
  plan.k_block = product.op.transpose_a ? transposed_block : plan.right == Right::in_place ? in_place : copied_block;
  static_assert(ir::chain_products % transposed_block == 0 && ir::chain_products % copied_block == 0);  // a pass lies in one chain
  // The tiles of a step stream over all of b, which is read once: blocks of it would only store their sums more often.
  if (use.of_step && plan.right == Right::packed && !is_long(product)) plan.k_block = 0;
  // A pass is a part of a run: all are of about the same size.
  if (product.of_windows()) plan.k_block = even_part(product.run, window_block);
  if (k.is_fixed() && k.factor() <= plan.k_block) plan.k_block = 0;
  return plan;
}

bool takes_shorter_tiles(const Product& product, std::int64_t rows) {
  const std::int64_t each = product.sizes.m.factor();
  return rows > 2 && each % rows && each < 8 * rows;
}

std::string to_text(const ProductPlan& plan, const Product& product) {
  const auto [m, k, f] = product.sizes;
  std::string text = str("[", m, ",", k, "]·[", k, ",", f, "]: ");
  for (const Panels& p : plan.panels)
    text +=
        str(&p == plan.panels.data() ? "" : " and ", p.count, p.count == 1 ? " panel of " : " panels of ", p.columns, " columns × ", p.rows, " rows");
  if (plan.k_block) text += str(", ", plan.k_block, " contracted indices per pass");
  if (plan.right == ProductPlan::Right::packed) text += ", b packed once a step";
  if (plan.right == ProductPlan::Right::copied) text += ", b transposed in each chunk";
  return text;
}

}  // namespace sinter::codegen
