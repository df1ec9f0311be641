#include "runtime/checker.h"

#include <algorithm>
#include <cstring>

#include "ir/error.h"
#include "ir/layout.h"
#include "runtime/interpreter.h"

namespace sinter::runtime {

void fill_with_nan(std::byte* begin, std::byte* end) {
  constexpr std::uint32_t pattern = 0xffa5a5a5;  // signalling; below 0
  for (; end - begin >= 4; begin += 4) std::memcpy(begin, &pattern, 4);
  std::memcpy(begin, &pattern, static_cast<std::size_t>(end - begin));
}

Checker::Checker(const StepImage& image)
    : CheckHooks{.enter = [](StepContext* context, std::int32_t thread, std::uint32_t kernel, std::int64_t chunk,
                             bool shared) { return of(context).enter_kernel(*context, thread, kernel, chunk, shared); },
                 .leave = [](StepContext* context, KernelCheck* check) { of(context).leave_kernel(*check); },
                 .outside =
                     [](StepContext* context, KernelCheck* check, std::byte* begin, std::int64_t offset, std::int64_t bytes, bool store) {
                       const Checker& self = of(context);
                       const KernelSpec& kernel = self.image_.kernels[check->kernel];
                       std::string memory = "memory of its own";
                       for (std::size_t i = 0; i < kernel.buffers.size(); ++i)
                         if (check->buffers[i].begin == begin)
                           memory = str("'", self.image_.buffers[kernel.buffers[i]].name, "', which has ", check->buffers[i].bytes);
                       of(context).report(*context, str("kernel ", check->kernel, " (", kernel.name, ") ", store ? "stores " : "loads ", bytes,
                                                        " bytes at byte ", offset, " of ", memory));
                     }},
      image_(image),
      bytes_(image.buffers.size()) {}

void Checker::prepare(int threads, std::span<Buffer> arenas) {
  arenas_.clear();
  for (Buffer& arena : arenas) arenas_.push_back(arena.data());
  failed_.store(false);
  if (threads_.size() < static_cast<std::size_t>(threads)) threads_ = std::vector<Thread>(static_cast<std::size_t>(threads));
  std::size_t most = 0;
  for (const KernelSpec& kernel : image_.kernels) most = std::max(most, kernel.buffers.size());
  for (Thread& thread : threads_) {
    thread.buffers.resize(most);
    thread.loads.clear();
    thread.stores.clear();
    thread.chunk = -1;
  }
}

void Checker::finish() const {
  if (failed_.load()) throw InternalError("checked step", failure_);
}

void Checker::report(StepContext& context, const std::string& what) {
  if (!failed_.exchange(true)) failure_ = what;
  std::atomic_ref(context.fault).store(~std::uint32_t{0}, std::memory_order_relaxed);  // nothing more is computed
}

// ---- memory ----

std::int64_t Checker::bytes_of(const BufferSpec& spec, const StepContext& context) const {
  if (spec.place == Place::scratch) return spec.chunk_bytes;
  if (spec.place == Place::arena && image_.arenas[spec.index].slots)
    return spec.chunk_bytes * image_.arenas[spec.index].units({context.batch, context.length});
  const Shape& shape = spec.type.shape;
  const bool table = shape.rank() && shape[0].is_rows();
  const Type type{spec.type.dtype, table ? shape.with(0, Dim(context.table_rows[spec.index])) : shape};
  const Sizes sizes{context.batch, context.length};
  auto bytes = static_cast<std::int64_t>(storage_bytes(type, sizes, spec.unpadded));
  if (spec.unpadded && spec.place == Place::input) {  // the last row may be read as if it had its padding
    const Layout padded = layout(type.shape, sizes);
    bytes += (padded.stride - padded.cols) * static_cast<std::int64_t>(size_of(type.dtype));
  }
  return bytes;
}

std::byte* Checker::begin_of(std::uint32_t buffer, const StepContext& context, std::int32_t thread, bool shared) const {
  const BufferSpec& spec = image_.buffers[buffer];
  if (spec.place != Place::scratch) return context.buffers[buffer];
  return context.scratch + (shared && !spec.own ? 0 : thread) * image_.scratch_bytes + spec.offset;
}

void Checker::start(const StepContext& context) {
  kept_.clear();
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    const BufferSpec& spec = image_.buffers[i];
    bytes_[i] = bytes_of(spec, context);
    if (spec.place == Place::output) fill_with_nan(context.buffers[i], context.buffers[i] + bytes_[i]);
    if (context.packed && spec.place == Place::arena && spec.last_phase == BufferSpec::kept)
      kept_.emplace_back(context.buffers[i], context.buffers[i] + bytes_[i]);
  }
  std::sort(kept_.begin(), kept_.end());
  for (std::size_t a = 0; a < arenas_.size(); ++a) {
    std::byte *from = arenas_[a], *last = from + image_.arenas[a].bytes * image_.arenas[a].units({context.batch, context.length});
    for (const auto& [begin, end] : kept_)
      if (begin >= from && end <= last) {
        fill_with_nan(from, begin);
        from = end;
      }
    fill_with_nan(from, last);
  }
  fill_with_nan(context.scratch, context.scratch + image_.scratch_bytes * context.threads);
}

