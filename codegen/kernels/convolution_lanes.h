// Convolutions of groups of few channels, depthwise ones among them (has_groups_in_lanes): channels of several groups lie in the lanes of vectors,
// and a few pixels of a row in registers.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// conv2d and conv2d_transpose, followed by the rest of the kernel: results stay in registers between.
void emit_lanes(Emitter& e);
/// Rows [begin, end) of the packed kernel.
void emit_lanes_pack(Emitter& e);
/// This chunk's part of a conv2d_weight, into its slot.
void emit_lanes_weight(Emitter& e);

}  // namespace sinter::codegen
