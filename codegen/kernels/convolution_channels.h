// Depthwise convolutions, of one feature a channel, whose taps are too many to be unrolled: channels lie in the lanes of vectors, and each result is
// computed on its own.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// The results of a conv2d or conv2d_transpose, into the kernel's memory.
void collect_channels(Emitter& e);
/// This chunk's part of a conv2d_weight, into its slot.
void sum_channels_weight(Emitter& e);

}  // namespace sinter::codegen
