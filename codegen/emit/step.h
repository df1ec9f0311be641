// The whole step as one LLVM module.
#pragma once

#include <memory>

#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

/// Name of the function that the launcher calls.
inline constexpr const char* step_name = "sinter_step";

/// Emits a function a kernel and `void sinter_step(StepContext*, i32 thread)`. With `profile`, each kernel's cycles are added to StepContext::ticks.
void emit_step(EmitContext& context, bool profile);

}  // namespace sinter::codegen
