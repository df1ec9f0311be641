// Reductions over the same rows become one kernel: what they have in common is read and computed once, and what nothing else reads is not stored.
#pragma once

#include "codegen/schedule.h"

namespace sinter::codegen {

/// Joins the partial reductions of each loop of a schedule that is ordered. Chunks stay as they are, and with them the bytes of all sums.
void join_sums(const ir::Graph& graph, Schedule& schedule);

}  // namespace sinter::codegen
