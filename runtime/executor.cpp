#include "runtime/executor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "ir/error.h"
#include "runtime/checker.h"
#include "runtime/flush_to_zero.h"
#include "runtime/team.h"

namespace sinter::runtime {

namespace {

/// Generated code has no type information in front of it, which clang's sanitizer of indirect calls would read.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
void call_native(StepEntry entry, StepContext* context, int thread) {
  entry(context, thread);
}

void barrier(StepContext* context, std::int32_t) { team_barrier(context->threads); }

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

/// The state of one step of a sequence that the threads share. Three rotate: while one runs the next is bound, and a thread may still read how the
/// previous one ended.
struct Lane {
  std::vector<std::byte*> buffers;
  std::vector<std::uint32_t> claims;
  StepContext context{};
};

struct Executor::Impl {
  StepImage image;
  std::array<Lane, 3> lanes;
  std::vector<std::int64_t> no_tables;  ///< zeros, for callers without tables
  std::vector<Buffer> arenas;           ///< of StepImage::arenas
  Buffer scratch;
  SpanObserver observer;
  std::unique_ptr<Checker> checker;                 ///< of a checked step
  std::size_t inputs = 0, states = 0, outputs = 0;  ///< bindings that the image needs
  std::atomic<bool> busy{false};
  std::int64_t last_step = 0;             ///< that ran
  std::vector<std::byte*> packed_states;  ///< states of the last run
  bool packed = false;                    ///< the last run was one step and ended well

  static void span(StepContext* context, std::int32_t thread, std::uint32_t kernel, std::int64_t begin, std::int64_t end, std::uint64_t start,
                   std::uint64_t stop) {
    const Impl& impl = *static_cast<const Impl*>(context->runtime);
    if (impl.observer) impl.observer({thread, kernel, begin, end, {context->batch, context->length}, start, stop});
  }

  Lane& lane(std::int64_t step) { return lanes[static_cast<std::size_t>(step) % lanes.size()]; }

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

  void bind(Lane& lane, const Bindings& bindings, int threads) {
    for (std::size_t i = 0; i < lane.buffers.size(); ++i) {
      const BufferSpec& spec = image.buffers[i];
      switch (spec.place) {
        case Place::input:
          lane.buffers[i] = bindings.inputs[spec.index];
          break;
        case Place::state:
          lane.buffers[i] = bindings.states[spec.index];
          break;
        case Place::output:
          lane.buffers[i] = bindings.outputs[spec.index];
          break;
        case Place::arena:
          lane.buffers[i] = arenas[spec.index].data() + spec.offset * image.arenas[spec.index].units(bindings.sizes);
          break;
        case Place::scratch:
          lane.buffers[i] = nullptr;
          break;
      }
    }
    lane.claims.assign(std::max<std::size_t>(image.claims, 1) * static_cast<std::size_t>(threads) * claim_spacing, 0);
    lane.context.claims = lane.claims.data();
    lane.context.batch = bindings.sizes.n;
    lane.context.length = bindings.sizes.t;
    lane.context.table_rows = bindings.table_rows.empty() ? no_tables.data() : bindings.table_rows.data();
    lane.context.scratch = scratch.data();
    lane.context.fault = 0;
    lane.context.packed = 0;
    lane.context.threads = threads;
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

  int choose_threads(Sizes sizes, int threads, bool force) const {
    if (force && threads > 0) return std::min(threads, max_threads);
    return estimate(sizes, threads).threads;
  }

  std::uint32_t run(const Sequence& sequence, int threads, bool force) {
    Bindings first;
    sequence.bind(sequence.with, 0, first);
    check(first);
    threads = choose_threads(sequence.most, threads, force);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      std::int64_t bytes = 0;
      if (__builtin_mul_overflow(image.arenas[a].bytes, image.arenas[a].units(sequence.most), &bytes))
        bytes = std::numeric_limits<std::int64_t>::max();
      if (grow(arenas[a], static_cast<std::size_t>(bytes), Buffer::zeroed)) packed = false;
    }
    grow(scratch, static_cast<std::size_t>(image.scratch_bytes) * static_cast<std::size_t>(threads), Buffer::allocate);
    for (Lane& lane : lanes) lane.claims.reserve(std::max<std::size_t>(image.claims, 1) * static_cast<std::size_t>(threads) * claim_spacing);
    if (checker) checker->prepare(threads, arenas);
    bind(lane(0), first, threads);
    lane(0).context.packed = is_packed(first);
    std::copy_n(first.states.begin(), packed_states.size(), packed_states.begin());
    packed = false;
    struct Call {
      Impl& impl;
      const Sequence& sequence;
      std::int64_t last = 0;
    } call{*this, sequence};
    const TeamBody body = [](void* argument, int thread, int granted) {
      const FlushToZero flush;
      auto& [impl, sequence, last] = *static_cast<Call*>(argument);
      for (std::int64_t step = 0;; ++step) {
        Lane& now = impl.lane(step);
        const bool more = step + 1 < sequence.steps;
        if (thread == 0 && more) {
          Bindings next;
          sequence.bind(sequence.with, step + 1, next);
          impl.bind(impl.lane(step + 1), next, granted);
        }
        call_native(impl.image.entry, &now.context, thread);
        if (more) team_barrier(granted);
        if (!more || std::atomic_ref(now.context.fault).load(std::memory_order_relaxed)) {
          if (thread == 0) last = step;
          return;
        }
      }
    };
    run_team(threads, body, &call, &lane(0).context.threads);
    last_step = call.last;
    if (checker) checker->finish();
    const std::uint32_t fault = std::atomic_ref(lane(last_step).context.fault).load();
    packed = !fault && sequence.steps == 1;
    return fault;
  }
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
  for (Lane& lane : impl.lanes) {
    lane.buffers.resize(impl.image.buffers.size());
    lane.context.buffers = lane.buffers.data();
    lane.context.threads = 1;
    lane.context.barrier = &barrier;
    lane.context.runtime = &impl;
    lane.context.clock = &nanoseconds;
    lane.context.span = &Impl::span;
    lane.context.checks = impl.checker.get();
  }
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
std::int64_t Executor::last_step() const { return impl_->last_step; }
int Executor::last_threads() const { return impl_->lane(impl_->last_step).context.threads; }
const std::byte* Executor::buffer(std::size_t index) const { return impl_->lane(impl_->last_step).buffers.at(index); }
const StepImage& Executor::image() const { return impl_->image; }
std::size_t Executor::arena_bytes() const {
  return std::accumulate(impl_->arenas.begin(), impl_->arenas.end(), impl_->scratch.bytes(),
                         [](std::size_t bytes, const Buffer& arena) { return bytes + arena.bytes(); });
}

void Executor::observe(SpanObserver observer) { impl_->observer = std::move(observer); }

}  // namespace sinter::runtime
