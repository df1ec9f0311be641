#include "passes/passes.h"

namespace sinter::passes {

bool dead_code(ir::Graph& graph, PassContext&) { return !graph.erase_dead().empty(); }

}  // namespace sinter::passes
