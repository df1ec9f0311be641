// What a loop over time is in a schedule: a schedule of its step, whose values lie in memory of the loop's kernel.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/memory_plan.h"
#include "codegen/schedule.h"

namespace sinter::codegen {

struct ScanPlan {
  /// Memory of the step that is written to, or read from, for each step, because vectors of it lie apart in a sequence: [N] in [N, length].
  struct Strided {
    ValueId memory, sequence;  ///< of the kernel
    bool is_read;
  };
  /// A carry: what it is before and after the step, and before the first.
  struct Carry {
    ValueId before, after, first;  ///< of the kernel
  };
  /// A scalar that the loop computes for itself once.
  struct Scalar {
    ir::NodeId node;
    ValueId memory;
  };
  Schedule schedule;               ///< of the step; its kernels all run over the samples of a chunk
  std::vector<std::size_t> order;  ///< its kernels, in the order in which they run
  MemoryPlan plan;                 ///< its buffers
  std::vector<ValueId> outer;      ///< by buffer: the kernel's value in whose memory it lies
  std::vector<Carry> carries;
  std::vector<Strided> strided;
  std::vector<Scalar> scalars;
};

}  // namespace sinter::codegen
