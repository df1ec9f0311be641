#include "codegen/chunk_sizes.h"

#include <algorithm>
#include <bit>

#include "codegen/kernels/kinds.h"
#include "codegen/planner.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using ir::NodeId;

ChunkSizes::ChunkSizes(const ir::Graph& graph, const Schedule& schedule) : graph_(graph), s_(schedule), readers_(schedule.values.size()) {
  for (std::size_t k = 0; k < s_.kernels.size(); ++k)
    for (const Read& read : s_.kernels[k].reads) readers_[s_.memory_of(read.value)].push_back(k);
}

Work ChunkSizes::work_of(const Kernel& kernel) const {
  ir::Cost flops, bytes;
  const auto of = [&](const ir::Cost& cost, const Type& type) {
    return kernel.touched_rows && type.shape == kernel.shape ? of_touched_rows(kernel, cost) : cost;
  };
  if (!kernel.is<Kernel::Combine>())
    for (const NodeId id : kernel.nodes) flops += id == kernel.anchor ? ir::flops(graph_, id) : of(ir::flops(graph_, id), graph_.node(id).type);
  const auto bytes_of = [&](ValueId value) { return of(ir::bytes(s_.values[value].type), s_.values[value].type); };
  for (const Read& read : kernel.reads) bytes += bytes_of(read.value);
  if (kernel.is<Kernel::Pack>()) bytes += bytes_of(kernel.memory_for(Memory::packed));
  for (const Write& write : kernel.writes)
    if (!is_tap(kernel, write)) bytes += bytes_of(write.value);
  return {flops, bytes};
}

/// What only taps see does not count: chunks, and with them the order of sums, are the same without. A result without padding is nothing that
/// kernels could read instead.
bool ChunkSizes::is_tap(const Kernel& kernel, const Write& write) const {
  const bool is_read = !readers_[write.value].empty();
  const auto has_another = [&](const Write& other) {
    return other.node == write.node && other.value != write.value && !(is_read && s_.values[other.value].unpadded);
  };
  return s_.values[write.value].home == StoredValue::Home::memory && std::any_of(kernel.writes.begin(), kernel.writes.end(), has_another);
}

/// Of a cost over all rows of a scatter's table, that of as many as there are updates.
ir::Cost ChunkSizes::of_touched_rows(const Kernel& scatter, const ir::Cost& all) const {
  const Dim updates = graph_.node(graph_.node(scatter.anchor).inputs[0]).type.shape.elements();
  const auto rows = static_cast<double>(scatter.shape[0].factor());
  return ir::Cost::of(updates.with_factor(1), all[Dim(1)] * static_cast<double>(updates.factor()) / rows);
}

/// More chunks than eight where each has enough work, by the cost model of the runtime (runtime/team.h).
void ChunkSizes::set_parts(Loop& loop) const {
  // Seconds of the model; convolutions, which are faster than it says, lose more by small chunks.
  const double worth = loop.pace == Pace::rows ? 200e-6 : 800e-6;
  Work work;
  for (const std::size_t k : loop.kernels) work += s_.kernels[k].work;
  loop.limits.most_parts = 64;
  for (std::size_t i = 0; i < work.flops.factors.size(); ++i) {
    const double seconds = std::max(work.flops.factors[i] / 30e9, work.bytes.factors[i] / 10e9);
    loop.limits.work.factors[i] = static_cast<std::int64_t>(std::min(1024 * seconds / worth, 1e6));
  }
}

/// Bytes of a unit of what one pass over a chunk keeps in chunk scratch.
double ChunkSizes::kept_bytes(const Loop& loop) const {
  double bytes = 0;
  const auto add = [&](ValueId value) { bytes += unit_bytes(loop, value); };
  for (const std::size_t k : loop.kernels) {
    const Kernel& kernel = s_.kernels[k];
    const auto is_read_later = [&](std::size_t reader) { return s_.kernels[reader].phase != kernel.phase; };
    for (const Write& write : kernel.writes)
      if (s_.values[write.value].home == StoredValue::Home::memory && !is_tap(kernel, write) &&
          std::none_of(readers_[write.value].begin(), readers_[write.value].end(), is_read_later))
        add(write.value);
    for (const Memory& memory : kernel.memory)
      if (memory.purpose == Memory::collected && kernel.is_private(memory)) add(memory.value);
  }
  return bytes;
}

