#include "passes/passes.h"
#include "passes/scans.h"

namespace sinter::passes {

namespace {

/// Runs what `pick` gives for each pass on the steps of the graph's loops over time. Returns whether there are any.
template <class F>
bool run_on_steps(ir::Graph& graph, PassContext& context, const F& pick) {
  const std::vector<ir::NodeId> scans = scans_of(graph);
  for (const ir::NodeId id : scans) {
    ir::Graph body = scan_of(graph, id).body.graph();
    PassContext inside{context.options, {}};
    for (const Pass& pass : pipeline())
      if (const Pass::Function run = pass.in_steps ? pick(pass) : nullptr)
        if (run(body, inside)) (void)dead_code(body, inside);
    graph.set_body(id, ir::Body(body));
  }
  return !scans.empty();
}

}  // namespace

bool step_bodies(ir::Graph& graph, PassContext& context) {
  return run_on_steps(graph, context, [&](const Pass& pass) { return chosen(pass, context.options); });
}

bool plain_step_bodies(ir::Graph& graph, PassContext& context) {
  return run_on_steps(graph, context, [](const Pass& pass) { return pass.is_needed ? pass.run : pass.plain; });
}

}  // namespace sinter::passes
