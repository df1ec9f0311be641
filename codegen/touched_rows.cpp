#include "codegen/touched_rows.h"

#include <algorithm>

#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

namespace {

/// Whether a row of the table is some rows in memory, whose elements lie one behind the other.
bool has_rows(const Shape& table) { return table.rank() > 1 && table.is_fixed() && table.back() != Dim(1); }

}  // namespace

void mark_touched_rows(const ir::Graph& graph, Schedule& schedule) {
  Planner planner(graph, schedule);
  for (Kernel& kernel : schedule.kernels) {
    if (!kernel.is<Kernel::Group>() || kernel.anchor == ir::no_node || kernel.writes.empty()) continue;
    const ir::Node& anchor = graph.node(kernel.anchor);
    const auto keeps_other_rows = [&](const Write& write) {
      const StoredValue& value = schedule.values[write.value];
      return value.home == StoredValue::Home::state && graph.node(graph.state_node(value.index)).touched_by == kernel.anchor;
    };
    if (!std::holds_alternative<ir::ScatterAddRows>(anchor.op) || !has_rows(anchor.type.shape)) continue;
    if (!std::all_of(kernel.writes.begin(), kernel.writes.end(), keeps_other_rows)) continue;
    kernel.touched_rows = true;
    ScatterKernel::plan_counts(planner, kernel);
  }
}

}  // namespace sinter::codegen
