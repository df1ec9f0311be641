#include "runtime/executor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "ir/error.h"
#include "runtime/checker.h"
#include "runtime/flush_to_zero.h"
#include "runtime/team.h"
#include "runtime/ticks.h"
#include "runtime/trial.h"

namespace sinter::runtime {

namespace {

/// Generated code has no type information in front of it, which clang's sanitizer of indirect calls would read.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
std::int64_t
call_native(StepEntry entry, StepContext* context, int thread, std::size_t stage, ChunkSource* source) {
  return entry(context, thread, static_cast<std::uint32_t>(stage), source);
}

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

/// Chunks of the phase with the most.
std::int64_t most_chunks(const StepImage& image, Sizes sizes) {
  std::int64_t most = 1;
  for (const PhaseSpec& phase : image.phases) {
    std::int64_t chunks = 0;
    for (const LoopSpec& loop : phase.loops) chunks += loop.chunks(sizes);
    most = std::max(most, chunks);
  }
  return most;
}

}  // namespace

struct Executor::Impl final : TeamWork {
  // Seconds of a stage's work by the cost model, which a thread needs at the most. Another begins with it after 0.1 to 1 µs, or not at all.
  static constexpr double always_alone = 1e-6, always_shared = 50e-6;
  static constexpr double short_call = 1e-3;  ///< the same of a call that may be done alone

  StepImage image;
  std::vector<std::byte*> buffers;
  std::vector<std::uint32_t> counters;
  StepContext context{};
  std::vector<std::int64_t> no_tables;  ///< zeros, for callers without tables
  std::vector<Buffer> arenas;           ///< of StepImage::arenas
  Buffer scratch;
  SpanObserver observer;
  std::unique_ptr<Checker> checker;                 ///< of a checked step
  std::size_t inputs = 0, states = 0, outputs = 0;  ///< bindings that the image needs
  std::atomic<bool> busy{false};
  const Sequence* sequence = nullptr;  ///< that runs
  std::int64_t step = 0;               ///< of it that runs, or ran last
  std::size_t stage = 0;               ///< of the step that runs
  bool begun = false;                  ///< the stage
  bool forced = false;                 ///< however small a stage is, all threads are told of it
  struct Sized {
    Sizes sizes;
    std::int32_t threads = 0;
    std::uint32_t packed = 0;
    bool forced = false;
    bool operator==(const Sized&) const = default;
  } sized;  ///< what stage_sizes are for
  struct StageSize {
    std::int64_t chunks = -1;  ///< -1: not known
    enum class Sharing : std::uint8_t { never, tried, always } sharing = Sharing::always;
  };
  std::vector<StageSize> stage_sizes;
  std::vector<Trial> trials;  ///< by stage
  CallTrial call_trial;       ///< of calls of these sizes
  Sizes call_sizes{0};
  Trial* trial = nullptr;                 ///< of the stage that runs, if it is to be told how long that takes
  std::uint64_t begun_at = 0;             ///< in ticks
  std::vector<std::byte*> packed_states;  ///< states of the last run
  bool packed = false;                    ///< the last run was one step and ended well

  static void span(StepContext* context, std::int32_t thread, std::uint32_t kernel, std::int64_t begin, std::int64_t end, std::uint64_t start,
                   std::uint64_t stop) {
    const Impl& impl = *static_cast<const Impl*>(context->runtime);
    if (impl.observer) impl.observer({thread, kernel, begin, end, {context->batch, context->length}, start, stop});
  }

  /// Whether it is new memory.
  bool grow(Buffer& memory, std::size_t bytes, Buffer (*make)(std::size_t)) const {
    if (memory.bytes() >= bytes && memory) return false;
    memory = {};  // first, so that the pool can reuse it
    memory = make(bytes);
    return true;
  }

  void require(std::string_view what, std::size_t got, std::size_t needed) const {
    if (got < needed) throw InternalError("executor", str("the step needs ", needed, " ", what, ", got ", got));
  }

  void check(const Bindings& bindings) const {
    require("inputs", bindings.inputs.size(), inputs);
    require("states", bindings.states.size(), states);
    require("outputs", bindings.outputs.size(), outputs);
    if (bindings.sizes.n < 1 || bindings.sizes.t < 1)
      throw InternalError("executor", str("N and T must be at least 1, got ", bindings.sizes.n, " and ", bindings.sizes.t));
  }

