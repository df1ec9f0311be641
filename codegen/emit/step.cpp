// sinter_step: in each phase, threads claim chunks, their own share first, until none is left, then wait at a barrier.
#include "codegen/emit/step.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

#include "ir/error.h"
#include "ir/step.h"

namespace sinter::codegen {

namespace {

using llvm::Value;

class StepEmitter {
 public:
  StepEmitter(EmitContext& context, bool profile) : context_(context), profile_(profile), b_(context.module.getContext()) {}

  void run(const Division& division, std::size_t part) {
    const std::size_t count = context_.schedule.kernels.size();
    functions_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      if (division.code_of[k] != k || (part != 0 && part != division.part_of[k])) continue;
      Emitter emitter(context_, context_.schedule.kernels[k]);
      functions_[k] = emitter.declare();
      if (part == division.part_of[k]) emitter.emit();
    }
    if (part != 0) return;
    for (std::size_t k = 0; k < count; ++k) {
      functions_[k] = functions_[division.code_of[k]];
      arguments_.push_back(buffers_of(context_.schedule.kernels[k], context_.plan));
    }
    emit_entry();
  }

 private:
  void emit_entry() {
    begin_function(llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()}, false),
                                          llvm::Function::ExternalLinkage, step_name, context_.module));
    next_claims_ = context_.schedule.phases.size();
    if (context_.checked) tell_checks(offsetof(CheckHooks, begin), {thread_});
    for (std::size_t p = 0; p < context_.schedule.phases.size(); ++p) emit_phase(p);
    b_.CreateRetVoid();
    if (next_claims_ > claims_of(context_.schedule)) throw InternalError("code", "a step uses more counters than it has");
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_.module.getContext(), name, step_); }
  Value* field(std::size_t offset, llvm::Type* type) { return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), ctx_, offset)); }
  Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }

  void emit_phase(std::size_t p) {
    const Phase& phase = context_.schedule.phases[p];
    const bool last = p + 1 == context_.schedule.phases.size();
    llvm::BasicBlock* after = nullptr;
    if (phase.once) {
      llvm::BasicBlock* now = block("now");
      after = block("packed");
      b_.CreateCondBr(b_.CreateICmpEQ(field(offsetof(StepContext, packed), b_.getInt32Ty()), b_.getInt32(0)), now, after);
      b_.SetInsertPoint(now);
    }
    if (!phase.stages) {
      emit_jobs(p, whole_loops(phase, false));
    } else {
      // A single sample is cut into pieces if there are several threads.
      llvm::BasicBlock *pieces = block("pieces"), *chunks = block("chunks"), *done = block("phase_done");
      b_.CreateCondBr(b_.CreateAnd(b_.CreateICmpEQ(n_, number(1)), b_.CreateICmpSGT(threads(), number(1))), pieces, chunks);
      b_.SetInsertPoint(chunks);
      emit_jobs(p, whole_loops(phase, false));
      b_.CreateBr(done);
      b_.SetInsertPoint(pieces);
      for (std::size_t stage = 0; stage < phase.stages; ++stage) {
        std::vector<Job> jobs = stage ? std::vector<Job>{} : whole_loops(phase, true);
        for (const Loop& loop : phase.loops)
          for (const std::size_t k : loop.kernels)
            if (is_cut(loop) && context_.schedule.kernels[k].stage == stage) jobs.push_back(pieces_of(loop, k));
        emit_jobs(next_claims_++, jobs);
        if (stage + 1 < phase.stages) emit_boundary(p, false);
      }
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
    }
    if (context_.checked) emit_finishing(p);
    if ((context_.checked || !last) && !context_.sabotage.is(Sabotage::Kind::no_barrier, p)) emit_boundary(p, true);
    if (after) {
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    }
  }

  /// The pieces of a phase, in a stage of their own.
  void emit_finishing(std::size_t p) {
    std::vector<Job> jobs;
    for (const Loop& loop : context_.schedule.phases[p].loops)
      if (finisher(context_.schedule, loop) != no_kernel)
        jobs.push_back({number(loop.pieces), [this, &loop](Value* piece) { finish_piece(loop, piece); }});
    if (jobs.empty()) return;
    emit_boundary(p, false);
    emit_jobs(next_claims_++, jobs);
  }

  /// Work in `count` chunks that any thread may run in any order.
  struct Job {
    Value* count;
    std::function<void(Value* chunk)> run;
  };

  /// Whether a single sample may be cut in it.
  bool is_cut(const Loop& loop) const { return loop.domain.samples && finisher(context_.schedule, loop) == no_kernel; }

  // What LLVM does with a function takes more time than in proportion to its length: of many loops, or kernels of a loop, each most_calls are in a
  // function of their own.
  static constexpr std::size_t most_calls = 32;

  /// A function (StepContext, thread, i64...) -> i64, whose body is emitted with the step's words.
  llvm::Function* apart(const char* name, std::size_t numbers, const std::function<Value*(llvm::Function*)>& body) {
    std::vector<llvm::Type*> types{b_.getPtrTy(), b_.getInt32Ty()};
    types.insert(types.end(), numbers, b_.getInt64Ty());
    auto* function =
        llvm::Function::Create(llvm::FunctionType::get(b_.getInt64Ty(), types, false), llvm::Function::InternalLinkage, name, context_.module);
    function->addFnAttr(llvm::Attribute::NoInline);
    const auto outer = std::tuple(step_, ctx_, thread_, n_, t_, claimed_);
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin_function(function);
    b_.CreateRet(body(function));
    std::tie(step_, ctx_, thread_, n_, t_, claimed_) = outer;
    return function;
  }
  Value* call_apart(llvm::Function* function, const std::vector<Value*>& numbers) {
    std::vector<Value*> arguments{ctx_, thread_};
    arguments.insert(arguments.end(), numbers.begin(), numbers.end());
    return b_.CreateCall(function, arguments);
  }
  void begin_function(llvm::Function* function) {
    step_ = function;
    ctx_ = function->getArg(0);
    thread_ = function->getArg(1);
    b_.SetInsertPoint(block("entry"));
    n_ = field(offsetof(StepContext, batch), b_.getInt64Ty());
    t_ = field(offsetof(StepContext, length), b_.getInt64Ty());
  }

  /// The loops of a phase; or only those in which no sample is cut.
  std::vector<Job> whole_loops(const Phase& phase, bool without_cut) {
    std::vector<const Loop*> loops;
    for (const Loop& loop : phase.loops)
      if (!without_cut || !is_cut(loop)) loops.push_back(&loop);
    if (loops.size() <= most_calls) return jobs_of(loops);
    std::vector<Job> jobs;
    for (std::size_t first = 0; first < loops.size(); first += most_calls) {
      const std::size_t last = std::min(first + most_calls, loops.size());
      // The number of all chunks of these loops for a negative chunk; else runs that chunk.
      llvm::Function* some = apart("loops", 2, [&](llvm::Function* function) {
        const std::vector<Job> own = jobs_of({loops.begin() + static_cast<std::ptrdiff_t>(first), loops.begin() + static_cast<std::ptrdiff_t>(last)});
        const auto [firsts, total] = numbered(own);
        llvm::BasicBlock *run = block("run"), *done = block("done");
        b_.CreateCondBr(b_.CreateICmpSLT(function->getArg(2), number(0)), done, run);
        b_.SetInsertPoint(run);
        claimed_ = function->getArg(3);
        run_job(own, firsts, function->getArg(2), done);
        b_.SetInsertPoint(done);
        return total;
      });
      jobs.push_back({call_apart(some, {number(-1), number(0)}), [this, some](Value* chunk) { call_apart(some, {chunk, claimed_}); }});
    }
    return jobs;
  }

  std::vector<Job> jobs_of(const std::vector<const Loop*>& loops) {
    std::vector<Job> jobs;
    for (const Loop* each : loops) {
      const Loop& loop = *each;
      Value *units = units_of(loop), *size = emit_chunk_units(b_, loop.domain.units, n_, t_, loop.limits);
      Value* ranges = divide_up(units, size);
      if (finisher(context_.schedule, loop) != no_kernel) {
        jobs.push_back(parts_of(loop, ranges, size));
        continue;
      }
      if (loop.pieces == 1) {
        jobs.push_back({ranges, [this, &loop, size](Value* chunk) { emit_chunk(loop, chunk, size, nullptr); }});
        continue;
      }
      // The pieces of the same columns follow each other: what they read of a weight stays in the cache.
      jobs.push_back({b_.CreateMul(ranges, number(loop.pieces)), [this, &loop, size, ranges](Value* chunk) {
                        emit_chunk(loop, b_.CreateURem(chunk, ranges), size, b_.CreateUDiv(chunk, ranges));
                      }});
    }
    return jobs;
  }

  /// The parts of a loop whose pieces are finished by whoever computes the last part of each: the thread that counts it sees what all others wrote
  /// before they counted theirs. Checked steps finish them behind a barrier instead.
  Job parts_of(const Loop& loop, Value* ranges, Value* size) {
    Value* counters = nullptr;
    if (!context_.checked)
      counters = b_.CreateInBoundsGEP(b_.getInt32Ty(), field(offsetof(StepContext, claims), b_.getPtrTy()),
                                      {b_.CreateMul(threads(), number(static_cast<std::int64_t>(next_claims_++) * claim_spacing))});
    return {b_.CreateMul(ranges, number(loop.pieces)), [this, &loop, ranges, size, counters](Value* chunk) {
              // The pieces of a range of terms follow each other: they read the same rows of the right operand.
              Value *piece = b_.CreateURem(chunk, number(loop.pieces)), *range = b_.CreateUDiv(chunk, number(loop.pieces));
              emit_chunk(loop, range, size, piece);
              if (!counters) return;
              Value* before = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, b_.CreateInBoundsGEP(b_.getInt32Ty(), counters, {piece}), b_.getInt32(1),
                                                 llvm::Align(4), llvm::AtomicOrdering::AcquireRelease);
              llvm::BasicBlock *finish = block("finish"), *next = block("finished");
              b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAdd(b_.CreateZExt(before, b_.getInt64Ty()), number(1)), ranges), finish, next);
              b_.SetInsertPoint(finish);
              finish_piece(loop, piece);
              b_.CreateBr(next);
              b_.SetInsertPoint(next);
            }};
  }

  void finish_piece(const Loop& loop, Value* piece) {
    const std::size_t k = finisher(context_.schedule, loop);
    const Dim rows = context_.schedule.kernels[k].domain.units;
    Value* each = number(sinter::divide_up(rows.factor(), loop.pieces));
    Value* first = b_.CreateMul(piece, each);
    Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, each), emit_extent(b_, rows, n_, t_));
    emit_call(loop, k, {first, last, piece, number(0), number(1)}, false);
  }

  /// A kernel's pieces of a single sample: one chunk per thread, of about equal size.
  Job pieces_of(const Loop& loop, std::size_t k) {
    Value* all = number(context_.schedule.kernels[k].pieces);
    Value* size = divide_up(all, threads());
    return {divide_up(all, size), [this, &loop, k, all, size](Value* chunk) {
              Value* first = b_.CreateMul(chunk, size);
              Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, size), all);
              emit_call(loop, k, {number(0), number(1), number(0), first, last}, true);
            }};
  }

  Value* threads() { return b_.CreateSExt(field(offsetof(StepContext, threads), b_.getInt32Ty()), b_.getInt64Ty()); }
  Value* divide_up(Value* a, Value* b) { return b_.CreateUDiv(b_.CreateAdd(a, b_.CreateSub(b, number(1))), b); }
  Value* units_of(const Loop& loop) { return emit_extent(b_, loop.domain.units, n_, t_); }

  /// A barrier: what follows phase p, or a stage of it, begins when all threads have arrived.
  void emit_boundary(std::size_t p, bool over) {
    if (context_.checked) {
      tell_checks(offsetof(CheckHooks, boundary), {thread_, b_.getInt32(static_cast<std::uint32_t>(p)), b_.getInt1(over)});
      return;
    }
    b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()}, false),
                  field(offsetof(StepContext, barrier), b_.getPtrTy()), {ctx_, thread_});
  }

  /// Calls one of StepContext::checks.
  Value* tell_checks(std::size_t hook, const std::vector<Value*>& with, bool returns = false) {
    Value* function =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), field(offsetof(StepContext, checks), b_.getPtrTy()), hook));
    std::vector<Value*> arguments{ctx_};
    arguments.insert(arguments.end(), with.begin(), with.end());
    std::vector<llvm::Type*> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    llvm::CallInst* call = b_.CreateCall(llvm::FunctionType::get(returns ? b_.getPtrTy() : b_.getVoidTy(), types, false), function, arguments);
    for (unsigned i = 0; i < arguments.size(); ++i)
      if (arguments[i]->getType()->isIntegerTy(1)) call->addParamAttr(i, llvm::Attribute::ZExt);  // as C++ passes a bool
    return call;
  }

  /// Jobs whose chunks are claimed by the counters numbered `claims`.
  void emit_jobs(std::size_t claims, const std::vector<Job>& jobs) {
    const auto [firsts, total] = numbered(jobs);
    // Shares: the thread's own first, then those of the threads after it.
    Value *threads = this->threads(), *self = b_.CreateSExt(thread_, b_.getInt64Ty()),
          *counters = field(offsetof(StepContext, claims), b_.getPtrTy());
    llvm::BasicBlock *before = b_.GetInsertBlock(), *share = block("share"), *claim = block("claim"), *healthy = block("healthy"),
                     *work = block("work"), *next_share = block("next_share"), *done = block("done");
    b_.CreateBr(share);
    b_.SetInsertPoint(share);
    llvm::PHINode* turn = b_.CreatePHI(b_.getInt64Ty(), 2);
    turn->addIncoming(number(0), before);
    Value* sum = b_.CreateAdd(self, turn);
    Value* owner = b_.CreateSelect(b_.CreateICmpUGE(sum, threads), b_.CreateSub(sum, threads), sum);
    Value* from = b_.CreateUDiv(b_.CreateMul(owner, total), threads);
    Value* to = b_.CreateUDiv(b_.CreateMul(b_.CreateAdd(owner, number(1)), total), threads);
    Value* place = b_.CreateAdd(b_.CreateMul(threads, number(static_cast<std::int64_t>(claims))), owner);
    Value* counter = b_.CreateInBoundsGEP(b_.getInt32Ty(), counters, {b_.CreateMul(place, number(claim_spacing))});
    b_.CreateBr(claim);
    b_.SetInsertPoint(claim);
    // After a fault nothing more is computed, so that states that later phases write keep their values; barriers are still reached.
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
    claimed_ = chunk;
    run_job(jobs, firsts, chunk, claim);
    b_.SetInsertPoint(done);
  }

  /// The first chunk of each job, and the number of chunks: those of all jobs are numbered consecutively.
  std::pair<std::vector<Value*>, Value*> numbered(const std::vector<Job>& jobs) {
    std::vector<Value*> firsts;
    Value* total = number(0);
    for (const Job& job : jobs) {
      firsts.push_back(total);
      total = b_.CreateAdd(total, job.count);
    }
    return {std::move(firsts), total};
  }
  /// Runs the job that has the chunk, and goes on at `then`.
  void run_job(const std::vector<Job>& jobs, const std::vector<Value*>& firsts, Value* chunk, llvm::BasicBlock* then) {
    for (std::size_t j = jobs.size(); j-- > 0;) {
      llvm::BasicBlock *mine = block("job"), *next = block("next");
      b_.CreateCondBr(b_.CreateICmpUGE(chunk, firsts[j]), mine, next);
      b_.SetInsertPoint(mine);
      jobs[j].run(b_.CreateSub(chunk, firsts[j]));
      b_.CreateBr(then);
      b_.SetInsertPoint(next);
    }
    b_.CreateBr(then);
  }

  /// What a kernel is called over: see codegen/emit/emitter.h.
  struct Range {
    Value *begin, *end, *chunk, *piece_begin, *piece_end;
  };

  /// All kernels of a loop on a chunk; or one piece of its kernel.
  void emit_chunk(const Loop& loop, Value* chunk, Value* size, Value* piece) {
    Value* begin = b_.CreateMul(chunk, size);
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(begin, size), units_of(loop));
    if (piece) return emit_call(loop, loop.kernels.front(), {begin, end, chunk, piece, b_.CreateAdd(piece, number(1))}, false);
    if (loop.kernels.size() <= most_calls) return emit_calls(loop, loop.kernels, begin, end, chunk);
    for (std::size_t first = 0; first < loop.kernels.size(); first += most_calls) {
      const std::span some(loop.kernels.data() + first, std::min(most_calls, loop.kernels.size() - first));
      call_apart(apart("kernels", 4,
                       [&](llvm::Function* function) {
                         claimed_ = function->getArg(5);
                         emit_calls(loop, some, function->getArg(2), function->getArg(3), function->getArg(4));
                         return number(0);
                       }),
                 {begin, end, chunk, claimed_});
    }
  }
  void emit_calls(const Loop& loop, std::span<const std::size_t> kernels, Value* begin, Value* end, Value* chunk) {
    for (const std::size_t k : kernels) emit_call(loop, k, {begin, end, chunk, number(0), number(context_.schedule.kernels[k].pieces)}, false);
  }

  void emit_call(const Loop& loop, std::size_t k, const Range& r, bool shared) {
    std::vector<Value*> arguments;
    for (const std::uint32_t buffer : arguments_[k]) arguments.push_back(base(buffer, loop, r.begin, shared));
    arguments.insert(arguments.end(), {r.begin, r.end, r.chunk, r.piece_begin, r.piece_end, n_, t_, ctx_});
    spoil(k, arguments);
    Value* before = profile_ ? clock() : nullptr;
    Value* check = nullptr;
    if (context_.checked) {
      const auto number = b_.getInt32(static_cast<std::uint32_t>(k));
      arguments.push_back(check = tell_checks(offsetof(CheckHooks, enter), {thread_, number, claimed_, b_.getInt1(shared)}, true));
    }
    b_.CreateCall(functions_[k], arguments);
    if (check) tell_checks(offsetof(CheckHooks, leave), {check});
    if (profile_) tell(k, r.begin, r.end, before);
  }

  /// The fault that a test asks for in the arguments of a kernel's call.
  void spoil(std::size_t k, std::vector<Value*>& arguments) {
    const Sabotage& sabotage = context_.sabotage;
    if (sabotage.is(Sabotage::Kind::shifted_pointer, k)) {
      const Type& type = context_.plan.buffers[arguments_[k].at(sabotage.argument)].type;
      const std::int64_t row = symbolic_layout(type.shape).stride.factor() * static_cast<std::int64_t>(size_of(type.dtype));
      arguments[sabotage.argument] = b_.CreateGEP(b_.getInt8Ty(), arguments[sabotage.argument], {number(row)});
    }
    if (sabotage.is(Sabotage::Kind::wide_chunk, k)) {
      Value*& begin = arguments[arguments_[k].size()];
      begin = b_.CreateSub(begin, b_.CreateZExt(b_.CreateICmpNE(begin, number(0)), b_.getInt64Ty()));
    }
  }

  /// Address of row 0 of a buffer. Chunk scratch holds only the rows of the chunk, so its row 0 lies before it. Threads that share a sample use the
  /// first one's, except for what is each kernel call's own: register tiles write past the last row of a product.
  Value* base(std::uint32_t buffer, const Loop& loop, Value* begin, bool shared) {
    const BufferSpec& spec = context_.plan.buffers[buffer];
    if (spec.place != Place::scratch) {
      Value* list = field(offsetof(StepContext, buffers), b_.getPtrTy());
      return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, buffer));
    }
    Value* thread = shared && !spec.own ? number(0) : b_.CreateSExt(thread_, b_.getInt64Ty());
    Value* offset = b_.CreateAdd(b_.CreateMul(thread, number(context_.plan.scratch_bytes)), number(spec.offset));
    if (!context_.plan.serves_chunk[buffer]) {
      const SymbolicLayout at = symbolic_layout(spec.type.shape);
      const std::int64_t row = at.stride.factor() * static_cast<std::int64_t>(size_of(spec.type.dtype)),
                         rows = loop.domain.samples ? at.rows.factor() : 1;
      offset = b_.CreateSub(offset, b_.CreateMul(begin, number(row * rows)));
    }
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
  Value *ctx_ = nullptr, *thread_ = nullptr, *n_ = nullptr, *t_ = nullptr;
  Value* claimed_ = nullptr;     ///< the current chunk, numbered over all jobs
  std::size_t next_claims_ = 0;  ///< counters of the next stage; phases come first
};

}  // namespace

