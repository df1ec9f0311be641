// A step as LLVM modules.
#pragma once

#include "codegen/emit/division.h"
#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// Name of the function that the launcher calls.
inline constexpr const char* step_name = "sinter_step";
/// An attribute of that function, and of the functions of stages that it calls by a table.
inline constexpr const char* called_by_launcher = "sinter-called-by-launcher";

/// Emits the functions of a part; one also holds the step's entry (StepEntry). With `profile`, StepContext::span is called for each call of a
/// kernel.
void emit_part(EmitContext& context, const Division& division, std::size_t part, bool profile);

}  // namespace sinter::codegen
