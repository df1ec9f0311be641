// sinter_step: for each phase, threads claim chunks, their own share first, until none is left, then meet at a barrier.
#include "codegen/emit/step.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "ir/step.h"

namespace sinter::codegen {

namespace {

using llvm::Value;

class StepEmitter {
 public:
  StepEmitter(EmitContext& context, bool profile) : context_(context), profile_(profile), b_(context.module.getContext()) {}

  void run(const std::vector<std::size_t>& part_of, std::size_t part) {
    for (std::size_t k = 0; k < part_of.size(); ++k) {
      if (part != 0 && part != part_of[k]) continue;
      KernelEmitter emitter(context_, context_.schedule.kernels[k]);
      functions_.push_back(emitter.declare());
      arguments_.push_back(emitter.arguments());
      if (part == part_of[k]) emitter.emit();
    }
    if (part == 0) emit_entry();
  }

 private:
  void emit_entry() {
    step_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()}, false), llvm::Function::ExternalLinkage,
                                   step_name, context_.module);
    ctx_ = step_->getArg(0);
    thread_ = step_->getArg(1);
    b_.SetInsertPoint(block("entry"));
    n_ = field(offsetof(StepContext, batch), b_.getInt64Ty());
    for (std::size_t p = 0; p < context_.schedule.phases.size(); ++p) emit_phase(p);
    b_.CreateRetVoid();
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_.module.getContext(), name, step_); }
  Value* field(std::size_t offset, llvm::Type* type) { return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), ctx_, offset)); }
  Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }

  void emit_phase(std::size_t p) {
    const Phase& phase = context_.schedule.phases[p];
    // Chunks of each loop, and where they begin in the phase's numbering.
    std::vector<Value*> sizes, firsts;
    Value* total = number(0);
    for (const Loop& loop : phase.loops) {
      Value* units = loop.domain.units.is_batch() ? b_.CreateMul(n_, number(loop.domain.units.factor())) : number(loop.domain.units.factor());
      Value* size = emit_chunk_units(b_, units, loop.limits);
      sizes.push_back(size);
      firsts.push_back(total);
      total = b_.CreateAdd(total, b_.CreateUDiv(b_.CreateAdd(units, b_.CreateSub(size, number(1))), size));
    }
    // Shares: the thread's own first, then those of the threads after it.
    llvm::BasicBlock *before = b_.GetInsertBlock(), *share = block("share"), *claim = block("claim"), *healthy = block("healthy"),
                     *work = block("work"), *next_share = block("next_share"), *done = block("done");
    Value *threads = b_.CreateSExt(field(offsetof(StepContext, threads), b_.getInt32Ty()), b_.getInt64Ty()),
          *self = b_.CreateSExt(thread_, b_.getInt64Ty()), *counters = field(offsetof(StepContext, claims), b_.getPtrTy());
    b_.CreateBr(share);
    b_.SetInsertPoint(share);
    llvm::PHINode* turn = b_.CreatePHI(b_.getInt64Ty(), 2);
    turn->addIncoming(number(0), before);
    Value* sum = b_.CreateAdd(self, turn);
    Value* owner = b_.CreateSelect(b_.CreateICmpUGE(sum, threads), b_.CreateSub(sum, threads), sum);
    Value* from = b_.CreateUDiv(b_.CreateMul(owner, total), threads);
    Value* to = b_.CreateUDiv(b_.CreateMul(b_.CreateAdd(owner, number(1)), total), threads);
    Value* place = b_.CreateAdd(b_.CreateMul(threads, number(static_cast<std::int64_t>(p))), owner);
    Value* counter = b_.CreateInBoundsGEP(b_.getInt32Ty(), counters, {b_.CreateMul(place, number(claim_spacing))});
    b_.CreateBr(claim);
    b_.SetInsertPoint(claim);
    // After a fault nothing more is computed, so that states that are written in later phases keep their values; barriers are still met.
    llvm::LoadInst* fault = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), ctx_, offsetof(StepContext, fault)));
    fault->setAtomic(llvm::AtomicOrdering::Monotonic);
    fault->setAlignment(llvm::Align(4));
    b_.CreateCondBr(b_.CreateICmpEQ(fault, b_.getInt32(0)), healthy, done);
    b_.SetInsertPoint(healthy);
    Value* taken = b_.CreateZExt(
        b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, b_.getInt32(1), llvm::Align(4), llvm::AtomicOrdering::Monotonic), b_.getInt64Ty());
    Value* chunk = b_.CreateAdd(from, taken);
    b_.CreateCondBr(b_.CreateICmpULT(chunk, to), work, next_share);
    b_.SetInsertPoint(next_share);
    Value* next_turn = b_.CreateAdd(turn, number(1));
    turn->addIncoming(next_turn, next_share);
    b_.CreateCondBr(b_.CreateICmpULT(next_turn, threads), share, done);
    b_.SetInsertPoint(work);
    for (std::size_t l = phase.loops.size(); l-- > 0;) {
      llvm::BasicBlock *mine = block("loop"), *next = block("next");
      b_.CreateCondBr(b_.CreateICmpUGE(chunk, firsts[l]), mine, next);
      b_.SetInsertPoint(mine);
      emit_chunk(phase.loops[l], b_.CreateSub(chunk, firsts[l]), sizes[l]);
      b_.CreateBr(claim);
      b_.SetInsertPoint(next);
    }
    b_.CreateBr(claim);
    b_.SetInsertPoint(done);
    if (p + 1 < context_.schedule.phases.size())
      b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()}, false),
                    field(offsetof(StepContext, barrier), b_.getPtrTy()), {ctx_, thread_});
  }

  void emit_chunk(const Loop& loop, Value* chunk, Value* size) {
    Value* units = loop.domain.units.is_batch() ? b_.CreateMul(n_, number(loop.domain.units.factor())) : number(loop.domain.units.factor());
    Value* begin = b_.CreateMul(chunk, size);
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(begin, size), units);
    for (const std::size_t k : loop.kernels) {
      std::vector<Value*> arguments;
      for (const std::uint32_t buffer : arguments_[k]) arguments.push_back(base(buffer, loop, begin));
      arguments.insert(arguments.end(), {begin, end, chunk, n_, ctx_});
      Value* before = profile_ ? clock() : nullptr;
      b_.CreateCall(functions_[k], arguments);
      if (profile_) tell(k, begin, end, before);
    }
  }

  /// Address of row 0 of a buffer. Chunk scratch holds only the rows of the chunk, so its row 0 lies before it.
  Value* base(std::uint32_t buffer, const Loop& loop, Value* begin) {
    const BufferSpec& spec = context_.plan.buffers[buffer];
    if (spec.place != Place::scratch) {
      Value* list = field(offsetof(StepContext, buffers), b_.getPtrTy());
      return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, buffer));
    }
    Value* own = b_.CreateMul(b_.CreateSExt(thread_, b_.getInt64Ty()), number(context_.plan.scratch_bytes));
    const SymbolicLayout at = symbolic_layout(spec.type.shape);
    if (loop.domain.samples && !spec.type.shape.has_batch())  // one for the whole chunk
      return b_.CreateGEP(b_.getInt8Ty(), field(offsetof(StepContext, scratch), b_.getPtrTy()), {b_.CreateAdd(own, number(spec.offset))});
    const std::int64_t row = at.stride.factor() * static_cast<std::int64_t>(size_of(spec.type.dtype)),
                       rows = loop.domain.samples ? at.rows.factor() : 1;
    Value* offset = b_.CreateSub(b_.CreateAdd(own, number(spec.offset)), b_.CreateMul(begin, number(row * rows)));
    return b_.CreateGEP(b_.getInt8Ty(), field(offsetof(StepContext, scratch), b_.getPtrTy()), {offset});
  }

  Value* clock() { return b_.CreateCall(llvm::FunctionType::get(b_.getInt64Ty(), false), field(offsetof(StepContext, clock), b_.getPtrTy())); }

  void tell(std::size_t kernel, Value* begin, Value* end, Value* start) {
    llvm::Type *pointer = b_.getPtrTy(), *small = b_.getInt32Ty(), *large = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, small, small, large, large, large, large}, false);
    b_.CreateCall(type, field(offsetof(StepContext, span), pointer),
                  {ctx_, thread_, b_.getInt32(static_cast<std::uint32_t>(kernel)), begin, end, start, clock()});
  }

  EmitContext& context_;
  bool profile_;
  Builder b_;
  std::vector<llvm::Function*> functions_;
  std::vector<std::vector<std::uint32_t>> arguments_;
  llvm::Function* step_ = nullptr;
  Value *ctx_ = nullptr, *thread_ = nullptr, *n_ = nullptr;
};

}  // namespace

std::vector<std::size_t> divide_kernels(const Schedule& schedule, std::size_t parts) {
  // About what a kernel costs to compile, in nodes: a product brings tiles, and part 0 the step itself.
  const auto weight = [&](std::size_t k) {
    const Kernel& kernel = schedule.kernels[k];
    return kernel.nodes.size() + (kernel.product != no_value || kernel.staging != no_value ? 16 : 4);
  };
  std::vector<std::size_t> order(schedule.kernels.size()), loads(parts), part_of(schedule.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  loads[0] = schedule.kernels.size();
  for (const std::size_t k : order) {
    part_of[k] = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    loads[part_of[k]] += weight(k);
  }
  return part_of;
}

void emit_part(EmitContext& context, const std::vector<std::size_t>& part_of, std::size_t part, bool profile) {
  StepEmitter(context, profile).run(part_of, part);
}

}  // namespace sinter::codegen
