#include "passes/padding.h"
#include "passes/passes.h"

namespace sinter::passes {

bool touched_rows(ir::Graph& graph, PassContext& context) {
  std::size_t count = 0;
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    const auto* scatter = graph.op_as<ir::ScatterAddRows>(id);
    if (!scatter || graph.node(id).dead || scatter->rows < 2) continue;
    // What the other values are in rows of the table where this one is 0.
    Padding values(graph, scatter->rows, ir::no_node);
    values.set_zero(id);
    values.find_values();
    for (std::size_t i = 0; i < graph.states().size(); ++i) {
      const ir::NodeId update = graph.updates()[i], state = graph.state_node(i);
      if (update == ir::no_node || update == state || !values.is_that_of(update, state)) continue;
      graph.set_touched_by(i, id);
      ++count;
    }
  }
  if (count) context.notes.push_back(str(counted(count, "table changes", "tables change"), " only in the rows to which a gradient is added"));
  return count > 0;
}

}  // namespace sinter::passes
