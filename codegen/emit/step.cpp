// sinter_step: the stages of a step, whose chunks the launcher hands out.
#include "codegen/emit/step.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "codegen/emit/kernel_call.h"
#include "codegen/emit/stages.h"
#include "codegen/scan_plan.h"
#include "ir/error.h"

namespace sinter::codegen {

namespace {

using llvm::Value;

class StepEmitter {
 public:
  StepEmitter(EmitContext& context, bool profile) : context_(context), b_(context.module.getContext()), calls_(context, b_, profile) {}

  void run(const Division& division, std::size_t part) {
    const std::size_t count = context_.schedule.kernels.size();
    std::vector<llvm::Function*> functions(count);
    std::vector<std::vector<llvm::Function*>> sections(count);
    for (std::size_t k = 0; k < count; ++k) {
      if (division.code_of[k] != k || (part != division.step_part && part != division.part_of[k])) continue;
      const Kernel& kernel = context_.schedule.kernels[k];
      const auto make = [&](Emitter emitter) {
        llvm::Function* function = emitter.declare();
        if (part == division.part_of[k]) emitter.emit();
        return function;
      };
      functions[k] = make(Emitter(context_, kernel));
      for (std::size_t s = 0; kernel.cuts_steps() && s < kernel.scan->sections(); ++s) sections[k].push_back(make(Emitter(context_, kernel, s)));
    }
    if (part != division.step_part) return;
    for (std::size_t k = 0; k < count; ++k) {
      functions[k] = functions[division.code_of[k]];
      sections[k] = sections[division.code_of[k]];
    }
    calls_.set_functions(std::move(functions), std::move(sections));
    for (const Phase& phase : context_.schedule.phases)
      for (const Loop& loop : phase.loops)
        if (finisher(context_.schedule, loop) != no_kernel) counters_.emplace(&loop, counters_.size());
    emit_entry(list_stages(context_.schedule, context_.checked));
  }