Division divide_kernels(const Schedule& schedule, std::vector<std::size_t> code_of, std::size_t parts) {
  // The approximate cost of compiling a kernel, in nodes: a product adds tiles, and part 0 the step itself.
  const auto weight = [&](std::size_t k) {
    const Kernel& kernel = schedule.kernels[k];
    return kernel.nodes.size() + (kernel.product != no_value || kernel.staging != no_value ? 16 : 4);
  };
  Division division{std::move(code_of), std::vector<std::size_t>(schedule.kernels.size())};
  std::vector<std::size_t> order, loads(parts);
  for (std::size_t k = 0; k < schedule.kernels.size(); ++k)
    if (division.code_of[k] == k) order.push_back(k);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  loads[0] = schedule.kernels.size();
  for (const std::size_t k : order) {
    division.part_of[k] = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    loads[division.part_of[k]] += weight(k);
  }
  return division;
}

std::size_t claims_of(const Schedule& schedule) {
  std::size_t claims = schedule.phases.size();
  for (const Phase& phase : schedule.phases) {
    claims += phase.stages;
    // The parts, beside samples that are whole or cut; or, in a checked step, the pieces.
    for (const Loop& loop : phase.loops) claims += 2 * (finisher(schedule, loop) != no_kernel);
  }
  return claims;
}

void emit_part(EmitContext& context, const Division& division, std::size_t part, bool profile) { StepEmitter(context, profile).run(division, part); }

}  // namespace sinter::codegen
