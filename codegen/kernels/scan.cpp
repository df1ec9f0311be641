// Loops over time: where the memory of a step lies, and how threads may share it; codegen/kernels/scan_emit.h has their code.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_plan.h"
#include "codegen/kernels/scan_emit.h"
#include "codegen/planner.h"
#include "codegen/scan_plan.h"
#include "ir/scan.h"

namespace sinter::codegen {

using ir::NodeId;

namespace {

bool leads(const Shape& shape) { return shape.rank() && shape[0].is_batch(); }

/// Lays out the memory of a step: which values of the kernel its buffers are.
class StepMemory {
 public:
  StepMemory(Planner& planner, Kernel& kernel, ScanPlan& plan)
      : planner_(planner), graph_(planner.graph()), kernel_(kernel), plan_(plan), scan_(std::get<ir::Scan>(graph_.node(kernel.anchor).op)) {}

  void run() {
    Schedule& step = plan_.schedule;
    for (StoredValue& value : step.values)
      if (value.home == StoredValue::Home::output && value.index >= scan_.carry_count() && !result_of(value)) value.length = 0;  // in no sequence
    plan_.carries.resize(scan_.carry_count());
    plan_.plan.buffer_of.resize(step.values.size());
    std::map<ValueId, Memory> own;  // memory of the step's kernels
    for (const Kernel& kernel : step.kernels)
      for (const Memory& memory : kernel.memory) own.emplace(memory.value, memory);
    for (ValueId v = 0; v < step.values.size(); ++v) {
      if (step.values[v].base != no_value) continue;
      plan_.plan.buffer_of[v] = static_cast<std::uint32_t>(plan_.plan.buffers.size());
      const StoredValue& value = step.values[v];
      BufferSpec buffer;
      buffer.type = value.type;
      buffer.name = value.name;
      buffer.index = value.index;
      plan_.plan.buffers.push_back(std::move(buffer));
      plan_.outer.push_back(place(value, own.contains(v) ? &own.at(v) : nullptr));
    }
    for (ValueId v = 0; v < step.values.size(); ++v) plan_.plan.buffer_of[v] = plan_.plan.buffer_of[step.memory_of(v)];
  }

 private:
  ValueId temporary(const StoredValue& value, bool of_call = false) {
    if (!leads(value.type.shape) && !value.type.shape.is_fixed())
      throw UserError(graph_.node(kernel_.anchor).origin.text(),
                      str("scan: a step computes ", value.type, ", which is the same for all samples; compute it before the scan"));
    const ValueId made = planner_.temporary(value.type, str("step ", kernel_.anchor, " ", value.name));
    kernel_.memory.push_back({Memory::step, made, of_call || !leads(value.type.shape)});
    return made;
  }

  /// Where an output of the step is stacked; null if nothing reads it.
  const Write* result_of(const StoredValue& output) const {
    const auto found = std::find_if(kernel_.writes.begin(), kernel_.writes.end(),
                                    [&](const Write& write) { return std::get<ir::ScanResult>(graph_.node(write.node).op).index == output.index; });
    return found == kernel_.writes.end() ? nullptr : std::to_address(found);
  }

  ValueId place(const StoredValue& value, const Memory* own) {
    const std::size_t carries = scan_.carry_count();
    if (value.home == StoredValue::Home::memory) {
      if (own && own->purpose == Memory::packed) {  // written before the loop
        const ValueId made = planner_.temporary(value.type, str("packed of step ", kernel_.anchor));
        kernel_.memory.push_back({Memory::packed, made});
        return made;
      }
      return temporary(value, own && own->of_call);
    }
    if (value.home == StoredValue::Home::input) {
      const NodeId operand = graph_.node(kernel_.anchor).inputs[value.index];
      const ValueId stored = planner_.value_of(operand);
      if (value.index < carries) {
        plan_.carries[value.index].first = stored;
        return plan_.carries[value.index].before = temporary(value);
      }
      if (stored == no_value) {
        const ValueId made = temporary(value, true);
        plan_.scalars.push_back({operand, made});
        return made;
      }
      const bool is_sequence = value.index < carries + scan_.sequence_count();
      if (!is_sequence || !is_flat(value.type.shape)) return stored;
      const ValueId made = temporary(value);
      plan_.strided.push_back({made, stored, true});
      return made;
    }
    // An output.
    if (value.index < carries) return plan_.carries[value.index].after = temporary(value);
    const Write* result = result_of(value);
    if (!result) return temporary(value);
    if (!is_flat(value.type.shape)) return result->value;
    const ValueId made = temporary(value);
    plan_.strided.push_back({made, result->value, false});
    return made;
  }

