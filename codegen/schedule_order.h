// The second half of making a schedule: from kernels with their reads and writes to phases of loops.
#pragma once

#include "codegen/schedule.h"

namespace sinter::codegen {

/// Decides where states are overwritten, which kernels run in which phase and loop, and how large chunks are.
void order_kernels(const ir::Graph& graph, Schedule& schedule);

}  // namespace sinter::codegen