void Checker::end_stage(StepContext& context, StageSpec stage) {
  compare(context, stage.phase);
  for (Thread& thread : threads_) thread.chunk = -1;
  if (!stage.last) return;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    const BufferSpec& spec = image_.buffers[i];
    if (spec.place == Place::arena && spec.last_phase == stage.phase) fill_with_nan(context.buffers[i], context.buffers[i] + bytes_[i]);
  }
  fill_with_nan(context.scratch, context.scratch + image_.scratch_bytes * context.threads);
}

// ---- kernels ----

KernelCheck* Checker::enter_kernel(const StepContext& context, std::int32_t thread, std::uint32_t kernel, std::int64_t chunk, bool shared) {
  Thread& self = threads_[static_cast<std::size_t>(thread)];
  if (self.chunk != chunk) self.filled.assign(bytes_.size(), false);
  self.chunk = chunk;
  self.shared = shared;
  self.check = {self.buffers.data(), thread, kernel};
  const std::vector<std::uint32_t>& buffers = image_.kernels[kernel].buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::uint32_t buffer = buffers[i];
    std::byte* begin = begin_of(buffer, context, thread, shared);
    self.buffers[i] = {begin, bytes_[buffer], 0, 0, 0, 0};
    // Only what this chunk uses: memory that other threads share is next to it.
    if (image_.buffers[buffer].place != Place::scratch || shared || self.filled[buffer]) continue;
    fill_with_nan(begin, begin + bytes_[buffer]);
    self.filled[buffer] = true;
  }
  return &self.check;
}

void Checker::leave_kernel(const KernelCheck& check) {
  Thread& self = threads_[static_cast<std::size_t>(check.thread)];
  const std::vector<std::uint32_t>& buffers = image_.kernels[check.kernel].buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const BufferSpec& spec = image_.buffers[buffers[i]];
    if (spec.place == Place::scratch && (!self.shared || spec.own)) continue;  // no other thread has it
    BufferCheck& b = check.buffers[i];
    if (b.load_end) self.loads.push_back({b.begin + b.load_begin, b.begin + b.load_end, self.chunk, check.kernel, buffers[i]});
    if (b.store_end) self.stores.push_back({b.begin + b.store_begin, b.begin + b.store_end, self.chunk, check.kernel, buffers[i]});
    b.load_end = b.store_end = 0;
  }
}

std::string Checker::name_of(const Touch& touch) const {
  return str("chunk ", touch.chunk, " of kernel ", touch.kernel, " (", image_.kernels[touch.kernel].name, ")");
}

void Checker::compare(StepContext& context, std::uint32_t phase) {
  loads_.clear();
  stores_.clear();
  for (Thread& thread : threads_) {
    loads_.insert(loads_.end(), thread.loads.begin(), thread.loads.end());
    stores_.insert(stores_.end(), thread.stores.begin(), thread.stores.end());
    thread.loads.clear();
    thread.stores.clear();
  }
  // Finds memory that one chunk stores and another accesses.
  const auto clash = [&](const Touch& touch, const char* does, const Touch& store) {
    if (touch.chunk == store.chunk && touch.buffer == store.buffer) return false;
    const bool same = touch.buffer == store.buffer;
    report(context, str("in phase ", phase, " ", name_of(store), " stores to '", image_.buffers[store.buffer].name, "' what ", name_of(touch), does,
                        same ? " too" : str(" as '", image_.buffers[touch.buffer].name, "'"), ": ",
                        std::min(touch.end, store.end) - std::max(touch.begin, store.begin), " bytes"));
    return true;
  };
  std::sort(stores_.begin(), stores_.end(), [](const Touch& a, const Touch& b) { return a.begin < b.begin; });
  std::size_t spans = 0;  // stores, with overlapping ones of a chunk merged: disjoint, if the schedule is right
  for (const Touch& store : stores_) {
    if (!spans || stores_[spans - 1].end <= store.begin) {
      stores_[spans++] = store;
      continue;
    }
    if (clash(store, " stores", stores_[spans - 1])) return;
    stores_[spans - 1].end = std::max(stores_[spans - 1].end, store.end);
  }
  stores_.resize(spans);
  for (const Touch& load : loads_) {
    auto store = std::partition_point(stores_.begin(), stores_.end(), [&](const Touch& s) { return s.end <= load.begin; });
    for (; store != stores_.end() && store->begin < load.end; ++store)
      if (clash(load, " loads", *store)) return;
  }
}

}  // namespace sinter::runtime
