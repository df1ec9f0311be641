#include "codegen/memory_plan.h"

#include <algorithm>
#include <map>

#include "codegen/kernels/product_plan.h"
#include "ir/error.h"

namespace sinter::codegen {

namespace {

constexpr std::int64_t line = 64;
std::int64_t aligned(std::int64_t bytes) { return (bytes + line - 1) / line * line; }

/// More than any computer can address: plans stay below, so that no sum of theirs overflows.
constexpr std::int64_t most_bytes = std::int64_t{1} << 46;
std::int64_t bounded(std::int64_t bytes) {
  if (bytes > most_bytes) throw UserError(str("the step's intermediate values take more than ", most_bytes >> 40, " TiB; make its values smaller"));
  return bytes;
}
std::int64_t bytes_of(std::int64_t rows, std::int64_t stride, std::int64_t element) {
  std::int64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(rows, stride, &bytes) && !__builtin_mul_overflow(bytes, element, &bytes);
  return bounded(fits ? bytes : most_bytes + 1);
}

/// When a value is first written and last read, in phases; and whether one loop has it all to itself.
struct Life {
  std::size_t first = ~std::size_t{0}, last = 0, loop = 0;
  bool one_loop = true, used = false;
  bool product = false;  ///< where a product is collected: its tiles may end below the last row
  bool staging = false;  ///< one for the whole chunk, not one per unit

  void touch(std::size_t phase, std::size_t in_loop, bool same_rows) {
    if (!used) loop = in_loop;
    one_loop = one_loop && same_rows && (!used || (first == phase && last == phase && loop == in_loop));
    first = std::min(first, phase);
    last = std::max(last, phase);
    used = true;
  }
};

struct Request {
  ValueId value;
  std::int64_t bytes;
  std::size_t first, last;
};

/// First fit by descending size; requests whose lifetimes overlap get separate memory. Returns the total.
std::int64_t place(std::vector<Request> requests, bool separate, std::vector<std::int64_t>& offsets, std::int64_t alignment) {
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.value < b.value; });
  std::vector<Request> placed;
  std::int64_t total = 0;
  for (const Request& request : requests) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const Request& other : placed)
      if (separate || (other.first <= request.last && request.first <= other.last))
        taken.emplace_back(offsets[other.value], offsets[other.value] + other.bytes);
    std::sort(taken.begin(), taken.end());
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken)
      if (begin < offset + request.bytes) offset = std::max(offset, (end + alignment - 1) / alignment * alignment);
    offsets[request.value] = offset;
    placed.push_back(request);
    total = std::max(total, bounded(offset + request.bytes));
  }
  return total;
}

}  // namespace

std::vector<std::uint32_t> buffers_of(const Kernel& kernel, const MemoryPlan& plan) {
  std::vector<std::uint32_t> buffers;
  const auto add = [&](ValueId value) {
    if (value == no_value) return;
    const std::uint32_t buffer = plan.buffer_of[value];
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) buffers.push_back(buffer);
  };
  for (const Read& read : kernel.reads) add(read.value);
  for (const Write& write : kernel.writes) add(write.value);
  for (const ValueId value : {kernel.product, kernel.slots, kernel.packed, kernel.staging}) add(value);
  return buffers;
}

