// Loops over time: for each chunk of samples, a loop that calls the kernels of the step one after the other.
#include "codegen/scan_plan.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_plan.h"
#include "codegen/planner.h"
#include "ir/scan.h"

namespace sinter::codegen {

using ir::NodeId;
using llvm::Value;

namespace {

const ir::Scan& scan_of(const ir::Graph& graph, const Kernel& kernel) { return std::get<ir::Scan>(graph.node(kernel.anchor).op); }

bool leads(const Shape& shape) { return shape.rank() && shape[0].is_batch(); }

/// Lays out the memory of a step: which values of the kernel its buffers are.
class StepMemory {
 public:
  StepMemory(Planner& planner, Kernel& kernel, ScanPlan& plan)
      : planner_(planner), graph_(planner.graph()), kernel_(kernel), plan_(plan), scan_(scan_of(graph_, kernel)) {}

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
std::vector<ScanPlan::Stage> stages_of(const ScanPlan& plan, std::vector<std::size_t> order, bool may_cut) {
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
  const ir::Scan& scan = scan_of(graph, kernel);
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
  plan->stages = stages_of(*plan, std::move(order), may_cut);
  kernel.scan = std::move(plan);
  planner.add(std::move(kernel));
}

namespace {

class ScanEmitter {
 public:
  explicit ScanEmitter(Emitter& emitter)
      : e_(emitter), b_(emitter.builder()), plan_(*emitter.kernel().scan), scan_(scan_of(e_.graph(), e_.kernel())) {}

  void emit() {
    begin();
    Value* length = e_.extent(scan_.length);
    const Range steps = e_.kernel().mask ? masked_steps(length) : Range{e_.number(0), length};
    e_.loop(steps.first, steps.last, 1, [&](Value* i) {
      for (const ScanPlan::Stage& stage : plan_.stages) run(stage, step_at(i, steps), length);
    });
    end(steps, length);
  }

  /// What comes before the first step of a loop whose steps are cut, a stage of one, or what comes after the last.
  void emit_part(std::size_t part) {
    if (part == 0) return begin();
    Value* length = e_.extent(scan_.length);
    const Range steps = e_.kernel().mask ? masked_steps(length) : Range{e_.number(0), length};
    if (part > plan_.stages.size()) return end(steps, length);
    Value* i = e_.field(offsetof(StepContext, repeat), b_.getInt64Ty());
    e_.when(b_.CreateAnd(b_.CreateICmpSGE(i, steps.first), b_.CreateICmpSLT(i, steps.last)),
            [&] { run(plan_.stages[part - 1], step_at(i, steps), length); });
  }

  /// One of the step's kernels, which packs what does not change from step to step.
  void emit_pack() {
    const std::size_t k = e_.kernel().of_step;
    const Kernel& kernel = plan_.schedule.kernels[k];
    llvm::Function* function = e_.emit_step_kernel(k);
    call_over(kernel, function, {e_.begin(), e_.end()}, {e_.number(0), e_.number(kernel.cut.pieces)}, nullptr);
  }

 private:
  Dim rows_of_sample(const Shape& shape) const { return symbolic_layout(shape).rows.per_sample(); }
  bool over_samples() const { return e_.kernel().domain.samples; }

  /// The chunk's rows of tensors of this shape.
  Rows rows_of(const Shape& shape) {
    const Dim all = symbolic_layout(shape).rows;
    if (!over_samples()) return {e_.number(0), e_.extent(all)};
    Value* own = e_.extent(rows_of_sample(shape));
    return {b_.CreateMul(e_.begin(), own), b_.CreateMul(e_.end(), own)};
  }

  void begin() {
    for (const ScanPlan::Scalar& scalar : plan_.scalars) {
      const Vec x = e_.evaluate_scalar(scalar.node);
      e_.store(x, scalar.memory, {e_.number(0), e_.number(0)});
    }
    for (const ScanPlan::Carry& carry : plan_.carries) copy(carry.first, carry.before);
  }

  /// The i-th step of those that are computed.
  Value* step_at(Value* i, Range steps) {
    return scan_.reverse ? b_.CreateSub(b_.CreateSub(b_.CreateAdd(steps.first, steps.last), e_.number(1)), i) : i;
  }

  void run(const ScanPlan::Stage& stage, Value* t, Value* length) {
    const bool is_first = &stage == &plan_.stages.front(), is_last = &stage == &plan_.stages.back();
    for (const ScanPlan::Strided& each : plan_.strided)
      if (each.is_read && is_first) copy_elements(each, t, length);
    for (const std::size_t k : stage.kernels) call(plan_.schedule.kernels[k], e_.emit_step_kernel(k), t, e_.part() && stage.pieces > 1);
    if (!is_last) return;
    for (const ScanPlan::Strided& each : plan_.strided)
      if (!each.is_read) copy_elements(each, t, length);
    for (const ScanPlan::Carry& carry : plan_.carries) copy(carry.after, carry.before);
  }

  void end(Range steps, Value* length) {
    if (e_.kernel().mask) store_zeros(steps, length);
    write_results();
  }

  bool is_carry(const Write& write) const { return std::get<ir::ScanResult>(e_.graph().node(write.node).op).index < scan_.carries; }

