// A step as LLVM modules.
#pragma once

#include <vector>

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// Name of the function that the launcher calls.
inline constexpr const char* step_name = "sinter_step";

/// Which code each kernel of a step has, and where it is.
struct Division {
  std::vector<std::size_t> code_of;  ///< by kernel: the first kernel with the same code
  std::vector<std::size_t> part_of;  ///< by kernel with code of its own: the module, of so many. They are compiled in parallel
};
Division divide_kernels(const Schedule& schedule, std::vector<std::size_t> code_of, std::size_t parts);

/// Sets of counters that a step needs: a set counts the chunks of a phase, the parts of a single sample, or the finished parts of each piece of a
/// loop.
std::size_t claims_of(const Schedule& schedule);
/// Emits the functions of a part; part 0 also holds `void sinter_step(StepContext*, i32 thread)`. With `profile`, StepContext::span is called for
/// each call of a kernel.
void emit_part(EmitContext& context, const Division& division, std::size_t part, bool profile);

}  // namespace sinter::codegen
