#include "codegen/kernels/winograd_plan.h"

#include <limits>

#include "codegen/schedule.h"

namespace sinter::codegen {

namespace {

/// A multiple of the rows of every register tile.
constexpr std::int64_t granule = 24;
constexpr std::int64_t most_tiles = 3 * granule;

/// Strips per block: as few tiles as fill register tiles well, since their transforms should stay in the second-level cache; but the transformed
/// kernel is read once per block.
std::int64_t strips_a_block(std::int64_t tiles_a_strip) {
  constexpr double rows = 6, reading = 2, spilling = 1.0 / 400;
  std::int64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t strips = 1; strips * tiles_a_strip <= most_tiles; ++strips) {
    const auto tiles = static_cast<double>(strips * tiles_a_strip);
    const double cost =
        static_cast<double>(divide_up(strips * tiles_a_strip, static_cast<std::int64_t>(rows))) * rows / tiles + reading / tiles + tiles * spilling;
    if (cost < least) least = cost, best = strips;
  }
  return best;
}

}  // namespace

std::int64_t WinogradPlan::capacity() const { return divide_up(block * tiles_a_strip, granule) * granule; }

std::optional<WinogradPlan> plan_winograd(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Convolution c = convolution_of(graph, anchor);
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(graph.node(anchor).op);
  const ir::Winograd* form = ir::winograd_of(c, adjoint);
  if (!form) return {};
  WinogradPlan plan;
  plan.form = form;
  plan.weight = std::holds_alternative<ir::Conv2DWeight>(graph.node(anchor).op);
  plan.channels = adjoint ? c.features : c.channels;
  plan.columns = adjoint ? c.channels : c.features;
  plan.stride = symbolic_layout(Shape{1, plan.columns}).stride.factor();
  plan.width = plan.weight && plan.stride % piece_columns == 0 ? piece_columns : plan.stride;
  const auto axis = [&](const ir::SlidingAxis& a, std::int64_t& out) {
    out = adjoint ? a.in : a.out;
    return CopyAxis{adjoint ? a.out : a.in, divide_up(out, form->results) * form->results + form->taps - 1, adjoint ? ir::adjoint_pad(a) : a.before};
  };
  plan.h = axis(c.sliding.h, plan.out_h);
  plan.w = axis(c.sliding.w, plan.out_w);
  plan.strips = divide_up(plan.out_h, form->results);
  plan.tiles_a_strip = divide_up(plan.out_w, form->results);
  plan.block = strips_a_block(plan.tiles_a_strip);
  return plan;
}

std::vector<Panels> plan_winograd_tiles(std::int64_t stride, VectorUnit unit) {
  std::vector<Panels> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t vectors = 1; vectors <= (unit.registers >= 32 ? 5 : 3); ++vectors) {
    std::vector<Panels> panels = cut_panels(stride, vectors * unit.lanes, unit.lanes);
    double total = 0;
    for (Panels& p : panels) {
      const auto v = static_cast<std::int64_t>(p.widths.size());
      p.rows = static_cast<unsigned>(most_rows(v, unit));
      while (granule % p.rows) --p.rows;
      total += static_cast<double>(p.count * granule / p.rows) * tile_cost(p.rows, v);
    }
    if (total < least) least = total, best = std::move(panels);
  }
  return best;
}

std::string to_text(const WinogradPlan& plan, const std::vector<Panels>& panels) {
  const std::int64_t m = plan.results(), r = plan.form->taps;
  std::string text =
      str("Winograd F(", m, "×", m, ", ", r, "×", r, "), blocks of ", plan.block * plan.tiles_a_strip, " tiles, ", plan.numbers(), " products of ");
  if (plan.weight) text += str("[", plan.channels, ",tiles]·[tiles,", plan.columns, "]");
  else text += str("[tiles,", plan.channels, "]·[", plan.channels, ",", plan.columns, "]");
  for (const Panels& p : panels)
    text += str(&p == panels.data() ? " in tiles of " : " and ", p.rows, " rows × ", p.count > 1 ? str(p.count, " × ") : "", p.columns, " columns");
  return text;
}

}  // namespace sinter::codegen
