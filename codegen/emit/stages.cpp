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
    for (std::size_t l = 0; l < phase.loops.size(); ++l)
      if (const Kernel& kernel = schedule.kernels[phase.loops[l].kernels.front()]; kernel.cuts_steps())
        for (std::size_t part = 0; part < kernel.scan->parts(); ++part) stages.push_back({p, 0, false, l, part});
  }
  return stages;
}

std::vector<StageSpec> stages_of(const Schedule& schedule, bool checked) {
  std::vector<StageSpec> stages;
  for (const PhaseStage& stage : list_stages(schedule, checked)) {
    const auto phase = static_cast<std::uint32_t>(stage.phase);
    if (!stages.empty()) stages.back().last = stages.back().phase != phase;
    stages.push_back({phase, true});
    if (stage.loop == PhaseStage::no_loop) continue;
    const ScanPlan& plan = *schedule.kernels[schedule.phases[stage.phase].loops[stage.loop].kernels.front()].scan;
    if (stage.part == 0 || stage.part > plan.stages.size()) continue;
    stages.back().repeats = plan.length;
    stages.back().turn = static_cast<std::uint32_t>(stage.part - 1);
    stages.back().turns_back = stage.part == plan.stages.size();
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
