// Convolutions with few multiplications.
#pragma once

#include "codegen/emit/emitter.h"
#include "codegen/kernels/winograd_plan.h"

namespace sinter::codegen {

/// The code of any kernel of such a convolution but of the one that combines slots.
void emit_winograd(Emitter& e, const WinogradPlan& plan);

}  // namespace sinter::codegen
