// Convolutions of several groups.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// The results of a conv2d or conv2d_transpose, into the kernel's memory.
void collect_grouped(Emitter& e);
/// This chunk's part of a conv2d_weight, into its slot.
void sum_grouped_weight(Emitter& e);

}  // namespace sinter::codegen
