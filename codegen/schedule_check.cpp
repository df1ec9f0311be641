// Functions on a finished schedule: chunk sizes, its check, its text.
#include <algorithm>

#include "codegen/schedule.h"
#include "ir/step.h"

namespace sinter::codegen {

std::int64_t Loop::chunk_units(std::int64_t n) const { return chunk_of(domain.units.extent(n), limits); }

void verify_schedule(const ir::Graph& graph, const Schedule& schedule) {
  const auto fail = [&](const Kernel& kernel, const std::string& rule) {
    throw InternalError("schedule", str("kernel ", &kernel - schedule.kernels.data(), ": ", rule));
  };
  const auto place = [&](const Kernel& kernel) {
    const auto& list = schedule.phases[kernel.phase].loops[kernel.loop].kernels;
    return std::find(list.begin(), list.end(), static_cast<std::size_t>(&kernel - schedule.kernels.data())) - list.begin();
  };
  const auto writes = [](const Kernel& kernel, ValueId value) {
    return kernel.slots == value || (kernel.kind == Kernel::Kind::pack && kernel.packed == value) ||
           std::any_of(kernel.writes.begin(), kernel.writes.end(), [&](const Write& w) { return w.value == value; });
  };
  for (const Kernel& reader : schedule.kernels)
    for (const Read& read : reader.reads) {
      for (const Kernel& writer : schedule.kernels) {
        if (&writer == &reader || !writes(writer, read.value) || (writer.kind == Kernel::Kind::combine && writer.slots == read.value)) continue;
        const bool before = writer.phase < reader.phase;
        const bool same_loop = writer.phase == reader.phase && writer.loop == reader.loop && place(writer) < place(reader) &&
                               (read.same_rows || reader.domain.units == Dim(1));
        if (!before && !same_loop) fail(reader, str("reads '", schedule.values[read.value].name, "' before it is written"));
      }
      // A kernel that overwrites a state whose old value this kernel reads is in a later phase.
      const StoredValue& value = schedule.values[read.value];
      if (value.home != StoredValue::Home::state || value.node != graph.state_node(value.index)) continue;
      for (const Kernel& writer : schedule.kernels)
        for (const Write& write : writer.writes) {
          const StoredValue& target = schedule.values[write.value];
          if (target.home != StoredValue::Home::state || target.index != value.index) continue;
          if (&writer == &reader ? !read.same_place : writer.phase <= reader.phase)
            fail(reader, str("reads state '", value.name, "' while it is overwritten"));
        }
    }
}

std::string to_text(const ir::Graph& graph, const Schedule& schedule) {
  std::string text = str("schedule: ", schedule.phases.size(), schedule.phases.size() == 1 ? " phase\n" : " phases\n");
  for (std::size_t p = 0; p < schedule.phases.size(); ++p) {
    text += str("  phase ", p + 1, schedule.phases[p].once ? ", skipped if no state has changed\n" : "\n");
    for (const Loop& loop : schedule.phases[p].loops) {
      text += str("    over ", loop.domain.units,
                  loop.domain.samples           ? " samples"
                  : loop.domain.units == Dim(1) ? " row"
                                                : " rows",
                  ", at most ", loop.limits.most, " a chunk:\n");
      for (const std::size_t k : loop.kernels) {
        const Kernel& kernel = schedule.kernels[k];
        const char* kind = kernel.kind == Kernel::Kind::partial   ? " (a slot a chunk)"
                           : kernel.kind == Kernel::Kind::combine ? " (slots combined)"
                           : kernel.kind == Kernel::Kind::pack    ? " (right operand packed)"
                                                                  : "";
        text += str("      ", kernel.kind == Kernel::Kind::copy ? "copy" : str("kernel ", kernel.group), kind, ":");
        for (const ir::NodeId id : kernel.nodes) text += str(" ", ir::name(graph.node(id).op));
        if (!kernel.writes.empty()) text += " ->";
        for (const Write& write : kernel.writes) text += str(" ", schedule.values[write.value].name);
        if (kernel.pieces > 1) text += str(", a single sample in ", kernel.pieces, " pieces");
        text += "\n";
      }
    }
  }
  return text;
}

}  // namespace sinter::codegen
