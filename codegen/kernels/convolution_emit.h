// The code of convolutions of one group, computed with tiles; see codegen/kernels/convolution_plan.h.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// conv2d.
void emit_convolution(Emitter& e);
/// Features [begin, end) of a narrow kernel, feature by feature.
void emit_narrow_pack(Emitter& e);
/// conv2d_transpose, and rows [begin, end) of the kernel as it reads it.
void emit_convolution_adjoint(Emitter& e);
void emit_convolution_pack(Emitter& e);
/// This chunk's part of a conv2d_weight, into its slot.
void emit_convolution_weight(Emitter& e);

}  // namespace sinter::codegen