MemoryPlan plan_memory(const Schedule& schedule, bool separate) {
  std::vector<Life> lives(schedule.values.size());
  for (const Kernel& kernel : schedule.kernels) {
    for (const Read& read : kernel.reads) lives[schedule.memory_of(read.value)].touch(kernel.phase, kernel.loop, read.same_rows);
    for (const Write& write : kernel.writes) lives[write.value].touch(kernel.phase, kernel.loop, true);
    if (kernel.product != no_value) {
      lives[kernel.product].touch(kernel.phase, kernel.loop, true);
      lives[kernel.product].product = true;
    }
    if (kernel.staging != no_value) {
      lives[kernel.staging].touch(kernel.phase, kernel.loop, true);
      lives[kernel.staging].staging = true;
    }
    if (kernel.packed != no_value) {
      lives[kernel.packed].touch(kernel.phase, kernel.loop, false);
      if (kernel.role == Kernel::Role::pack && schedule.phases[kernel.phase].once) lives[kernel.packed].last = BufferSpec::kept;  // for later calls
    }
    if (kernel.slots != no_value) lives[kernel.slots].touch(kernel.phase, kernel.loop, false);
  }

  MemoryPlan plan;
  std::vector<std::int64_t> offsets(schedule.values.size()), chunk_bytes(schedule.values.size());
  std::vector<Place> places(schedule.values.size(), Place::fixed_arena);
  std::vector<Request> fixed, batch;
  for (ValueId v = 0; v < schedule.values.size(); ++v) {
    const StoredValue& value = schedule.values[v];
    if (value.home == StoredValue::Home::input) places[v] = Place::input;
    if (value.home == StoredValue::Home::state) places[v] = Place::state;
    if (value.home == StoredValue::Home::output) places[v] = Place::output;
    if (value.home != StoredValue::Home::memory || value.base != no_value || !lives[v].used) continue;
    const SymbolicLayout at = symbolic_layout(value.type.shape);
    const auto element = static_cast<std::int64_t>(size_of(value.type.dtype));
    const bool per_sample = at.rows.is_batch() || at.cols.is_batch();
    const std::int64_t bytes = bytes_of(at.rows.factor(), at.stride.factor(), element);
    const Loop& loop = schedule.phases[lives[v].first].loops[lives[v].loop];
    if ((!separate || lives[v].product || lives[v].staging) && lives[v].one_loop && !at.cols.is_batch() &&
        !(loop.domain.units == Dim(1) && at.rows.is_batch())) {
      places[v] = Place::scratch;
      // In a loop of one chunk, the chunk has all rows.
      const std::int64_t rows =
          loop.domain.units == Dim(1) || lives[v].staging ? at.rows.factor() : loop.limits.most * (loop.domain.samples ? at.rows.factor() : 1);
      offsets[v] = plan.scratch_bytes;
      chunk_bytes[v] = bytes_of(rows + (lives[v].product ? most_tile_rows : 0), at.stride.factor(), element);
      plan.scratch_bytes = bounded(plan.scratch_bytes + aligned(chunk_bytes[v]) + readable_behind);
    } else if (per_sample) {
      places[v] = Place::batch_arena;
      batch.push_back({v, bytes, lives[v].first, lives[v].last});
    } else {
      fixed.push_back({v, aligned(bytes) + readable_behind, lives[v].first, lives[v].last});
    }
  }
  plan.fixed_bytes = place(std::move(fixed), separate, offsets, line);
  plan.batch_bytes = place(std::move(batch), separate, offsets, 1);

  plan.buffer_of.resize(schedule.values.size());
  std::map<std::pair<Place, std::uint32_t>, std::uint32_t> shared;  // a state and its new value
  for (ValueId v = 0; v < schedule.values.size(); ++v) {
    const StoredValue& value = schedule.values[v];
    if (value.base != no_value) continue;
    plan.buffer_of[v] = static_cast<std::uint32_t>(plan.buffers.size());
    if (places[v] == Place::state) {
      const auto [found, is_first] = shared.emplace(std::pair(places[v], value.index), plan.buffer_of[v]);
      plan.buffer_of[v] = found->second;
      if (!is_first) continue;
    }
    plan.buffers.push_back({places[v], value.index, value.type, offsets[v], value.name});
    BufferSpec& buffer = plan.buffers.back();
    buffer.first_phase = static_cast<std::uint32_t>(lives[v].first);
    buffer.last_phase = static_cast<std::uint32_t>(separate ? std::max(lives[v].last, schedule.phases.size()) : lives[v].last);
    buffer.chunk_bytes = chunk_bytes[v];
    buffer.own = lives[v].product || lives[v].staging;
    plan.serves_chunk.push_back(lives[v].staging);
  }
  for (ValueId v = 0; v < schedule.values.size(); ++v) plan.buffer_of[v] = plan.buffer_of[schedule.memory_of(v)];
  return plan;
}

std::string to_text(const Schedule& schedule, const MemoryPlan& plan) {
  std::size_t scratch = 0, arena = 0;
  for (ValueId v = 0; v < schedule.values.size(); ++v) {
    const Place place = plan.buffers[plan.buffer_of[v]].place;
    scratch += place == Place::scratch;
    arena += place == Place::fixed_arena || place == Place::batch_arena;
  }
  return str("memory: ", arena, " buffers in arenas of ", plan.fixed_bytes, " + ", plan.batch_bytes, " N bytes; ", scratch, " in chunk scratch of ",
             plan.scratch_bytes, " bytes a thread\n");
}

}  // namespace sinter::codegen