  /// The steps that the mask has of any of the chunk's samples.
  Range masked_steps(Value* length) {
    llvm::AllocaInst *first = e_.variable(b_.getInt64Ty(), "first"), *last = e_.variable(b_.getInt64Ty(), "last");
    const auto value = [&](llvm::AllocaInst* of) { return b_.CreateLoad(b_.getInt64Ty(), of); };
    b_.CreateStore(length, first);
    b_.CreateStore(e_.number(0), last);
    e_.loop(e_.begin(), e_.end(), 1, [&](Value* sample) {
      const Range own = e_.masked_steps(sample);
      e_.when(b_.CreateICmpSLT(own.first, own.last), [&] {
        b_.CreateStore(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value(first), own.first), first);
        b_.CreateStore(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value(last), own.last), last);
      });
    });
    return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value(first), value(last)), value(last)};
  }

  /// Of what is stacked, in all steps but these.
  void store_zeros(Range steps, Value* length) {
    for (const ValueId value : e_.kernel().mask->zeros) {
      const Type& type = e_.stored(value).type;
      Value* each = e_.extent(type.shape.product(2, type.shape.rank()));  // elements of a step
      Value* zero = llvm::Constant::getNullValue(e_.memory_type(type.dtype, 1));
      e_.loop(e_.begin(), e_.end(), 1, [&](Value* sample) {
        const auto element = [&](Value* step) { return b_.CreateMul(b_.CreateAdd(b_.CreateMul(sample, length), step), each); };
        const auto store = [&](Value* i) { b_.CreateStore(zero, e_.element_address(value, i)); };
        e_.loop(element(e_.number(0)), element(steps.first), 1, store);
        e_.loop(element(steps.last), element(length), 1, store);
      });
    }
  }

  void copy(ValueId from, ValueId to) {
    const Type& type = e_.stored(to).type;
    e_.for_each_site(type.shape, rows_of(type.shape), false,
                     [&](const Site& site) { e_.store(e_.load(e_.address(from, site.row, site.last), type.dtype, site.width), to, site); });
  }

  /// A step's elements, one by one, between a sequence and adjacent memory.
  void copy_elements(const ScanPlan::Strided& of, Value* t, Value* length) {
    const Type& type = e_.stored(of.memory).type;
    const Rows rows = rows_of(type.shape);
    Value* each = e_.extent(rows_of_sample(type.shape));
    if (!over_samples()) each = e_.extent(quotient(symbolic_layout(type.shape).rows, type.shape[0]).value());
    e_.loop(rows.first, rows.last, 1, [&](Value* i) {
      Value* n = b_.CreateUDiv(i, each);
      Value* at = b_.CreateAdd(b_.CreateMul(b_.CreateAdd(b_.CreateMul(n, length), t), each), b_.CreateURem(i, each));
      Value *in_sequence = e_.element_address(of.sequence, at), *in_memory = e_.address(of.memory, e_.number(0), i);
      Value* x = b_.CreateLoad(e_.memory_type(type.dtype, 1), of.is_read ? in_sequence : in_memory);
      b_.CreateStore(x, of.is_read ? in_memory : in_sequence);
    });
  }

  /// A kernel of the step, over the chunk's samples; of each its pieces that the call has if `has_pieces`, else all. Each buffer of a sequence begins
  /// at the row of step t of the first sample.
  void call(const Kernel& kernel, llvm::Function* function, Value* t, bool has_pieces) {
    const Range pieces = has_pieces ? Range{e_.piece_begin(), e_.piece_end()} : Range{e_.number(0), e_.number(kernel.cut.pieces)};
    if (kernel.domain.samples) return call_over(kernel, function, {e_.begin(), e_.end()}, pieces, t);
    call_over(kernel, function, {e_.number(0), e_.extent(kernel.domain.units)}, pieces, t);
  }
  void call_over(const Kernel& kernel, llvm::Function* function, Range units, Range pieces, Value* t) {
    std::vector<Value*> arguments;
    for (const std::uint32_t buffer : buffers_of(kernel, plan_.plan)) arguments.push_back(base(buffer, t));
    arguments.insert(arguments.end(), {units.first, units.last, e_.chunk(), pieces.first, pieces.last});
    e_.add_step_arguments(arguments);
    b_.CreateCall(function, arguments);
  }
  Value* base(std::uint32_t buffer, Value* t) {
    const auto in_step = std::find(plan_.plan.buffer_of.begin(), plan_.plan.buffer_of.end(), buffer) - plan_.plan.buffer_of.begin();
    const StoredValue& value = plan_.schedule.values[plan_.schedule.memory_of(static_cast<ValueId>(in_step))];
    Value* from = e_.pointer(plan_.outer[buffer]);
    if (value.length == Dim(0) || !t) return from;
    const SymbolicLayout at = value.layout();
    const Dim rows = over_samples() ? at.rows.per_sample() : quotient(at.rows, value.type.shape[0]).value();
    return b_.CreateInBoundsGEP(e_.memory_type(value.type.dtype, 1), from, {b_.CreateMul(t, e_.extent(rows * at.stride))});
  }

  void write_results() {
    std::map<std::int64_t, ValueId> first;  // by result: where the loop wrote it
    for (const Write& write : e_.kernel().writes) {
      const std::int64_t index = std::get<ir::ScanResult>(e_.graph().node(write.node).op).index;
      const auto [found, is_first] = first.emplace(index, is_carry(write) ? plan_.carries[static_cast<std::size_t>(index)].before : write.value);
      if (is_carry(write) || !is_first) copy(found->second, write.value);
    }
  }

  Emitter& e_;
  Builder& b_;
  const ScanPlan& plan_;
  const ir::Scan& scan_;
};

}  // namespace

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

void ScanKernel::emit(Emitter& e) const {
  ScanEmitter emitter(e);
  if (e.kernel().is<Kernel::Pack>()) emitter.emit_pack();
  else if (e.part()) emitter.emit_part(*e.part());
  else emitter.emit();
}

}  // namespace sinter::codegen
