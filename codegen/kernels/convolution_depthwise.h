// Depthwise convolutions whose taps are unrolled (tiles_depthwise): channels lie in the lanes of vectors and a few pixels of a row in registers.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// conv2d and conv2d_transpose, followed by the rest of the kernel: results stay in registers between.
void emit_depthwise(Emitter& e);
/// This chunk's part of a conv2d_weight, into its slot.
void emit_depthwise_weight(Emitter& e);

}  // namespace sinter::codegen
