// Kernels that skip the padding of sequences (ir::Padding).
#pragma once

#include "codegen/schedule.h"

namespace sinter::codegen {

/// Gives the kernels of a schedule that need not compute the padding of sequences their masks (Kernel::mask), before they are ordered.
void mark_padding(const ir::Graph& graph, Schedule& schedule);
/// Of a schedule that is ordered: drops zeros that no kernel reads.
void limit_zeros(Schedule& schedule);

}  // namespace sinter::codegen
