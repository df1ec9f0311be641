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
  /// Kernels of the step that run one after the other, of which threads may have samples each if they need no memory; or a product whose pieces
  /// threads may have.
  struct Stage {
    std::vector<std::size_t> kernels;
    std::int64_t pieces = 1;
    bool divides_samples = false;
  };
  Schedule schedule;  ///< of the step; its kernels all run over the samples of a chunk
  /// Its kernels, in the order in which they run. Of several stages, the last one has no pieces, nor has the first one if anything is strided: then
  /// a step of few samples may be cut, with a barrier behind each stage.
  std::vector<Stage> stages;
  MemoryPlan plan;             ///< its buffers
  std::vector<ValueId> outer;  ///< by buffer: the kernel's value in whose memory it lies
  std::vector<Carry> carries;
  std::vector<Strided> strided;
  std::vector<Scalar> scalars;
  Dim length = 1;  ///< steps

  /// The stage that a section is; null for the first and the last.
  const Stage* stage_of(std::size_t section) const { return section > 0 && section <= stages.size() ? &stages[section - 1] : nullptr; }
  std::int64_t most_pieces() const {
    std::int64_t most = 1;
    for (const Stage& stage : stages) most = std::max(most, stage.pieces);
    return most;
  }
  /// Sections of a loop whose steps are cut, each a function: what comes before the first step; the stages of a step; what comes after the last one.
  std::size_t sections() const { return stages.size() > 1 ? stages.size() + 2 : 0; }
};

}  // namespace sinter::codegen
