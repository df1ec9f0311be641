#include "codegen/emit/stages.h"

#include <algorithm>

#include "codegen/scan_plan.h"

namespace sinter::codegen {

namespace {

/// Whether the pieces of a loop are finished in a stage of their own. Steps that are not checked leave it to whoever computes the last part of each.
bool is_finished_apart(const Schedule& schedule, const Phase& phase, bool checked) {
  return checked && std::any_of(phase.loops.begin(), phase.loops.end(), [&](const Loop& loop) { return finisher(schedule, loop) != no_kernel; });
}

}  // namespace

std::vector<PhaseStage> list_stages(const Schedule& schedule, bool checked) {
  std::vector<PhaseStage> stages;
  for (std::size_t p = 0; p < schedule.phases.size(); ++p) {
    const Phase& phase = schedule.phases[p];
    for (std::size_t number = 0; number < std::max<std::size_t>(phase.stages, 1); ++number) stages.push_back({p, number});
    if (is_finished_apart(schedule, phase, checked)) stages.push_back({p, 0, true});
    for (const Loop& loop : phase.loops)
      if (const Kernel& kernel = schedule.kernels[loop.kernels.front()]; kernel.cuts_steps())
        for (std::size_t section = 0; section < kernel.scan->sections(); ++section) stages.push_back({p, 0, false, &loop, section});
  }
  return stages;
}

std::vector<StageSpec> stages_of(const Schedule& schedule, bool checked) {
  std::vector<StageSpec> stages;
  for (const PhaseStage& stage : list_stages(schedule, checked)) {
    const auto phase = static_cast<std::uint32_t>(stage.phase);
    if (!stages.empty()) stages.back().last = stages.back().phase != phase;
    stages.push_back({phase, true});
    if (!stage.over_time) continue;
    const ScanPlan& plan = *schedule.kernels[stage.over_time->kernels.front()].scan;
    if (!plan.stage_of(stage.section)) continue;
    stages.back().repeats = plan.length;
    stages.back().turn = static_cast<std::uint32_t>(stage.section - 1);
    stages.back().turns_back = stage.section == plan.stages.size();
  }
  return stages;
}

std::size_t counters_of(const Schedule& schedule) {
  std::size_t count = 0;
  for (const Phase& phase : schedule.phases)
    for (const Loop& loop : phase.loops) count += finisher(schedule, loop) != no_kernel;
  return count;
}

}  // namespace sinter::codegen
