// The stages of a step: which there are, and what the launcher is told of them.
#pragma once

#include <vector>

#include "codegen/schedule.h"

namespace sinter::codegen {

/// A part of a phase. Samples are whole unless they are cut: then the loops in which they are not, and the pieces of number 0, are stage 0.
struct PhaseStage {
  std::size_t phase;
  std::size_t number = 0;           ///< of the phase's stages with pieces of samples
  bool finishing = false;           ///< of the pieces of loops, in a checked step
  const Loop* over_time = nullptr;  ///< a loop whose steps are cut, of which the stage is a section (ScanPlan::sections)
  std::size_t section = 0;
};

/// The stages of a step, in their order. Those of checked steps have more: pieces are finished in one of their own.
std::vector<PhaseStage> list_stages(const Schedule& schedule, bool checked);
/// The same as the launcher sees them.
std::vector<StageSpec> stages_of(const Schedule& schedule, bool checked);
/// Sets of counters that a step needs: one for each loop whose pieces are finished.
std::size_t counters_of(const Schedule& schedule);

}  // namespace sinter::codegen
