#include "passes/passes.h"
#include "passes/scans.h"

namespace sinter::passes {

bool step_bodies(ir::Graph& graph, PassContext& context) {
  using Pass = bool (*)(ir::Graph&, PassContext&);
  static constexpr Pass passes[] = {constant_fold, simplify,     log_softmax, fold_transpose, common_subexpressions,
                                    fold_bias,     split_concat, step_bodies, group};
  const std::vector<ir::NodeId> scans = scans_of(graph);
  for (const ir::NodeId id : scans) {
    ir::Graph body = scan_of(graph, id).body.graph();
    PassContext inside{context.options, {}};
    for (const Pass pass : passes)
      if (pass(body, inside)) (void)dead_code(body, inside);
    graph.set_body(id, ir::Body(body));
  }
  return !scans.empty();
}

}  // namespace sinter::passes
