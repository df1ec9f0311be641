#include "frontend/train/memory_check.h"

#include "frontend/core/warn.h"
#include "frontend/train/trainer_impl.h"
#include "ir/size_text.h"
#include "runtime/memory_limits.h"
#include "runtime/view.h"

namespace sinter {

namespace {

constexpr double much = 0.8;  ///< of what there is: programs need memory for other things, too

std::string& system_files() {
  static std::string folder;
  return folder;
}

std::string size(std::int64_t bytes) { return size_text(static_cast<double>(bytes)); }

std::int64_t bytes_of(const Dataset& data) {
  std::int64_t bytes = 0;
  for (const Columns* list : {&data.x, &data.y})
    for (const Column& column : *list)
      bytes += static_cast<std::int64_t>(column.values().buffer().bytes()) + (column.has_sequences() ? 8 * (column.size() + 1) : 0);
  return bytes;
}

/// The most samples, up to so many, for which `needs(samples)` is at most `bytes`; 0: none.
template <class Needs>
std::int64_t most_samples(std::int64_t samples, std::int64_t bytes, const Needs& needs) {
  std::int64_t fit = 0;
  for (std::int64_t too_many = samples + 1; too_many - fit > 1;) {
    const std::int64_t middle = fit + (too_many - fit) / 2;
    (needs(middle) <= bytes ? fit : too_many) = middle;
  }
  return fit;
}

/// So many of the longest samples, which need the most memory.
Tensor longest_samples(const Dataset& data, std::int64_t samples) {
  const std::vector<const Sequences*> columns = sequences_of(data);
  if (columns.empty()) return Trainer::Impl::row_numbers(0, samples);
  std::vector<std::int32_t> all = Trainer::Impl::row_numbers(0, data.size()).to_vector<std::int32_t>();
  all = in_order_of_length(*columns[0], all);
  all.resize(static_cast<std::size_t>(samples));
  return Tensor(all, {samples});
}

}  // namespace

void set_system_files(const std::string& folder) { system_files() = folder; }

void Trainer::Impl::require_memory(const Piece& piece, std::int64_t samples) {
  const std::int64_t data = bytes_of(piece.data);
  if (effective_mode(options.mode) == Mode::eager) return;  // there is no plan
  if (fits.compiles == train->compile_count() && fits.samples >= samples && fits.bytes >= data) return;
  BatchInputs inputs;
  const Tensor numbers = longest_samples(piece.data, samples);
  const std::span<const Tensor* const> in = inputs.of(piece, numbers);
  const StepMemory step = train->memory(in);
  const auto needs = [&](std::int64_t n) { return train->memory(in, n).all() + data; };
  const runtime::MemoryLimits limits = runtime::memory_limits(system_files());
  const std::int64_t needed = step.all() + data, resident = step.states + data, most = limits.most(), free = limits.free() + resident;
  const auto told = [&](std::int64_t bytes) {
    const std::int64_t fit = options.fixed_batch ? 0 : most_samples(samples, static_cast<std::int64_t>(much * static_cast<double>(bytes)), needs);
    return str("a training step on ", samples, " samples needs ", size(needed), ": ", size(step.arenas), " for values between its loops, ",
               size(step.scratch), " of scratch memory for ", step.threads, step.threads == 1 ? " thread, " : " threads, ", size(step.states),
               " of parameters and other states, ", size(data), " of data; ",
               fit ? str("use a smaller batch_size, of ", fit, " at most, or ") : std::string("use "),
               "smaller layers or data in pieces (a Generator)");
  };
  if (most && needed > most) throw MemoryError("fit", str(limits.limit(), " ", size(most), " of memory in all, but ", told(most)));
  if (static_cast<double>(needed) > much * static_cast<double>(free))
    warn(options.log, str("[fit] memory is scarce, and the system may end this process: of ", size(free), " that it can have now, ", told(free)));
  fits = {train->compile_count(), samples, data};
}

}  // namespace sinter