double ChunkSizes::unit_bytes(const Loop& loop, ValueId value) const {
  const SymbolicLayout at = symbolic_layout(s_.values[value].type.shape);
  return static_cast<double>(at.rows.factor() * at.stride.factor()) * static_cast<double>(size_of(s_.values[value].type.dtype)) /
         (loop.domain.samples ? 1.0 : static_cast<double>(std::max<std::int64_t>(1, loop.domain.units.factor())));
}

/// How many samples have the rows of a tile, in each tensor of the loop.
std::int64_t ChunkSizes::samples_of_a_tile(const Loop& loop) const {
  constexpr std::int64_t tile = 8;
  std::int64_t rows = tile;
  for (const std::size_t k : loop.kernels) rows = std::min(rows, symbolic_layout(s_.kernels[k].shape).rows.factor());
  return tile / static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1))));
}

void ChunkSizes::set(Loop& loop) const {
  double bytes = 1;
  for (const std::size_t k : loop.kernels) {
    const auto add = [&](ValueId value) { bytes += unit_bytes(loop, value); };
    for (const Read& read : s_.kernels[k].reads)
      if (read.same_rows) add(read.value);
    for (const Write& write : s_.kernels[k].writes)
      if (!is_tap(s_.kernels[k], write)) add(write.value);
    if (!loop.domain.units.is_batch() || s_.kernels[k].anchor == ir::no_node) continue;
    const NodeId left = graph_.node(s_.kernels[k].anchor).inputs[0];
    if (ir::is_row_view(graph_, left) && graph_.node(left).type.shape[0].is_batch())
      bytes += static_cast<double>(symbolic_layout(graph_.node(left).type.shape).stride.factor()) * 4;
  }
  constexpr double chunk_bytes = 1024 * 1024, most_kept_bytes = 8 * chunk_bytes;
  const double most = chunk_bytes / bytes;
  if (loop.pace == Pace::slots) {
    const Kernel& kernel = s_.kernels[loop.kernels.front()];
    loop.limits = {.least = 1, .most = std::int64_t{1} << 40, .granule = 1};
    set_parts(loop);
    kernel.kind->limit(graph_, kernel, loop.domain, loop.limits);
    loop.limits.most_parts = s_.values[kernel.memory_for(Memory::slots)].type.shape[0].factor();
    return;
  }
  // Where chunks have slots, none are joined.
  const bool has_slots = std::any_of(loop.kernels.begin(), loop.kernels.end(),
                                     [&](std::size_t k) { return s_.kernels[k].is<Kernel::Partial>() || s_.kernels[k].is<Kernel::Combine>(); });
  const auto limit = [&] {
    set_parts(loop);
    for (const std::size_t k : loop.kernels) s_.kernels[k].kind->limit(graph_, s_.kernels[k], loop.domain, loop.limits);
    if (has_slots) loop.limits.joined = 1;
  };
  if (loop.pace == Pace::images) {
    loop.limits = {.least = 1, .most = std::clamp<std::int64_t>(static_cast<std::int64_t>(most), 1, 64), .granule = 1};
    return limit();
  }
  const bool batch = loop.domain.units.is_batch();
  std::int64_t fewest = !batch ? 8 : loop.domain.samples ? 16 : least_divided_rows;
  // Of rows so long that a few fill a cache, no more are kept than must be.
  if (const double kept = kept_bytes(loop); kept > 0) fewest = std::clamp<std::int64_t>(static_cast<std::int64_t>(most_kept_bytes / kept), 1, fewest);
  // Samples of several rows fill a tile by fewer of them. Where chunks have slots, which loops have other kernels should not tell.
  if (loop.domain.samples && !has_slots) loop.limits.least = loop.limits.granule = samples_of_a_tile(loop);
  // Of samples of which a few fill a chunk, no more are one.
  if (loop.domain.samples && most < 8) {
    fewest = std::min(fewest, std::max<std::int64_t>(1, static_cast<std::int64_t>(most)));
    if (has_slots) {
      loop.limits.least = fewest;
      loop.limits.granule = 1;
    }
  }
  loop.limits.most = std::clamp<std::int64_t>(static_cast<std::int64_t>(most) / 8 * 8, fewest, batch ? 4096 : std::int64_t{1} << 40);
  if (batch && !loop.domain.samples) loop.limits.least = least_divided_rows;
  limit();
  if (loop.domain.units == Dim(1)) loop.limits.most = 1;
}

}  // namespace sinter::codegen
