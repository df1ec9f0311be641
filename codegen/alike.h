// Kernels that have the same code: deep networks repeat a few.
#pragma once

#include <vector>

#include "codegen/memory_plan.h"
#include "codegen/schedule.h"

namespace sinter::codegen {

/// For each kernel the first whose code is the same: alike are those that compute the same from operands of the same types, in the same places among
/// the function's arguments, in loops of equal chunks.
std::vector<std::size_t> alike_kernels(const ir::Graph& graph, const Schedule& schedule, const MemoryPlan& plan);

}  // namespace sinter::codegen
