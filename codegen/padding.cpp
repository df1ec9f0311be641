#include "codegen/padding.h"

#include <algorithm>
#include <map>

#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

namespace {

using ir::NodeId;

class Marker {
 public:
  Marker(const ir::Graph& graph, Schedule& schedule) : graph_(graph), s_(schedule) {
    for (NodeId id = 0; id < graph.size(); ++id)
      if (!graph.node(id).dead && graph.node(id).type.dtype == DType::boolean && s_.value_of[id] != no_value)
        stored_.emplace(root_of(id), s_.value_of[id]);
  }

  void run() {
    for (std::size_t k = 0; k < s_.kernels.size(); ++k) {
      Kernel& kernel = s_.kernels[k];
      const NodeId mask = mask_of(kernel);
      if (mask == ir::no_node || !stored_.contains(mask)) continue;
      const ValueId value = stored_.at(mask);
      if (comes_before(k, value)) continue;
      kernel.mask = StepMask{value, graph_.node(mask).type.shape.elements().per_sample(), zeros_of(kernel)};
      const bool is_read = std::any_of(kernel.reads.begin(), kernel.reads.end(), [&](const Read& read) { return read.value == value; });
      if (!is_read) kernel.reads.push_back({.value = value, .same_rows = kernel.domain.samples});
    }
  }

 private:
  /// What a boolean was before it got another shape.
  NodeId root_of(NodeId id) const {
    while (std::holds_alternative<ir::Reshape>(graph_.node(id).op)) id = graph_.node(id).inputs[0];
    return id;
  }
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
  /// Whether the mask is computed from what the kernel computes.
  bool comes_before(std::size_t k, ValueId mask) const {
    std::vector<ValueId> stack{mask};
    std::vector<char> seen(s_.kernels.size());
    while (!stack.empty()) {
      const ValueId value = s_.memory_of(stack.back());
      stack.pop_back();
      for (std::size_t p = 0; p < s_.kernels.size(); ++p) {
        if (seen[p] || !writes(s_.kernels[p], value)) continue;
        if (p == k) return true;
        seen[p] = 1;
        for (const Read& read : s_.kernels[p].reads) stack.push_back(read.value);
      }
    }
    return false;
  }
  bool writes(const Kernel& kernel, ValueId value) const {
    return std::any_of(kernel.writes.begin(), kernel.writes.end(), [&](const Write& write) { return s_.memory_of(write.value) == value; }) ||
           std::any_of(kernel.memory.begin(), kernel.memory.end(), [&](const Memory& memory) { return memory.value == value; });
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
