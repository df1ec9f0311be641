// A compiled step (made by codegen) as its launcher (runtime) sees it; what they say to each other during a call is in ir/launch.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/launch.h"
#include "ir/polynomial.h"

namespace sinter {

/// Where a buffer lies.
enum class Place : std::uint8_t {
  input,    ///< bound by the caller, graph input `index`
  state,    ///< bound by the caller, graph state `index`, read and written in place
  output,   ///< bound by the caller, graph output `index`
  arena,    ///< `offset` · Arena::units(N) into arena `index`
  scratch,  ///< `offset` into the thread's chunk scratch; holds the rows of the current chunk only
};

/// How the chunks of a loop are chosen, by shape and sizes alone, so that no result depends on the number of threads.
struct ChunkLimits {
  std::int64_t least = 8, most = 1;    ///< units of a chunk; `most` wins
  std::int64_t granule = 8;            ///< 1, 2, 4 or 8: units are a multiple of it, if they can
  std::int64_t most_parts = 8;         ///< a power of two from 8 on
  Polynomial<std::int64_t> work = {};  ///< of the whole loop, in 1024ths of what is worth a chunk
  std::int64_t joined = 1;             ///< so many adjacent chunks at the most are computed as one if threads have enough: where no result tells
  bool spread = false;  ///< joined to as few ranges a thread as may be, of whole granules, instead of chunks of which each thread has several
  /// The most units of what is computed as one.
  std::int64_t most_joined() const { return most * joined; }
  bool operator==(const ChunkLimits&) const = default;
};
/// Into how many parts a loop is divided, before rounding to units: a power of two, 8 or as many as are worth a chunk, if there may be as many.
inline std::int64_t parts_of(Sizes sizes, const ChunkLimits& limits) {
  const std::int64_t worth = limits.work.at(sizes) / 1024;
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(worth, std::min<std::int64_t>(8, limits.most_parts), limits.most_parts))));
}
/// Units per chunk when a loop over so many is divided.
inline std::int64_t chunk_of(std::int64_t units, Sizes sizes, const ChunkLimits& limits) {
  const std::int64_t parts = parts_of(sizes, limits), part = (units + parts - 1) / parts;
  return std::max<std::int64_t>(1, std::min(limits.most, std::max(limits.least, (part + limits.granule - 1) / limits.granule * limits.granule)));
}
/// The most chunks of a loop over so many units or fewer, at these sizes or less.
inline std::int64_t most_chunks(std::int64_t units, Sizes sizes, const ChunkLimits& limits) {
  return std::max(parts_of(sizes, limits), (units + limits.most - 1) / limits.most);
}

/// Memory of buffers that grow alike.
struct Arena {
  Dim scale = 1;                          ///< 1, N, T or N·T; of slots: units of a loop
  std::int64_t granule = 1;               ///< units are a multiple of it, so that each buffer starts on a cache line
  std::int64_t bytes = 0;                 ///< per unit
  std::optional<ChunkLimits> slots = {};  ///< units are the chunks of a loop with these limits: one slot each
  std::int64_t units(Sizes sizes) const {
    const std::int64_t all = scale.extent(sizes), count = slots ? most_chunks(all, sizes, *slots) : all;
    return (count + granule - 1) / granule * granule;
  }
  bool operator==(const Arena&) const = default;
};

struct BufferSpec {
  Place place = Place::arena;
  std::uint32_t index = 0;  ///< of the input, state, output or arena
  Type type;
  std::int64_t offset = 0;  ///< bytes; in an arena per unit
  std::string name;         ///< for messages and verify: the node's printed name
  // For checked steps:
  std::uint32_t first_phase = 0, last_phase = 0;  ///< of an arena: phases in which it holds its value; `kept`: it keeps it between calls
  std::int64_t chunk_bytes = 0;                   ///< of chunk scratch: for the largest chunk; of slots: for one
  bool own = false;                               ///< of chunk scratch: each call of a kernel has it exclusively
  bool unpadded = false;                          ///< of an input or output: its rows are adjacent
  static constexpr std::uint32_t kept = ~std::uint32_t{0};
};

/// Arithmetic and memory traffic.
struct Work {
  Polynomial<double> flops, bytes;
  Work& operator+=(const Work& other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
};

/// A function of the step, for profiles.
struct KernelSpec {
  std::string name;                         ///< "dense + sigmoid"
  Dim units = 1;                            ///< of its domain
  Work work;                                ///< over the whole domain
  std::vector<std::uint32_t> buffers = {};  ///< that it reads and writes, in the order of KernelCheck::buffers
};

/// A loop of a phase: what its chunks divide.
struct LoopSpec {
  Dim units = 1;
  ChunkLimits limits;
  std::int64_t sample_pieces = 1;           ///< the most chunks of a sample, in batches of at most `cut_samples`
  std::vector<std::uint32_t> kernels = {};  ///< that run back to back on each chunk
  std::int64_t pieces = 1;                  ///< into which each range of units is divided
  std::int64_t cut_samples = 1;             ///< a batch of more is never divided within samples
  std::int64_t step_pieces = 1;             ///< of a loop over time: into which threads cut each step of few samples
  /// Whether threads share the steps of a loop over time, instead of having samples each.
  bool cuts_steps(Sizes sizes) const { return step_pieces > 1 && units.extent(sizes) <= limits.most_joined(); }
  std::int64_t chunks(Sizes sizes) const {
    if (cuts_steps(sizes)) return step_pieces;
    const std::int64_t all = units.extent(sizes), size = chunk_of(all, sizes, limits), count = (all + size - 1) / size * pieces;
    return sizes.n <= cut_samples ? std::max(sizes.n * sample_pieces, count) : count;
  }
};

/// One phase as the cost model sees it.
struct PhaseSpec {
  std::vector<LoopSpec> loops;
  Work work;
};

/// A part of a phase that begins when all chunks of the one before are done.
struct StageSpec {
  std::uint32_t phase = 0;
  bool last = true;  ///< of its phase
  /// Of stages that run in turn, once for each step of a loop over time, if they have chunks: how often.
  Dim repeats = 1;
  std::uint32_t turn = 0;   ///< its number among them
  bool turns_back = false;  ///< is the last of them
};

/// A compiled step, ready to be launched any number of times; `code` owns the machine code and may be shared.
struct StepImage {
  StepEntry entry = nullptr;
  std::shared_ptr<const void> code;
  std::vector<BufferSpec> buffers;
  std::vector<PhaseSpec> phases;
  std::vector<StageSpec> stages;    ///< in the order of the numbers that `entry` gets
  std::size_t counters = 0;         ///< sets in StepContext::counters
  std::vector<KernelSpec> kernels;  ///< in the order of the numbers that StepContext::span gets
  std::vector<Arena> arenas;
  std::int64_t scratch_bytes = 0;  ///< per thread
  bool checked = false;            ///< calls StepContext::checks
};

}  // namespace sinter
