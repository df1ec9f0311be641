// Functions on a finished schedule: chunk sizes, its check, its text.
#include <algorithm>

#include "codegen/scan_plan.h"
#include "codegen/schedule.h"
#include "ir/step.h"

namespace sinter::codegen {

std::int64_t Loop::most_units(Sizes sizes) const {
  const std::int64_t all = domain.units.extent(sizes), chunk = chunk_of(all, sizes, limits);
  return limits.joined == 1 ? chunk : std::min(all, chunk * limits.joined);
}

std::size_t finisher(const Schedule& schedule, const Loop& loop) {
  return schedule.kernels[loop.kernels.back()].finishes() ? loop.kernels.back() : no_kernel;
}

ValueId Kernel::memory_for(Memory::Purpose purpose) const {
  const auto found = std::find_if(memory.begin(), memory.end(), [&](const Memory& each) { return each.purpose == purpose; });
  return found == memory.end() ? no_value : found->value;
}

bool Kernel::cuts_steps() const { return scan && !is<Pack>() && scan->stages.size() > 1; }

std::vector<ir::NodeId> Kernel::reductions() const {
  std::vector<ir::NodeId> all{anchor};
  if (const auto* partial = std::get_if<Partial>(&role)) all.insert(all.end(), partial->others.begin(), partial->others.end());
  return all;
}

bool Kernel::is_private(const Memory& of) const {
  switch (of.purpose) {
    case Memory::collected:
      return std::none_of(writes.begin(), writes.end(), [&](const Write& write) { return write.value == of.value; });
    case Memory::slots:
    case Memory::packed:
      return false;
    case Memory::sums:
    case Memory::staging:
    case Memory::step:
      return true;
  }
  return true;
}

void verify_schedule(const ir::Graph& graph, const Schedule& schedule) {
  const auto fail = [&](const Kernel& kernel, const std::string& rule) {
    throw InternalError("schedule", str("kernel ", &kernel - schedule.kernels.data(), ": ", rule));
  };
  std::vector<std::size_t> place(schedule.kernels.size());  // in its loop
  for (const Phase& phase : schedule.phases)
    for (const Loop& loop : phase.loops)
      for (std::size_t i = 0; i < loop.kernels.size(); ++i) place[loop.kernels[i]] = i;
  std::vector<std::vector<std::size_t>> writers(schedule.values.size()), overwriters(graph.states().size());
  for (std::size_t k = 0; k < schedule.kernels.size(); ++k) {
    const Kernel& kernel = schedule.kernels[k];
    for (const Memory& memory : kernel.memory)
      if ((memory.purpose == Memory::slots && kernel.is<Kernel::Partial>()) || (memory.purpose == Memory::packed && kernel.is<Kernel::Pack>()))
        writers[memory.value].push_back(k);
    for (const Write& write : kernel.writes) {
      writers[write.value].push_back(k);
      if (const StoredValue& value = schedule.values[write.value]; value.home == StoredValue::Home::state) overwriters[value.index].push_back(k);
    }
  }
  for (std::size_t k = 0; k < schedule.kernels.size(); ++k)
    for (const Read& read : schedule.kernels[k].reads) {
      const Kernel& reader = schedule.kernels[k];
      for (const std::size_t w : writers[schedule.memory_of(read.value)]) {
        const Kernel& writer = schedule.kernels[w];
        if (w == k) continue;
        const bool before = writer.phase < reader.phase;
        const bool same_loop =
            writer.phase == reader.phase && writer.loop == reader.loop && place[w] < place[k] && (read.same_rows || reader.domain.units == Dim(1));
        const bool finishes =
            reader.finishes() && std::get<Kernel::Combine>(reader.role).parts == w && writer.phase == reader.phase && writer.loop == reader.loop;
        if (!before && !same_loop && !finishes) fail(reader, str("reads '", schedule.values[read.value].name, "' before it is written"));
      }
      // A kernel that overwrites a state whose old value this kernel reads is in a later phase.
      const StoredValue& value = schedule.values[schedule.memory_of(read.value)];
      if (value.home != StoredValue::Home::state || value.node != graph.state_node(value.index)) continue;
      for (const std::size_t w : overwriters[value.index])
        if (w == k ? !read.same_place : schedule.kernels[w].phase <= reader.phase)
          fail(reader, str("reads state '", value.name, "' while it is overwritten"));
    }
}

std::string to_text(const ir::Graph& graph, const Schedule& schedule) {
  std::string text = str("schedule: ", schedule.phases.size(), schedule.phases.size() == 1 ? " phase\n" : " phases\n");
  for (std::size_t p = 0; p < schedule.phases.size(); ++p) {
    text += str("  phase ", p + 1, schedule.phases[p].once ? ", skipped if no state has changed\n" : "\n");
    for (const Loop& loop : schedule.phases[p].loops) {
      text +=
          str("    over ", loop.domain.units,
              loop.domain.samples           ? " samples"
              : loop.domain.units == Dim(1) ? " row"
                                            : " rows",
              ", at most ", loop.limits.most, " a chunk",
              loop.limits.joined > 1 ? str(", up to ", loop.limits.joined, " chunks as one", loop.limits.spread ? ", as few as may be a thread" : "")
                                     : "",
              ":\n");
      for (const std::size_t k : loop.kernels) {
        const Kernel& kernel = schedule.kernels[k];
        const char* kind = kernel.is<Kernel::Partial>()   ? " (a slot a chunk)"
                           : kernel.finishes()            ? " (slots of a piece combined)"
                           : kernel.is<Kernel::Combine>() ? " (slots combined)"
                           : kernel.is<Kernel::Pack>()    ? " (right operand packed)"
                                                          : "";
        text += str("      ", kernel.is<Kernel::Copy>() ? "copy" : str("kernel ", kernel.group), kind, ":");
        for (const ir::NodeId id : kernel.nodes) text += str(" ", ir::name(graph.node(id).op));
        if (!kernel.writes.empty()) text += " ->";
        for (const Write& write : kernel.writes) text += str(" ", schedule.values[write.value].name);
        if (kernel.cut.pieces > 1) text += str(kernel.cut.every_range ? ", each chunk in " : ", a single sample in ", kernel.cut.pieces, " pieces");
        if (kernel.cuts_steps()) text += str(", each step of few samples in up to ", kernel.scan->most_pieces(), " pieces");
        if (kernel.touched_rows) text += ", rows to which it adds something";
        if (kernel.mask) text += str(", steps of ", schedule.values[kernel.mask->value].name);
        text += "\n";
      }
    }
  }
  return text;
}

}  // namespace sinter::codegen
