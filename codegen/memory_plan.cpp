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

/// When a value is first written and last read, in phases and in calls of kernels; and whether one loop has it all to itself.
struct Life {
  std::size_t first = ~std::size_t{0}, last = 0, loop = 0;
  std::size_t first_call = ~std::size_t{0}, last_call = 0;
  bool one_loop = true, used = false;
  bool overhangs = false;       ///< a product is collected there: its tiles may end below the last row
  bool of_call = false;         ///< one for the whole chunk, not one per unit
  bool is_shared = false;       ///< by threads that share the steps of a loop over time
  const Loop* slots = nullptr;  ///< whose chunks have one each

  void touch(const Kernel& kernel, std::size_t call, bool same_rows) {
    if (!used) loop = kernel.loop;
    one_loop = one_loop && same_rows && (!used || (first == kernel.phase && last == kernel.phase && loop == kernel.loop));
    first = std::min(first, kernel.phase);
    last = std::max(last, kernel.phase);
    first_call = std::min(first_call, call);
    last_call = std::max(last_call, call);
    used = true;
  }
};

/// The order in which a thread calls the kernels on its chunks. Those of a phase in which threads share a sample count as one: they run at the same
/// time.
std::vector<std::size_t> order_of_calls(const Schedule& schedule) {
  std::vector<std::size_t> order(schedule.kernels.size());
  std::size_t next = 0;
  for (const Phase& phase : schedule.phases) {
    for (const Loop& loop : phase.loops)
      for (const std::size_t k : loop.kernels) order[k] = phase.stages ? next : next++;
    next += phase.stages > 0;
  }
  return order;
}

std::vector<Life> lives_of(const Schedule& schedule) {
  std::vector<Life> lives(schedule.values.size());
  const std::vector<std::size_t> order = order_of_calls(schedule);
  for (std::size_t k = 0; k < schedule.kernels.size(); ++k) {
    const Kernel& kernel = schedule.kernels[k];
    const auto touch = [&](ValueId value, bool same_rows) {
      if (value != no_value) lives[schedule.memory_of(value)].touch(kernel, order[k], same_rows);
    };
    for (const Read& read : kernel.reads) touch(read.value, read.same_rows);
    for (const Write& write : kernel.writes) touch(write.value, true);
    for (const Memory& memory : kernel.memory) {
      touch(memory.value, memory.purpose != Memory::slots && memory.purpose != Memory::packed);
      Life& life = lives[memory.value];
      if (kernel.is_private(memory)) (memory.of_call ? life.of_call : life.overhangs) = true;
      life.is_shared = life.is_shared || kernel.cuts_steps();
      if (kernel.is<Kernel::Partial>() && memory.purpose == Memory::slots) life.slots = &schedule.phases[kernel.phase].loops[kernel.loop];
      if (kernel.is<Kernel::Pack>() && schedule.phases[kernel.phase].once) life.last = BufferSpec::kept;  // for later calls
    }
  }
  return lives;
}

struct Request {
  ValueId value;
  std::int64_t bytes;
  std::size_t first, last;
};

/// Bytes of one slot: of values of this type, whose first axis numbers slots.
std::int64_t slot_bytes(const Type& type) {
  const SymbolicLayout at = symbolic_layout(type.shape);
  const auto element = static_cast<std::int64_t>(size_of(type.dtype));
  return type.shape.rank() == 1 ? element : bytes_of(at.rows.factor() / type.shape[0].factor(), at.stride.factor(), element);
}

/// The arena for values of so many bytes for each unit of `scale`, or for each slot of the chunks of a loop over so many; it is made when it is first
/// asked for.
std::uint32_t arena_for(std::vector<Arena>& arenas, Dim scale, std::int64_t bytes, const Loop* slots = nullptr) {
  Arena wanted{.scale = scale, .granule = bytes % line ? line : 1};
  if (slots) wanted.slots = slots->limits;
  const auto index = static_cast<std::uint32_t>(std::find(arenas.begin(), arenas.end(), wanted) - arenas.begin());
  if (index == arenas.size()) arenas.push_back(wanted);
  return index;
}

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
    const std::uint32_t buffer = plan.buffer_of[value];
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) buffers.push_back(buffer);
  };
  for (const Read& read : kernel.reads) add(read.value);
  for (const Write& write : kernel.writes) add(write.value);
  for (const Memory& memory : kernel.memory) add(memory.value);
  return buffers;
}