  void bind(const Bindings& bindings) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const BufferSpec& spec = image.buffers[i];
      switch (spec.place) {
        case Place::input:
          buffers[i] = bindings.inputs[spec.index];
          break;
        case Place::state:
          buffers[i] = bindings.states[spec.index];
          break;
        case Place::output:
          buffers[i] = bindings.outputs[spec.index];
          break;
        case Place::arena:
          buffers[i] = arenas[spec.index].data() + spec.offset * image.arenas[spec.index].units(bindings.sizes);
          break;
        case Place::scratch:
          buffers[i] = nullptr;
          break;
      }
    }
    std::fill(counters.begin(), counters.end(), 0);
    context.batch = bindings.sizes.n;
    context.length = bindings.sizes.t;
    context.table_rows = bindings.table_rows.empty() ? no_tables.data() : bindings.table_rows.data();
    context.fault = 0;
    context.packed = 0;
  }

  /// Whether what the previous run packed is still valid for these states.
  bool is_packed(const Bindings& bindings) const {
    return packed && bindings.states_unchanged && std::equal(packed_states.begin(), packed_states.end(), bindings.states.begin());
  }

  Executor::Estimate estimate(Sizes sizes, int threads) const {
    Work work;
    for (const PhaseSpec& phase : image.phases) work += phase.work;
    const double flops = work.flops.at(sizes), bytes = work.bytes.at(sizes);
    const std::int64_t chunks = most_chunks(image, sizes);
    const auto most = static_cast<int>(std::min<std::int64_t>(threads > 0 ? threads : default_threads(), chunks));
    return {flops, bytes, one_core_seconds(flops, bytes), chunks, threads_for(flops, bytes, most)};
  }

  /// The threads of a call, and whether it tells call_trial how long it took.
  std::pair<int, bool> choose_threads(Sizes sizes, int threads, bool force) {
    if (force && threads > 0) return {std::min(threads, max_threads), false};
    const Executor::Estimate all = estimate(sizes, threads);
    if (all.threads == 1 || all.one_core_seconds >= short_call) return {all.threads, false};
    if (!(std::exchange(call_sizes, sizes) == sizes)) call_trial = {};
    return {call_trial.share() ? all.threads : 1, true};
  }

  std::uint32_t run(const Sequence& all, int threads, bool force) {
    Bindings first;
    all.bind(all.with, 0, first);
    check(first);
    const std::uint64_t call_begun = ticks();
    bool is_trial = false;
    std::tie(threads, is_trial) = choose_threads(all.most, threads, force);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      std::int64_t bytes = 0;
      if (__builtin_mul_overflow(image.arenas[a].bytes, image.arenas[a].units(all.most), &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
      if (grow(arenas[a], static_cast<std::size_t>(bytes), Buffer::zeroed)) packed = false;
    }
    grow(scratch, static_cast<std::size_t>(image.scratch_bytes) * static_cast<std::size_t>(threads), Buffer::allocate);
    if (checker) checker->prepare(threads, arenas);
    context.scratch = scratch.data();
    bind(first);
    context.packed = is_packed(first);
    std::copy_n(first.states.begin(), packed_states.size(), packed_states.begin());
    packed = false;
    sequence = &all;
    step = 0;
    forced = force;
    {
      const FlushToZero flush;
      if (threads == 1) run_alone();
      else run_team(threads, *this);
    }
    sequence = nullptr;
    if (is_trial) call_trial.done(call_begun, ticks());
    if (checker) checker->finish();
    const std::uint32_t fault = context.fault;
    packed = !fault && all.steps == 1;
    return fault;
  }

  /// As run_team on one thread, without asking for the number of chunks of each stage first.
  void run_alone() {
    start(1);
    do {
      for (; stage < image.stages.size(); end_stage()) run_all(0);
    } while (next_step());
  }

  /// All chunks of the stage.
  void run_all(int thread) {
    AllChunks all;
    call_native(image.entry, &context, thread, stage, &all);
  }

  void start(int threads) override {
    context.threads = threads;
    begin_step();
  }
  /// Of the stage, in the current step; found out again only where it may differ.
  const StageSize& size_of_stage() {
    const Sized now{{context.batch, context.length}, context.threads, context.packed, forced};
    if (!(now == sized)) std::fill(stage_sizes.begin(), stage_sizes.end(), StageSize{});
    sized = now;
    StageSize& size = stage_sizes[stage];
    if (size.chunks < 0) {
      const Work& work = image.phases[image.stages[stage].phase].work;
      size.chunks = call_native(image.entry, &context, 0, stage, nullptr);
      const double seconds =
          one_core_seconds(work.flops.at(now.sizes), work.bytes.at(now.sizes)) / static_cast<double>(image.stages[stage].repeats.extent(now.sizes));
      using enum StageSize::Sharing;
      size.sharing = size.chunks <= 1 ? never : forced || seconds >= always_shared ? always : seconds < always_alone ? never : tried;
    }
    return size;
  }
  void begin_step() {
    stage = 0;
    context.repeat = 0;
    begun = false;
    if (checker) checker->start(context);
  }
  void end_stage() {
    const StageSpec& spec = image.stages[stage];
    if (checker) checker->end_stage(context, spec);
    // A thread alone, which does not ask for their number, has no such chunks.
    const bool turns_back = spec.turns_back && context.threads > 1 && stage_sizes[stage].chunks > 0;
    ++stage;
    if (turns_back && ++context.repeat < spec.repeats.extent({context.batch, context.length})) stage -= spec.turn + 1;
    else if (spec.turns_back) context.repeat = 0;
  }
  /// Begins the next step of the sequence. Returns whether there is one, and none faulted.
  bool next_step() {
    if (context.fault || step + 1 == sequence->steps) return false;
    Bindings next;
    sequence->bind(sequence->with, ++step, next);
    bind(next);
    begin_step();
    return true;
  }

  std::int64_t next_phase(int thread) override {
    if (std::exchange(begun, true)) end_timed_stage();
    for (;; end_timed_stage()) {
      if ((stage == image.stages.size() || context.fault) && !next_step()) return 0;
      begun = true;
      const auto [chunks, sharing] = size_of_stage();
      bool shared = sharing == StageSize::Sharing::always;
      if (sharing == StageSize::Sharing::tried) {
        shared = trials[stage].share();
        if (trials[stage].measures()) {
          trial = &trials[stage];
          begun_at = ticks();
        }
      }
      if (chunks && shared) return chunks;
      if (chunks) run_all(thread);
    }
  }
  void end_timed_stage() {
    if (trial) std::exchange(trial, nullptr)->done(ticks() - begun_at);
    end_stage();
  }
  void run(int thread, ChunkSource& source) override { call_native(image.entry, &context, thread, stage, &source); }
};

