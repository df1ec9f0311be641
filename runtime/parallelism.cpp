#include "runtime/parallelism.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "runtime/team.h"

namespace sinter::runtime {

namespace {

struct Chunk {
  double seconds;
  std::uint32_t kernel;  ///< the longest of its loop
};

std::vector<Chunk> chunks_of(const PhaseSpec& phase, Sizes sizes, std::span<const double> seconds) {
  std::vector<Chunk> chunks;
  for (const LoopSpec& loop : phase.loops) {
    if (loop.kernels.empty()) continue;
    double all = 0;
    for (const std::uint32_t k : loop.kernels) all += seconds[k];
    const std::uint32_t longest =
        *std::max_element(loop.kernels.begin(), loop.kernels.end(), [&](std::uint32_t a, std::uint32_t b) { return seconds[a] < seconds[b]; });
    const bool cuts_steps = loop.cuts_steps(sizes);
    const std::int64_t units = loop.units.extent(sizes), size = cuts_steps ? units : chunk_of(units, sizes, loop.limits),
                       pieces = cuts_steps ? loop.step_pieces : loop.pieces;
    for (std::int64_t piece = 0; piece < pieces; ++piece)
      for (std::int64_t first = 0; first < units; first += size)
        chunks.push_back({all * static_cast<double>(std::min(size, units - first)) / static_cast<double>(units * pieces), longest});
  }
  return chunks;
}

/// The chunk that ends last, and when: each thread takes those of its own share first, then those of the threads after it.
Chunk last_of(const std::vector<Chunk>& chunks, int threads) {
  const auto count = static_cast<std::size_t>(threads);
  std::vector<std::size_t> next(count), end(count);
  using Turn = std::pair<double, std::size_t>;  // when a thread is free
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> free;
  for (std::size_t t = 0; t < count; ++t) {
    next[t] = t * chunks.size() / count;
    end[t] = (t + 1) * chunks.size() / count;
    free.emplace(0.0, t);
  }
  Chunk last{0, 0};
  while (!free.empty()) {
    const auto [now, thread] = free.top();
    free.pop();
    std::size_t owner = thread, turn = 0;
    while (turn < count && next[owner] == end[owner]) owner = (thread + ++turn) % count;
    if (turn == count) continue;
    const Chunk& chunk = chunks[next[owner]++];
    const double done = now + chunk.seconds;
    if (done > last.seconds) last = {done, chunk.kernel};
    free.emplace(done, thread);
  }
  return last;
}

}  // namespace

Parallelism parallelism(const StepImage& image, Sizes sizes, int threads, std::span<const double> seconds) {
  Parallelism result;
  double work = 0, longest = 0, most_waiting = -1;
  for (const PhaseSpec& phase : image.phases) {
    const std::vector<Chunk> chunks = chunks_of(phase, sizes, seconds);
    double of_phase = 0;
    for (const Chunk& chunk : chunks) of_phase += chunk.seconds;
    const Chunk last = last_of(chunks, threads);
    if (const double waiting = last.seconds - of_phase / threads; waiting > most_waiting) {
      most_waiting = waiting;
      result.kernel = last.kernel;
    }
    work += of_phase;
    longest += last.seconds;
  }
  if (longest > 0) result.busy_threads = work / longest;
  return result;
}

std::vector<double> estimated_seconds(const StepImage& image, Sizes sizes) {
  std::vector<double> seconds;
  for (const KernelSpec& kernel : image.kernels) seconds.push_back(one_core_seconds(kernel.work.flops.at(sizes), kernel.work.bytes.at(sizes)));
  return seconds;
}

}  // namespace sinter::runtime