MemoryPlan plan_memory(const Schedule& schedule, bool separate) {
  const std::vector<Life> lives = lives_of(schedule);
  MemoryPlan plan;
  std::vector<std::int64_t> offsets(schedule.values.size()), chunk_bytes(schedule.values.size());
  std::vector<Place> places(schedule.values.size(), Place::arena);
  std::vector<std::uint32_t> arena_of(schedule.values.size());
  std::vector<std::vector<Request>> requests;  // by arena
  std::vector<Request> scratch;
  // What became part of a kernel that stores it no longer.
  const auto is_unused = [&](ValueId v) { return schedule.values[v].home == StoredValue::Home::memory && !lives[schedule.memory_of(v)].used; };
  for (ValueId v = 0; v < schedule.values.size(); ++v) {
    const StoredValue& value = schedule.values[v];
    if (value.home == StoredValue::Home::input) places[v] = Place::input;
    if (value.home == StoredValue::Home::state) places[v] = Place::state;
    if (value.home == StoredValue::Home::output) places[v] = Place::output;
    if (value.home != StoredValue::Home::memory || value.base != no_value || is_unused(v)) continue;
    const SymbolicLayout at = symbolic_layout(value.type.shape);
    const auto element = static_cast<std::int64_t>(size_of(value.type.dtype));
    const Dim scale = at.rows.with_factor(1) * at.stride.with_factor(1);
    if (const Loop* slots = lives[v].slots) {
      chunk_bytes[v] = slot_bytes(value.type);
      arena_of[v] = arena_for(plan.arenas, slots->domain.units, chunk_bytes[v], slots);
      requests.resize(plan.arenas.size());
      requests[arena_of[v]].push_back({v, chunk_bytes[v], lives[v].first, lives[v].last});
      continue;
    }
    const Loop& loop = schedule.phases[lives[v].first].loops[lives[v].loop];
    const bool has_chunks = lives[v].of_call || (loop.domain.units == Dim(1) ? at.rows.is_fixed()
                                                 : loop.domain.samples       ? at.rows.per_sample().is_fixed()
                                                                             : at.rows == loop.domain.units);
    if ((!separate || lives[v].overhangs || lives[v].of_call) && lives[v].one_loop && at.cols.is_fixed() && has_chunks) {
      places[v] = Place::scratch;
      // In a loop of one chunk, the chunk has all rows.
      const std::int64_t rows = loop.domain.units == Dim(1) || lives[v].of_call
                                    ? at.rows.factor()
                                    : loop.limits.most_joined() * (loop.domain.samples ? at.rows.factor() : 1);
      chunk_bytes[v] = bytes_of(rows + (lives[v].overhangs ? most_tile_rows : 0), at.stride.factor(), element);
      scratch.push_back({v, aligned(chunk_bytes[v]) + readable_behind, lives[v].first_call, lives[v].last_call});
    } else {
      const std::int64_t bytes = bytes_of(at.rows.factor(), at.stride.factor(), element);
      const std::int64_t all = scale.is_fixed() ? aligned(bytes) + readable_behind : bytes;
      arena_of[v] = arena_for(plan.arenas, scale, all);
      requests.resize(plan.arenas.size());
      requests[arena_of[v]].push_back({v, all, lives[v].first, lives[v].last});
    }
  }
  plan.scratch_bytes = place(std::move(scratch), false, offsets, line);
  for (std::size_t a = 0; a < requests.size(); ++a)
    plan.arenas[a].bytes = place(std::move(requests[a]), separate, offsets, plan.arenas[a].granule == 1 ? line : 1);

  plan.buffer_of.resize(schedule.values.size());
  std::map<std::pair<Place, std::uint32_t>, std::uint32_t> shared;  // a state and its new value
  for (ValueId v = 0; v < schedule.values.size(); ++v) {
    const StoredValue& value = schedule.values[v];
    if (value.base != no_value || is_unused(v)) continue;
    plan.buffer_of[v] = static_cast<std::uint32_t>(plan.buffers.size());
    if (places[v] == Place::state) {
      const auto [found, is_first] = shared.emplace(std::pair(places[v], value.index), plan.buffer_of[v]);
      plan.buffer_of[v] = found->second;
      if (!is_first) continue;
    }
    plan.buffers.push_back({places[v], places[v] == Place::arena ? arena_of[v] : value.index, value.type, offsets[v], value.name});
    BufferSpec& buffer = plan.buffers.back();
    buffer.unpadded = value.unpadded;
    buffer.first_phase = static_cast<std::uint32_t>(lives[v].first);
    buffer.last_phase = static_cast<std::uint32_t>(separate ? std::max(lives[v].last, schedule.phases.size()) : lives[v].last);
    buffer.chunk_bytes = chunk_bytes[v];
    buffer.own = (lives[v].overhangs || lives[v].of_call) && !lives[v].is_shared;
    plan.serves_chunk.push_back(lives[v].of_call);
  }
  for (ValueId v = 0; v < schedule.values.size(); ++v) plan.buffer_of[v] = plan.buffer_of[schedule.memory_of(v)];
  return plan;
}

std::string to_text(const Schedule& schedule, const MemoryPlan& plan) {
  std::size_t scratch = 0, arena = 0;
  for (ValueId v = 0; v < schedule.values.size(); ++v) {
    const Place place = plan.buffers[plan.buffer_of[v]].place;
    scratch += place == Place::scratch;
    arena += place == Place::arena;
  }
  std::string text = str("memory: ", arena, " buffers in arenas of ");
  for (const Arena& each : plan.arenas) {
    text += str(&each == plan.arenas.data() ? "" : " + ", each.bytes);
    if (each.slots) text += " a chunk";
    else if (!each.scale.is_fixed()) text += str(" ", each.scale);
    if (each.granule != 1) text += str(" (in steps of ", each.granule, ")");
  }
  return text + str(plan.arenas.empty() ? "0" : "", " bytes; ", scratch, " in chunk scratch of ", plan.scratch_bytes, " bytes a thread\n");
}

}  // namespace sinter::codegen