 private:
  llvm::FunctionType* stage_type() {
    return llvm::FunctionType::get(b_.getInt64Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getInt32Ty(), b_.getPtrTy()}, false);
  }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_.module.getContext(), name, words_.function); }
  Value* field(std::size_t offset, llvm::Type* type) { return words_.field(b_, offset, type); }
  Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }
  Value* threads() { return words_.threads(b_); }
  Value* divide_up(Value* a, Value* b) { return b_.CreateUDiv(b_.CreateAdd(a, b_.CreateSub(b, number(1))), b); }
  Value* smaller(Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  Value* units_of(const Loop& loop) { return emit_extent(b_, loop.domain.units, words_.n, words_.t); }
  Value* chunk_units(const Loop& loop) { return emit_chunk_units(b_, loop.domain.units, words_.n, words_.t, loop.limits); }

  /// A function for each stage, and the entry, which calls that of the stage asked for.
  void emit_entry(const std::vector<PhaseStage>& stages) {
    std::vector<llvm::Constant*> functions;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      functions.push_back(create_stage(str("stage_", s)));
      emit_stage(stages, s, llvm::cast<llvm::Function>(functions.back()));
    }
    auto* type = llvm::ArrayType::get(b_.getPtrTy(), functions.size());
    auto* table =
        new llvm::GlobalVariable(context_.module, type, true, llvm::GlobalValue::PrivateLinkage, llvm::ConstantArray::get(type, functions), "stages");
    begin_function(create_stage(step_name));
    std::vector<Value*> arguments;
    for (llvm::Argument& argument : words_.function->args()) arguments.push_back(&argument);
    Value* place = b_.CreateInBoundsGEP(type, table, {number(0), b_.CreateZExt(arguments[2], b_.getInt64Ty())});
    llvm::CallInst* call = b_.CreateCall(stage_type(), b_.CreateLoad(b_.getPtrTy(), place), arguments);
    call->setTailCallKind(llvm::CallInst::TCK_Tail);
    b_.CreateRet(call);
  }

  llvm::Function* create_stage(const std::string& name) {
    auto* function = llvm::Function::Create(stage_type(), llvm::Function::ExternalLinkage, name, context_.module);
    function->addFnAttr(called_by_launcher);
    return function;
  }

  void begin_function(llvm::Function* function) {
    words_.function = function;
    words_.context = function->getArg(0);
    words_.thread = function->getArg(1);
    b_.SetInsertPoint(block("entry"));
    words_.n = field(offsetof(StepContext, batch), b_.getInt64Ty());
    words_.t = field(offsetof(StepContext, length), b_.getInt64Ty());
  }

  void emit_stage(const std::vector<PhaseStage>& stages, std::size_t s, llvm::Function* function) {
    begin_function(function);
    const Phase& phase = context_.schedule.phases[stages[s].phase];
    // What a test wants to see found: a stage that begins before the one before it is over.
    const auto joins = [&](std::size_t at) {
      return at + 1 < stages.size() && stages[at].phase != stages[at + 1].phase && context_.sabotage.is(Sabotage::Kind::no_barrier, stages[at].phase);
    };
    if (s && joins(s - 1)) {
      b_.CreateRet(number(0));
      return;
    }
    if (stages[s].over_time) return emit_section(*stages[s].over_time, stages[s].section);
    const auto run = [&](bool cut) {
      std::vector<Job> jobs = jobs_of(stages[s], cut);
      if (joins(s))
        for (Job& job : jobs_of(stages[s + 1], cut)) jobs.push_back(std::move(job));
      emit_jobs(jobs);
    };
    if (phase.once) {
      llvm::BasicBlock *now = block("now"), *packed = block("packed");
      b_.CreateCondBr(b_.CreateICmpEQ(field(offsetof(StepContext, packed), b_.getInt32Ty()), b_.getInt32(0)), now, packed);
      b_.SetInsertPoint(packed);
      b_.CreateRet(number(0));
      b_.SetInsertPoint(now);
    }
    if (!phase.stages || stages[s].finishing) return run(false);
    // Samples are cut into pieces if there are several threads, and so few samples that these would have unequal work.
    Value* cuts = b_.CreateICmpEQ(words_.n, number(1));
    if (phase.cut_samples > 1) {
      Value* are_few = b_.CreateICmpSLE(words_.n, number(phase.cut_samples));
      cuts = b_.CreateOr(cuts, b_.CreateAnd(are_few, b_.CreateICmpNE(b_.CreateURem(chunks_of(phase), threads()), number(0))));
    }
    llvm::BasicBlock *cut = block("cut"), *whole = block("whole");
    b_.CreateCondBr(b_.CreateAnd(cuts, b_.CreateICmpSGT(threads(), number(1))), cut, whole);
    b_.SetInsertPoint(cut);
    run(true);
    b_.SetInsertPoint(whole);
    run(false);
  }

  /// Work in `count` chunks that any thread may run in any order.
  struct Job {
    Value* count;
    std::function<void(Value* chunk)> run;
  };

  /// Whether threads share the steps of such a loop over time: if there are several, which would have unequal ranges of samples, and these fit into
  /// the memory of one.
  Value* cuts_steps(const Loop& loop) {
    Value *units = units_of(loop), *most = b_.CreateAdd(units, b_.CreateUDiv(units, number(8)));
    Value* are_unequal = b_.CreateICmpSGT(b_.CreateMul(range_units(loop), threads_of(loop)), most);
    Value* are_few = b_.CreateICmpSLE(units, number(loop.limits.most_joined()));
    return b_.CreateAnd(b_.CreateAnd(are_few, are_unequal), b_.CreateICmpSGT(threads(), number(1)));
  }

  void emit_section(const Loop& loop, std::size_t section) {
    // What a test wants to see found: two sections of which the second begins before the first is over.
    const auto begins_early = [&](std::size_t later) {
      return context_.sabotage.is(Sabotage::Kind::no_step_barrier, loop.kernels.front()) && context_.sabotage.argument == later;
    };
    std::vector<Job> jobs;
    if (!begins_early(section)) jobs.push_back(job_of_section(loop, section));
    if (begins_early(section + 1)) jobs.push_back(job_of_section(loop, section + 1));
    emit_jobs(jobs);
  }

  /// A section of such a loop. Of a stage of its steps, each thread has a chunk, if pieces or samples can be divided.
  Job job_of_section(const Loop& loop, std::size_t section) {
    const std::size_t k = loop.kernels.front();
    const ScanPlan& plan = *context_.schedule.kernels[k].scan;
    const ScanPlan::Stage* stage = plan.stage_of(section);
    Value *none = number(0), *samples = units_of(loop), *all = number(1);
    if (stage && stage->pieces > 1) all = number(stage->pieces);
    else if (stage && stage->divides_samples) all = samples;
    Value* each = divide_up(all, threads());
    Value* count = b_.CreateSelect(cuts_steps(loop), divide_up(all, each), none);
    return {count, [=, this, &loop](Value* chunk) {
              Value *first = b_.CreateMul(chunk, each), *last = smaller(b_.CreateAdd(first, each), all);
              const CallRange pieces{none, samples, none, first, last}, rows{first, last, none, none, number(1)};
              calls_.emit_section(words_, loop, k, section, all == samples ? rows : pieces);
            }};
  }

  std::vector<Job> jobs_of(const PhaseStage& stage, bool cut) {
    const Phase& phase = context_.schedule.phases[stage.phase];
    std::vector<Job> jobs;
    if (stage.finishing) {
      for (const Loop& loop : phase.loops)
        if (finisher(context_.schedule, loop) != no_kernel)
          jobs.push_back({number(loop.cut.pieces), [this, &loop](Value* piece) { finish_piece(loop, piece); }});
      return jobs;
    }
    if (stage.number == 0) jobs = whole_loops(phase, cut);
    if (!cut) return jobs;
    for (const Loop& loop : phase.loops)
      for (const std::size_t k : loop.kernels)
        if (cuts_samples(loop) && context_.schedule.kernels[k].stage == stage.number) jobs.push_back(pieces_of_samples(phase, loop, k));
    return jobs;
  }

  /// The number of chunks of the phase's loops over whole samples.
  Value* chunks_of(const Phase& phase) {
    Value* count = number(0);
    for (const Loop& loop : phase.loops)
      if (cuts_samples(loop)) count = b_.CreateAdd(count, divide_up(units_of(loop), chunk_units(loop)));
    return count;
  }

  bool cuts_samples(const Loop& loop) const { return loop.domain.samples && finisher(context_.schedule, loop) == no_kernel; }

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
    const StepWords outer = words_;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    begin_function(function);
    b_.CreateRet(body(function));
    words_ = outer;
    return function;
  }
  Value* call_apart(llvm::Function* function, const std::vector<Value*>& numbers) {
    std::vector<Value*> arguments{words_.context, words_.thread};
    arguments.insert(arguments.end(), numbers.begin(), numbers.end());
    return b_.CreateCall(function, arguments);
  }
  /// The loops of a phase; or only those in which samples are not cut.
  std::vector<Job> whole_loops(const Phase& phase, bool cut) {
    std::vector<const Loop*> loops;
    for (const Loop& loop : phase.loops)
      if (!cut || !cuts_samples(loop)) loops.push_back(&loop);
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
        words_.chunk = function->getArg(3);
        run_job(own, firsts, function->getArg(2), done);
        b_.SetInsertPoint(done);
        return total;
      });
      jobs.push_back({call_apart(some, {number(-1), number(0)}), [this, some](Value* chunk) { call_apart(some, {chunk, words_.chunk}); }});
    }
    return jobs;
  }

  std::vector<Job> jobs_of(const std::vector<const Loop*>& loops) {
    std::vector<Job> jobs;
    for (const Loop* loop : loops) {
      Value *size = range_units(*loop), *ranges = divide_up(units_of(*loop), size);
      if (context_.schedule.kernels[loop->kernels.front()].cuts_steps()) ranges = b_.CreateSelect(cuts_steps(*loop), number(0), ranges);
      if (loop->cut.pieces == 1 && finisher(context_.schedule, *loop) == no_kernel)
        jobs.push_back({ranges, [this, loop, size](Value* chunk) { emit_range(*loop, chunk, size); }});
      else jobs.push_back(pieces_of(*loop, {.kernel = loop->kernels.front(), .size = size, .ranges = ranges, .pieces_a_chunk = number(1)}));
    }
    return jobs;
  }

  /// Units of what is computed as one of a loop: a chunk; or so many chunks that each of the threads still has 4; or as few ranges of equal size
  /// a thread as may be.
  Value* range_units(const Loop& loop) {
    const ChunkLimits& limits = loop.limits;
    Value* chunk = chunk_units(loop);
    if (limits.joined == 1) return chunk;
    Value *units = units_of(loop), *most = b_.CreateMul(chunk, number(limits.joined));
    const auto within = [&](Value* size) { return smaller(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, size, chunk), most); };
    if (!limits.spread) return within(b_.CreateMul(b_.CreateUDiv(divide_up(units, chunk), b_.CreateMul(threads(), number(4))), chunk));
    Value *own = threads_of(loop), *ranges = divide_up(divide_up(units, own), most), *granule = number(limits.granule);
    return within(b_.CreateMul(divide_up(divide_up(units, b_.CreateMul(own, ranges)), granule), granule));
  }

  /// The threads over which a loop of few ranges is spread: all; or one, if the phase has as many such loops of the same work for each thread. The
  /// more samples a range has, the less often what each step reads is read.
  Value* threads_of(const Loop& loop) {
    const std::vector<Loop>& beside = context_.schedule.phases[context_.schedule.kernels[loop.kernels.front()].phase].loops;
    const auto alike =
        std::count_if(beside.begin(), beside.end(), [&](const Loop& other) { return other.domain == loop.domain && other.limits == loop.limits; });
    Value* are_whole = b_.CreateICmpEQ(b_.CreateURem(number(alike), threads()), number(0));
    return b_.CreateSelect(are_whole, number(1), threads());
  }

  /// A kernel's pieces of samples: of each sample one chunk a thread, of about equal size. Where there are several stages, there is one sample, and
  /// threads pass what is stored of it from stage to stage in the scratch of the first.
  Job pieces_of_samples(const Phase& phase, const Loop& loop, std::size_t k) {
    Value* each = divide_up(number(context_.schedule.kernels[k].cut.pieces), threads());
    return pieces_of(loop, {.kernel = k, .size = number(1), .ranges = words_.n, .pieces_a_chunk = each, .shared = phase.cut_samples == 1});
  }

  /// A kernel of a loop over ranges of `size` units, each cut into pieces.
  struct Pieces {
    std::size_t kernel;
    Value *size, *ranges, *pieces_a_chunk;
    bool shared = false;  ///< threads share the memory of a chunk
  };
  Job pieces_of(const Loop& loop, const Pieces& of) {
    const Kernel& kernel = context_.schedule.kernels[of.kernel];
    Value *all = number(kernel.cut.pieces), *groups = divide_up(all, of.pieces_a_chunk);
    Value* counters = counters_of_pieces(loop);
    return {b_.CreateMul(of.ranges, groups), [this, &loop, of, &kernel, all, groups, counters](Value* chunk) {
              // Pieces of the same columns follow each other: what they read of a weight stays in the cache. So do pieces of rows of the same range
              // of terms, which read the same rows of the right operand.
              const bool ranges_first = kernel.cut.along == Cut::Along::columns;
              Value* range = ranges_first ? b_.CreateURem(chunk, of.ranges) : b_.CreateUDiv(chunk, groups);
              Value* group = ranges_first ? b_.CreateUDiv(chunk, of.ranges) : b_.CreateURem(chunk, groups);
              Value *begin = b_.CreateMul(range, of.size), *end = smaller(b_.CreateAdd(begin, of.size), units_of(loop));
              Value* first = b_.CreateMul(group, of.pieces_a_chunk);
              Value* last = smaller(b_.CreateAdd(first, of.pieces_a_chunk), all);
              calls_.emit(words_, loop, of.kernel, {begin, end, range, first, last}, of.shared);
              if (counters) finish_if_last(loop, counters, group, of.ranges);
            }};
  }

  /// Counts the parts of each piece of a loop whose pieces are finished by whoever computes the last part of each; none for other loops.
  Value* counters_of_pieces(const Loop& loop) {
    if (context_.checked || finisher(context_.schedule, loop) == no_kernel) return nullptr;
    if (loop.cut.pieces > counter_spacing) throw InternalError("code", str("a loop has ", loop.cut.pieces, " pieces, more than counters"));
    return b_.CreateInBoundsGEP(b_.getInt32Ty(), field(offsetof(StepContext, counters), b_.getPtrTy()),
                                {number(static_cast<std::int64_t>(counters_.at(&loop)) * counter_spacing)});
  }

  /// Counts a part of a piece and finishes the piece if that was the last one: the thread that counts it sees what all others wrote before they
  /// counted theirs.
  void finish_if_last(const Loop& loop, Value* counters, Value* piece, Value* parts) {
    Value* before = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, b_.CreateInBoundsGEP(b_.getInt32Ty(), counters, {piece}), b_.getInt32(1),
                                       llvm::Align(4), llvm::AtomicOrdering::AcquireRelease);
    llvm::BasicBlock *finish = block("finish"), *next = block("finished");
    b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAdd(b_.CreateZExt(before, b_.getInt64Ty()), number(1)), parts), finish, next);
    b_.SetInsertPoint(finish);
    finish_piece(loop, piece);
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }

  void finish_piece(const Loop& loop, Value* piece) {
    const std::size_t k = finisher(context_.schedule, loop);
    const Dim rows = context_.schedule.kernels[k].domain.units;
    Value* each = number(sinter::divide_up(rows.factor(), loop.cut.pieces));
    Value* first = b_.CreateMul(piece, each);
    Value* last = smaller(b_.CreateAdd(first, each), emit_extent(b_, rows, words_.n, words_.t));
    calls_.emit(words_, loop, k, {first, last, piece, number(0), number(1)}, false);
  }

  /// Runs the chunks of these jobs that the source gives; returns from the function with their number.
  void emit_jobs(const std::vector<Job>& jobs) {
    if (jobs.empty()) {
      b_.CreateRet(number(0));
      return;
    }
    const auto [firsts, total] = numbered(jobs);
    Value* source = words_.function->getArg(3);
    llvm::BasicBlock *next = block("next_chunk"), *claimed = block("claimed"), *healthy = block("healthy"), *done = block("done");
    b_.CreateCondBr(b_.CreateIsNull(source), done, next);
    b_.SetInsertPoint(next);
    Value* function = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), source, offsetof(ChunkSource, next)));
    words_.chunk = b_.CreateCall(llvm::FunctionType::get(b_.getInt64Ty(), {b_.getPtrTy(), b_.getInt64Ty()}, false), function, {source, total});
    b_.CreateCondBr(b_.CreateICmpSLT(words_.chunk, number(0)), done, claimed);
    b_.SetInsertPoint(claimed);
    // After a fault nothing more is computed, so that states that later phases write keep their values.
    llvm::LoadInst* fault =
        b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), words_.context, offsetof(StepContext, fault)));
    fault->setAtomic(llvm::AtomicOrdering::Monotonic);
    fault->setAlignment(llvm::Align(4));
    b_.CreateCondBr(b_.CreateICmpEQ(fault, b_.getInt32(0)), healthy, next);
    b_.SetInsertPoint(healthy);
    run_job(jobs, firsts, words_.chunk, next);
    b_.SetInsertPoint(done);
    b_.CreateRet(total);
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

  /// All kernels of a loop on a range of its units.
  void emit_range(const Loop& loop, Value* chunk, Value* size) {
    Value* begin = b_.CreateMul(chunk, size);
    Value* end = smaller(b_.CreateAdd(begin, size), units_of(loop));
    if (loop.kernels.size() <= most_calls) return emit_calls(loop, loop.kernels, begin, end, chunk);
    for (std::size_t first = 0; first < loop.kernels.size(); first += most_calls) {
      const std::span some(loop.kernels.data() + first, std::min(most_calls, loop.kernels.size() - first));
      call_apart(apart("kernels", 4,
                       [&](llvm::Function* function) {
                         words_.chunk = function->getArg(5);
                         emit_calls(loop, some, function->getArg(2), function->getArg(3), function->getArg(4));
                         return number(0);
                       }),
                 {begin, end, chunk, words_.chunk});
    }
  }
  void emit_calls(const Loop& loop, std::span<const std::size_t> kernels, Value* begin, Value* end, Value* chunk) {
    for (const std::size_t k : kernels)
      calls_.emit(words_, loop, k, {begin, end, chunk, number(0), number(context_.schedule.kernels[k].cut.pieces)}, false);
  }

  EmitContext& context_;
  Builder b_;
  KernelCalls calls_;
  StepWords words_;
  std::map<const Loop*, std::size_t> counters_;  ///< sets of those loops whose pieces are finished
};

}  // namespace

void emit_part(EmitContext& context, const Division& division, std::size_t part, bool profile) { StepEmitter(context, profile).run(division, part); }

}  // namespace sinter::codegen
