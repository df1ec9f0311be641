// A step as LLVM modules.
#pragma once

#include <algorithm>
#include <vector>

#include "codegen/emit/emitter.h"
#include "ir/step.h"

namespace sinter::codegen {

/// Name of the function that the launcher calls.
inline constexpr const char* step_name = "sinter_step";
/// An attribute of that function, and of the functions of stages that it calls by a table.
inline constexpr const char* called_by_launcher = "sinter-called-by-launcher";

/// Which code each kernel of a step has, and where it is. Parts are modules, which are compiled in parallel.
struct Division {
  std::vector<std::size_t> code_of;  ///< by kernel: the first kernel with the same code
  std::vector<std::size_t> part_of;  ///< by kernel with code of its own
  std::size_t kernel_parts = 1;      ///< the first parts, which hold kernels
  std::size_t step_part = 0;         ///< holds the entry and the stages: the first one, or another behind those of the kernels
  std::size_t parts() const { return std::max(kernel_parts, step_part + 1); }
  /// Whether kernels and stages are in different parts.
  bool is_apart() const { return step_part == kernel_parts; }
};
/// Kernels in `parts` parts, and the stages in one of their own or in the first of those.
Division divide_kernels(const Schedule& schedule, std::vector<std::size_t> code_of, std::size_t parts, bool stages_apart);

/// The stages of a step. Those of checked steps have more: pieces are finished in one of their own.
std::vector<StageSpec> stages_of(const Schedule& schedule, bool checked);
/// Sets of counters that a step needs: one for each loop whose pieces are finished.
std::size_t counters_of(const Schedule& schedule);
/// Emits the functions of a part; one also holds the step's entry (StepEntry). With `profile`, StepContext::span is called for each call of a
/// kernel.
void emit_part(EmitContext& context, const Division& division, std::size_t part, bool profile);

}  // namespace sinter::codegen
