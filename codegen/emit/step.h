// A step as LLVM modules.
#pragma once

#include <vector>

#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

/// Name of the function that the launcher calls.
inline constexpr const char* step_name = "sinter_step";

/// The module, of so many, of each kernel, by number of the kernel: modules are compiled in parallel.
std::vector<std::size_t> divide_kernels(const Schedule& schedule, std::size_t parts);

/// Emits a function for each kernel of a part; part 0 also holds `void sinter_step(StepContext*, i32 thread)`. With `profile`,
/// StepContext::span is called for each call of a kernel.
void emit_part(EmitContext& context, const std::vector<std::size_t>& part_of, std::size_t part, bool profile);

}  // namespace sinter::codegen
