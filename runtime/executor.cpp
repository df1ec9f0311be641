#include "runtime/executor.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "runtime/flush_to_zero.h"
#include "runtime/isa/kernels.h"
#include "runtime/team.h"

namespace sinter::runtime {

namespace {

/// Claim counters lie a cache line apart.
constexpr std::size_t claim_spacing = 16;

void barrier(StepContext* context, std::int32_t) { team_barrier(context->threads); }

struct Work {
  double flops = 0, bytes = 0;
  std::int64_t chunks = 1;  ///< of the phase that has most
};

Work work_of(const StepImage& image, std::int64_t batch) {
  Work work;
  const auto n = static_cast<double>(batch);
  for (const PhaseSpec& phase : image.phases) {
    work.flops += phase.flops_fixed + phase.flops_per_sample * n;
    work.bytes += phase.bytes_fixed + phase.bytes_per_sample * n;
    const std::int64_t rows = phase.batch_rows_per_chunk;
    const std::int64_t loops = rows > 0 ? phase.batch_loops * ((batch + rows - 1) / rows) : 0;
    work.chunks = std::max(work.chunks, phase.chunks_fixed + loops);
  }
  return work;
}

}  // namespace

struct Executor::Impl {
  StepImage image;
  std::vector<std::byte*> buffers;
  std::vector<std::uint32_t> claims;
  std::vector<std::int64_t> no_tables;  ///< zeros, for callers without tables
  Buffer fixed_arena, batch_arena, scratch, ticks;
  std::size_t kernels = 0;
  StepContext context{};
  std::size_t inputs = 0, states = 0, outputs = 0;  ///< bindings that the image needs
  std::atomic<bool> busy{false};

  void grow(Buffer& arena, std::size_t bytes) const {
    if (arena.bytes() >= bytes && arena) return;
    arena = {};  // first, so that the pool can hand it out again
    arena = Buffer::zeroed(bytes);
  }

  void require(std::string_view what, std::size_t got, std::size_t needed) const {
    if (got < needed) throw InternalError("executor", str("the step needs ", needed, " ", what, ", got ", got));
  }

  void bind(const Bindings& bindings) {
    require("inputs", bindings.inputs.size(), inputs);
    require("states", bindings.states.size(), states);
    require("outputs", bindings.outputs.size(), outputs);
    if (bindings.batch < 1) throw InternalError("executor", str("the batch size must be at least 1, got ", bindings.batch));
    const std::int64_t padded = padded_batch(bindings.batch);
    grow(fixed_arena, static_cast<std::size_t>(image.fixed_bytes));
    grow(batch_arena, static_cast<std::size_t>(image.batch_bytes * padded));
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
        case Place::fixed_arena:
          buffers[i] = fixed_arena.data() + spec.offset;
          break;
        case Place::batch_arena:
          buffers[i] = batch_arena.data() + spec.offset * padded;
          break;
        case Place::scratch:
          buffers[i] = nullptr;
          break;
      }
    }
    context.batch = bindings.batch;
    context.table_rows = bindings.table_rows.empty() ? no_tables.data() : bindings.table_rows.data();
  }

  int choose_threads(std::int64_t batch, int threads, bool force) const {
    if (force && threads > 0) return std::min(threads, max_threads);
    const Work work = work_of(image, batch);
    const auto most = static_cast<int>(std::min<std::int64_t>(threads > 0 ? threads : default_threads(), work.chunks));
    return threads_for(work.flops, work.bytes, most);
  }

  std::uint32_t run(const Bindings& bindings, int threads, bool force) {
    bind(bindings);
    threads = choose_threads(bindings.batch, threads, force);
    grow(scratch, static_cast<std::size_t>(image.scratch_bytes) * static_cast<std::size_t>(threads));
    context.scratch = scratch.data();
    context.ticks = nullptr;
    if (kernels) {
      const std::size_t bytes = kernels * sizeof(std::uint64_t) * max_threads;
      grow(ticks, bytes);
      context.ticks = reinterpret_cast<std::uint64_t*>(ticks.data());
    }
    std::fill(claims.begin(), claims.end(), 0);
    context.fault = 0;
    const TeamBody body = [](void* self, int thread, int) {
      const FlushToZero flush;
      Impl& impl = *static_cast<Impl*>(self);
      impl.image.entry(&impl.context, thread);
    };
    run_team(threads, body, this, &context.threads);
    return std::atomic_ref(context.fault).load();
  }
};

Executor::Executor(StepImage image) : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.image = std::move(image);
  impl.buffers.resize(impl.image.buffers.size());
  impl.claims.resize(std::max<std::size_t>(impl.image.phases.size(), 1) * claim_spacing);
  for (const BufferSpec& spec : impl.image.buffers) {
    const std::size_t count = spec.index + 1;
    if (spec.place == Place::input) impl.inputs = std::max(impl.inputs, count);
    if (spec.place == Place::state) impl.states = std::max(impl.states, count);
    if (spec.place == Place::output) impl.outputs = std::max(impl.outputs, count);
  }
  impl.no_tables.resize(impl.inputs + 1);
  impl.context.buffers = impl.buffers.data();
  impl.context.claims = impl.claims.data();
  impl.context.threads = 1;
  impl.context.barrier = &barrier;
  impl.context.gemm = isa::kernels().gemm;
  impl.context.runtime = &impl;
}

Executor::~Executor() = default;

std::uint32_t Executor::run(const Bindings& bindings, int threads, bool force) {
  if (impl_->busy.exchange(true, std::memory_order_acquire))
    throw UserError("step",
                    "one call at a time may run a compiled step, but another thread is running this one; give each thread its own with clone()");
  struct Release {
    std::atomic<bool>& busy;
    ~Release() { busy.store(false, std::memory_order_release); }
  } release{impl_->busy};
  return impl_->run(bindings, threads, force);
}

int Executor::last_threads() const { return impl_->context.threads; }
const std::byte* Executor::buffer(std::size_t index) const { return impl_->buffers.at(index); }
const StepImage& Executor::image() const { return impl_->image; }
std::size_t Executor::arena_bytes() const { return impl_->fixed_arena.bytes() + impl_->batch_arena.bytes() + impl_->scratch.bytes(); }

void Executor::count_ticks(std::size_t kernels) {
  impl_->kernels = kernels;
  impl_->ticks = {};
}

std::vector<std::uint64_t> Executor::ticks() const {
  std::vector<std::uint64_t> total(impl_->kernels);
  if (!impl_->ticks) return total;
  const auto* counts = reinterpret_cast<const std::uint64_t*>(impl_->ticks.data());
  for (std::size_t i = 0; i < impl_->kernels * max_threads; ++i) total[i % impl_->kernels] += counts[i];
  return total;
}

}  // namespace sinter::runtime
