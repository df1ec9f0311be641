// How the kernels of a step are divided among modules.
#pragma once

#include <algorithm>
#include <vector>

#include "codegen/schedule.h"

namespace sinter::codegen {

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

}  // namespace sinter::codegen
