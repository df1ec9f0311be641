// How large the chunks of loops are: by shapes, what a unit keeps in memory, and the work that is worth a chunk.
#pragma once

#include <vector>

#include "codegen/schedule.h"
#include "ir/cost.h"

namespace sinter::codegen {

/// Of a schedule whose kernels have all that they read and write.
class ChunkSizes {
 public:
  ChunkSizes(const ir::Graph& graph, const Schedule& schedule);
  Work work_of(const Kernel& kernel) const;
  /// Sets the limits of a loop whose kernels have their work.
  void set(Loop& loop) const;

 private:
  bool is_tap(const Kernel& kernel, const Write& write) const;
  ir::Cost of_touched_rows(const Kernel& scatter, const ir::Cost& all) const;
  void set_parts(Loop& loop) const;
  double kept_bytes(const Loop& loop) const;
  double unit_bytes(const Loop& loop, ValueId value) const;
  std::int64_t samples_of_a_tile(const Loop& loop) const;

  const ir::Graph& graph_;
  const Schedule& s_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by value: kernels
};

}  // namespace sinter::codegen
