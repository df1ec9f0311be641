// The memory of each value of a schedule: every buffer is a number of bytes for each unit of its arena, planned once.
#pragma once

#include "codegen/schedule.h"
#include "ir/step.h"

namespace sinter::codegen {

struct MemoryPlan {
  std::vector<BufferSpec> buffers;
  std::vector<char> serves_chunk;        ///< by buffer: chunk scratch that does not hold the chunk's rows, but is one for each call of the kernel
  std::vector<std::uint32_t> buffer_of;  ///< by value; values that always share memory (old and new state) share a buffer
  std::vector<Arena> arenas;
  std::int64_t scratch_bytes = 0;
};

/// The buffers that a kernel reads and writes, each once: the order of its function's pointer arguments.
std::vector<std::uint32_t> buffers_of(const Kernel& kernel, const MemoryPlan& plan);

/// `separate`: no two values share memory and none is in chunk scratch.
MemoryPlan plan_memory(const Schedule& schedule, bool separate);
std::string to_text(const Schedule& schedule, const MemoryPlan& plan);

}  // namespace sinter::codegen
