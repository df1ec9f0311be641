// Scatters that compute what follows them only for the rows to which they add something (ir::Node::touched_by).
#pragma once

#include "codegen/schedule.h"

namespace sinter::codegen {

/// Finds these kernels of a schedule that says where states are overwritten, and gives them their memory.
void mark_touched_rows(const ir::Graph& graph, Schedule& schedule);

}  // namespace sinter::codegen
