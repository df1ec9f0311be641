// Elementwise kernels whose rows lie without padding, in inputs and outputs: the next row's first element follows a row's last, and vectors
// cross from one into the other.
#pragma once

#include "codegen/schedule.h"

namespace sinter::codegen {

class Emitter;

/// Whether all that a kernel reads and writes is of such rows, a row that is repeated, or one number. It has no anchor.
bool are_unpadded_rows(const ir::Graph& graph, const Schedule& schedule, const Kernel& kernel);
void emit_unpadded_rows(Emitter& e);

}  // namespace sinter::codegen