Executor::Executor(StepImage image) : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.image = std::move(image);
  for (const BufferSpec& spec : impl.image.buffers) {
    const std::size_t count = spec.index + 1;
    if (spec.place == Place::input) impl.inputs = std::max(impl.inputs, count);
    if (spec.place == Place::state) impl.states = std::max(impl.states, count);
    if (spec.place == Place::output) impl.outputs = std::max(impl.outputs, count);
  }
  impl.arenas.resize(impl.image.arenas.size());
  impl.no_tables.resize(impl.inputs + 1);
  impl.packed_states.resize(impl.states);
  if (impl.image.checked) impl.checker = std::make_unique<Checker>(impl.image);
  impl.buffers.resize(impl.image.buffers.size());
  impl.stage_sizes.resize(impl.image.stages.size());
  impl.trials.resize(impl.image.stages.size());
  impl.counters.resize(impl.image.counters * counter_spacing);
  impl.context.buffers = impl.buffers.data();
  impl.context.counters = impl.counters.data();
  impl.context.threads = 1;
  impl.context.runtime = &impl;
  impl.context.clock = &nanoseconds;
  impl.context.span = &Impl::span;
  impl.context.checks = impl.checker.get();
}

Executor::~Executor() = default;

std::uint32_t Executor::run_sequence(const Sequence& sequence, int threads, bool force) {
  if (impl_->busy.exchange(true, std::memory_order_acquire))
    throw UserError("step", "a compiled step runs one call at a time, but another thread is running this one; give each thread its own with clone()");
  struct Release {
    std::atomic<bool>& busy;
    ~Release() { busy.store(false, std::memory_order_release); }
  } release{impl_->busy};
  return impl_->run(sequence, threads, force);
}

std::uint32_t Executor::run(const Bindings& bindings, int threads, bool force) {
  const auto bind = [](void* with, std::int64_t, Bindings& result) { result = *static_cast<const Bindings*>(with); };
  return run_sequence({1, bindings.sizes, bind, const_cast<Bindings*>(&bindings)}, threads, force);
}

Executor::Estimate Executor::estimate(Sizes sizes, int threads) const { return impl_->estimate(sizes, threads); }
std::int64_t Executor::last_step() const { return impl_->step; }
int Executor::last_threads() const { return impl_->context.threads; }
const std::byte* Executor::buffer(std::size_t index) const { return impl_->buffers.at(index); }
const StepImage& Executor::image() const { return impl_->image; }
std::size_t Executor::arena_bytes() const {
  return std::accumulate(impl_->arenas.begin(), impl_->arenas.end(), impl_->scratch.bytes(),
                         [](std::size_t bytes, const Buffer& arena) { return bytes + arena.bytes(); });
}

void Executor::observe(SpanObserver observer) { impl_->observer = std::move(observer); }

}  // namespace sinter::runtime
