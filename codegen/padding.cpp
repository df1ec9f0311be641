#include "codegen/padding.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

namespace {

using ir::NodeId;

class Marker {
 public:
  Marker(const ir::Graph& graph, Schedule& schedule) : graph_(graph), s_(schedule) {
    for (NodeId id = 0; id < graph.size(); ++id)
      if (!graph.node(id).dead && graph.node(id).type.dtype == DType::boolean && s_.value_of[id] != no_value)
        stored_.emplace(ir::before_reshapes(graph, id), s_.value_of[id]);
  }

  void run() {
    std::map<NodeId, std::vector<std::size_t>> skipping;  // kernels by mask
    for (std::size_t k = 0; k < s_.kernels.size(); ++k)
      if (const NodeId mask = mask_of(s_.kernels[k]); stored_.contains(mask)) skipping[mask].push_back(k);
    for (const auto& [mask, kernels] : skipping) {
      const std::vector<char> before = kernels_before(stored_.at(mask));
      for (const std::size_t k : kernels)
        if (!before[k]) mark(s_.kernels[k], mask);
    }
  }

 private:
  const ir::Padding& padding(NodeId id) const { return graph_.node(id).padding; }

  /// The mask whose padding the kernel need not compute.
  NodeId mask_of(const Kernel& kernel) const {
    switch (kernel.kind->skips_padding(graph_, kernel)) {
      case KernelKind::Skips::nothing:
        return ir::no_node;
      case KernelKind::Skips::itself:
        return padding(kernel.anchor).mask;
      case KernelKind::Skips::rows:
        return mask_of_rows(kernel);
    }
    return ir::no_node;
  }
  NodeId mask_of_rows(const Kernel& kernel) const {
    const NodeId mask = kernel.writes.empty() ? ir::no_node : padding(kernel.writes.front().node).mask;
    if (mask == ir::no_node) return mask;
    const Dim rows = graph_.node(mask).type.shape.elements();
    const auto rows_of = [](const Shape& shape) { return symbolic_layout(shape).rows; };
    const auto is_free = [&](const Write& write) { return padding(write.node).mask == mask && rows_of(s_.values[write.value].type.shape) == rows; };
    const bool is_over_steps = rows_of(kernel.shape) == rows && (kernel.domain.samples || kernel.domain.units == rows);
    return is_over_steps && std::all_of(kernel.writes.begin(), kernel.writes.end(), is_free) ? mask : ir::no_node;
  }
  /// Results over the steps that may not be anything where they are not computed.
  std::vector<ValueId> zeros_of(const Kernel& kernel) const {
    std::vector<ValueId> zeros;
    for (const Write& write : kernel.writes)
      if (padding(write.node).mask != ir::no_node && !padding(write.node).anything) zeros.push_back(write.value);
    return zeros;
  }
  void mark(Kernel& kernel, NodeId mask) {
    const ValueId value = stored_.at(mask);
    kernel.mask = StepMask{value, graph_.node(mask).type.shape.elements().per_sample(), zeros_of(kernel)};
    // All steps of a sample are read, of which a chunk may be a part.
    bool is_read = false;
    for (Read& read : kernel.reads) {
      if (s_.memory_of(read.value) != s_.memory_of(value)) continue;
      read.same_rows = read.same_rows && kernel.domain.samples;
      read.same_place = false;
      is_read = is_read || read.value == value;
    }
    if (!is_read) kernel.reads.push_back({.value = value, .same_rows = kernel.domain.samples});
  }
  /// By kernel: whether the value is computed from what it computes.
  std::vector<char> kernels_before(ValueId value) const {
    std::vector<std::vector<std::size_t>> writers(s_.values.size());  // by memory
    for (std::size_t k = 0; k < s_.kernels.size(); ++k) {
      for (const Write& write : s_.kernels[k].writes) writers[s_.memory_of(write.value)].push_back(k);
      for (const Memory& memory : s_.kernels[k].memory) writers[memory.value].push_back(k);
    }
    std::vector<char> found(s_.kernels.size());
    std::vector<ValueId> stack{value};
    while (!stack.empty()) {
      const ValueId next = s_.memory_of(stack.back());
      stack.pop_back();
      for (const std::size_t k : writers[next])
        if (!std::exchange(found[k], 1))
          for (const Read& read : s_.kernels[k].reads) stack.push_back(read.value);
    }
    return found;
  }

  const ir::Graph& graph_;
  Schedule& s_;
  std::map<NodeId, ValueId> stored_;  ///< by mask: where it lies in memory, under whatever shape
};

}  // namespace

void mark_padding(const ir::Graph& graph, Schedule& schedule) { Marker(graph, schedule).run(); }

void limit_zeros(Schedule& schedule) {
  for (Kernel& kernel : schedule.kernels) {
    if (!kernel.mask) continue;
    std::erase_if(kernel.mask->zeros, [&](ValueId value) {
      if (schedule.values[value].home != StoredValue::Home::memory) return false;
      // Whether a kernel reads no steps but those that this one computes.
      const auto reads_computed = [&](const Kernel& reader) {
        const bool same_steps = reader.mask && reader.mask->value == kernel.mask->value;
        return same_steps && (!reader.scan || (kernel.scan && reader.phase == kernel.phase && reader.loop == kernel.loop));
      };
      return std::all_of(schedule.kernels.begin(), schedule.kernels.end(), [&](const Kernel& reader) {
        const bool reads = std::any_of(reader.reads.begin(), reader.reads.end(),
                                       [&](const Read& read) { return schedule.memory_of(read.value) == schedule.memory_of(value); });
        return !reads || reads_computed(reader);
      });
    });
  }
}

}  // namespace sinter::codegen
