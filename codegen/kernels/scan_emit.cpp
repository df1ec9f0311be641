#include "codegen/kernels/scan_emit.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "codegen/scan_plan.h"
#include "ir/scan.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class ScanEmitter {
 public:
  explicit ScanEmitter(Emitter& emitter)
      : e_(emitter), b_(emitter.builder()), plan_(*emitter.kernel().scan), scan_(std::get<ir::Scan>(e_.anchor().op)) {}

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
  void emit_section(std::size_t section) {
    if (section == 0) return begin();
    const ScanPlan::Stage* stage = plan_.stage_of(section);
    Value* length = e_.extent(scan_.length);
    const Range steps = e_.kernel().mask ? masked_steps(length) : Range{e_.number(0), length};
    if (!stage) return end(steps, length);
    Value* i = e_.field(offsetof(StepContext, repeat), b_.getInt64Ty());
    e_.when(b_.CreateAnd(b_.CreateICmpSGE(i, steps.first), b_.CreateICmpSLT(i, steps.last)), [&] { run(*stage, step_at(i, steps), length); });
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
    for (const std::size_t k : stage.kernels) call(plan_.schedule.kernels[k], e_.emit_step_kernel(k), t, e_.section() && stage.pieces > 1);
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

void emit_scan(Emitter& e) {
  ScanEmitter emitter(e);
  if (e.kernel().is<Kernel::Pack>()) emitter.emit_pack();
  else if (e.section()) emitter.emit_section(*e.section());
  else emitter.emit();
}

}  // namespace sinter::codegen