  Planner& planner_;
  const ir::Graph& graph_;
  Kernel& kernel_;
  ScanPlan& plan_;
  const ir::Scan& scan_;
};

/// Elements of all that was packed for the step, which each chunk reads in each step.
std::int64_t packed_elements(const Schedule& step) {
  std::int64_t elements = 0;
  for (const Kernel& of_step : step.kernels)
    if (of_step.is<Kernel::Pack>()) elements += step.values[of_step.memory_for(Memory::packed)].type.shape.elements().factor();
  return elements;
}

/// Takes the kernels out of `waiting` whose results a kernel of the step needs.
std::vector<std::size_t> take_needed(const Schedule& step, std::size_t by, std::vector<std::size_t>& waiting) {
  std::set<ValueId> needed;
  const auto add_reads = [&](std::size_t k) {
    for (const Read& read : step.kernels[k].reads) needed.insert(step.memory_of(read.value));
  };
  add_reads(by);
  std::vector<std::size_t> taken;
  for (std::size_t i = waiting.size(); i-- > 0;) {
    const std::vector<Write>& writes = step.kernels[waiting[i]].writes;
    if (std::none_of(writes.begin(), writes.end(), [&](const Write& write) { return needed.contains(step.memory_of(write.value)); })) continue;
    add_reads(waiting[i]);
    taken.insert(taken.begin(), waiting[i]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return taken;
}

/// One stage; or, where steps may be cut and products are, several: as few as may be.
std::vector<ScanPlan::Stage> step_stages(const ScanPlan& plan, std::vector<std::size_t> order, bool may_cut) {
  const auto pieces = [&](std::size_t k) {
    const Cut& cut = plan.schedule.kernels[k].cut;
    return cut.along == Cut::Along::columns ? cut.of_each_range() : 1;
  };
  if (!may_cut || std::all_of(order.begin(), order.end(), [&](std::size_t k) { return pieces(k) == 1; })) return {{std::move(order)}};
  std::vector<ScanPlan::Stage> stages;
  std::vector<std::size_t> waiting;
  for (const std::size_t k : order) {
    if (pieces(k) == 1) {
      waiting.push_back(k);
      continue;
    }
    std::vector<std::size_t> before = take_needed(plan.schedule, k, waiting);
    if (!before.empty() || (stages.empty() && !plan.strided.empty())) stages.push_back({std::move(before)});
    stages.push_back({{k}, pieces(k)});
  }
  stages.push_back({std::move(waiting)});  // and copies the carries
  const auto needs_none = [&](std::size_t k) { return plan.schedule.kernels[k].domain.samples && plan.schedule.kernels[k].memory.empty(); };
  for (ScanPlan::Stage& stage : stages) stage.divides_samples = std::all_of(stage.kernels.begin(), stage.kernels.end(), needs_none);
  return stages;
}

}  // namespace

void ScanKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Graph& graph = planner.graph();
  const auto& scan = std::get<ir::Scan>(graph.node(kernel.anchor).op);
  auto plan = std::make_shared<ScanPlan>();
  plan->schedule = make_step_schedule(scan);
  const Schedule& step = plan->schedule;
  const Dim samples = ir::samples_of(scan.body.graph(), scan.carry_count(), scan.sequence_count());
  kernel.domain = samples.is_batch() ? Domain{Dim::batch(), true} : Domain{};
  StepMemory(planner, kernel, *plan).run();
  std::vector<std::size_t> order;
  // What the step's kernels read packed does not change from step to step: it is packed before the loop.
  for (const Phase& phase : step.phases)
    for (const Loop& loop : phase.loops)
      for (const std::size_t k : loop.kernels) {
        const Kernel& of_step = step.kernels[k];
        if (!of_step.is<Kernel::Pack>()) {
          order.push_back(k);
          continue;
        }
        const auto outer = [&](ValueId value) { return plan->outer[plan->plan.buffer_of[value]]; };
        Kernel pack;
        pack.role = of_step.role;
        pack.kind = kernel.kind;
        pack.group = kernel.group;
        pack.anchor = kernel.anchor;
        pack.shape = of_step.shape;
        pack.domain = planner.domain_of(of_step.shape);
        pack.reads = {{.value = outer(of_step.reads.front().value), .same_rows = of_step.reads.front().same_rows}};
        pack.memory = {{Memory::packed, outer(of_step.memory_for(Memory::packed))}};
        pack.scan = plan;
        pack.of_step = k;
        planner.add(std::move(pack));
      }
  plan->length = scan.length;
  const bool may_cut = kernel.domain.samples && !planner.is_step() && packed_elements(step) >= much_elements;
  plan->stages = step_stages(*plan, std::move(order), may_cut);
  kernel.scan = std::move(plan);
  planner.add(std::move(kernel));
}

void ScanKernel::limit(const ir::Graph&, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const {
  if (kernel.is<Kernel::Pack>() || !domain.samples) return;
  // The more each step reads, the more samples a chunk should have.
  const bool much = packed_elements(kernel.scan->schedule) >= much_elements;
  const std::int64_t samples = much ? 2 * step_rows : step_rows;
  limits.granule = step_rows;
  if (much) {
    limits.joined = 4;
    limits.spread = true;
  }
  limits.least = std::max(limits.least, samples);
  limits.most = std::max(limits.most, samples);
}

void ScanKernel::emit(Emitter& e) const { emit_scan(e); }

}  // namespace sinter::codegen
