#include "codegen/kernels/product_plan.h"

#include <algorithm>

#include "ir/error.h"

namespace sinter::codegen {

namespace {

constexpr std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Bytes of b that a pass may keep in the second-level cache while tiles stream over it.
constexpr std::int64_t pass_bytes = 288 * 1024;
/// Contracted indices a pass where a block of b is copied, or where each is another row (another page) of a.
constexpr std::int64_t copied_block = 128, transposed_block = 64;
/// Rows of b from this stride on, in elements, are worth a copy; so many rows of c pay for one.
constexpr std::int64_t long_stride = 512, paying_rows = 16;

/// Vectors of a tile row at most, by rows: what leaves registers for a row of b and an element of a.
unsigned most_vectors(VectorUnit unit) { return unit.registers >= 32 ? 5 : 3; }
unsigned tile_rows(std::size_t vectors, VectorUnit unit) {
  const auto fits = static_cast<std::int64_t>((unit.registers - 1 - vectors) / vectors);
  return static_cast<unsigned>(std::clamp<std::int64_t>(fits, 1, most_tile_rows));
}

/// Vectors that cover so many columns (a multiple of 8): whole registers, then one of what is left.
std::vector<unsigned> widths_of(std::int64_t columns, unsigned lanes) {
  std::vector<unsigned> widths(static_cast<std::size_t>(columns / lanes), lanes);
  if (columns % lanes) widths.push_back(static_cast<unsigned>(columns % lanes));
  return widths;
}

}  // namespace

std::int64_t ProductPlan::widest() const {
  std::int64_t most = 0;
  for (const Panels& p : panels) most = std::max(most, p.columns);
  return most;
}

ProductPlan plan_product(const ir::Matmul& op, const ir::ProductExtents& sizes, std::int64_t stride, VectorUnit unit) {
  ProductPlan plan;
  // Panels as even as whole vectors allow, so that there are at most two kinds of tiles.
  const std::int64_t vectors = up(stride, unit.lanes), panels = up(vectors, most_vectors(unit)), each = up(vectors, panels) * unit.lanes;
  const std::int64_t whole = stride / each;
  const auto add = [&](std::int64_t column, std::int64_t columns, std::int64_t count) {
    Panels p{column, columns, count, widths_of(columns, unit.lanes), 0};
    p.rows = tile_rows(p.widths.size(), unit);
    if (count) plan.panels.push_back(std::move(p));
  };
  add(0, each, whole);
  if (stride % each) add(whole * each, stride % each, 1);

  if (op.transpose_b) plan.copy_rows = 1;
  else if (stride >= long_stride) plan.copy_rows = paying_rows;
  const std::int64_t in_place = std::max<std::int64_t>(64, pass_bytes / 4 / plan.widest() / 64 * 64);
  plan.k_block = op.transpose_a ? transposed_block : plan.copy_rows ? copied_block : in_place;
  if (sizes.k.is_fixed() && sizes.k.factor() <= plan.k_block) plan.k_block = 0;
  if (plan.copy_rows && plan.k_block == 0) plan.k_block = sizes.k.is_fixed() ? 0 : copied_block;
  return plan;
}

std::string to_text(const ProductPlan& plan, const ir::ProductExtents& sizes) {
  std::string text = str("[", sizes.m, ",", sizes.k, "]·[", sizes.k, ",", sizes.f, "]: ");
  for (const Panels& p : plan.panels)
    text +=
        str(&p == plan.panels.data() ? "" : " and ", p.count, p.count == 1 ? " panel of " : " panels of ", p.columns, " columns × ", p.rows, " rows");
  if (plan.k_block) text += str(", ", plan.k_block, " of the contracted index a pass");
  if (plan.copy_rows) text += str(", b copied from ", plan.copy_rows, plan.copy_rows == 1 ? " row on" : " rows on");
  return text;
}

}  // namespace sinter::codegen
