#include "codegen/alike.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "codegen/bytes.h"
#include "ir/kernel.h"

namespace sinter::codegen {

namespace {

using ir::NodeId;

/// All that the code of a kernel depends on, with nodes and values numbered as they are met.
class Description {
 public:
  Description(const ir::Graph& graph, const Schedule& schedule, const MemoryPlan& plan, const Kernel& kernel)
      : graph_(graph), schedule_(schedule), plan_(plan), kernel_(kernel), arguments_(buffers_of(kernel, plan)) {}

  std::string take() {
    bytes_.add(kernel_.role.index());
    bytes_.add(kernel_.shape);
    bytes_.add(kernel_.pace);
    bytes_.add(kernel_.cut.along);
    bytes_.add(kernel_.cut.pieces);
    bytes_.add(kernel_.cut.every_range);
    bytes_.add(kernel_.domain.units);
    bytes_.add(kernel_.domain.samples);
    bytes_.add(loop_of(kernel_).most_units(1));  // the most, where it does not depend on N
    bytes_.add(schedule_.phases[kernel_.phase].once);
    if (const auto* combine = std::get_if<Kernel::Combine>(&kernel_.role)) add_chunks(loop_of(schedule_.kernels[combine->parts]));
    bytes_.add(arguments_.size());
    for (const NodeId id : kernel_.nodes) number(id);
    bytes_.add(nodes_.size());
    const std::vector<NodeId> reductions = kernel_.reductions();  // the anchor first
    bytes_.add(reductions.size());
    for (const NodeId id : reductions) bytes_.add(id != ir::no_node ? number(id) : nodes_.size());
    for (std::size_t next = 0; next < nodes_.size(); ++next) add_node(nodes_[next]);  // grows by what the kernel computes for itself
    for (const Read& read : kernel_.reads) {
      add_value(read.value);
      bytes_.add(read.same_rows);
      bytes_.add(read.same_place);
    }
    bytes_.add(kernel_.touched_rows);
    bytes_.add(kernel_.mask.has_value());
    if (kernel_.mask) {
      add_value(kernel_.mask->value);
      bytes_.add(kernel_.mask->length);
      bytes_.add(kernel_.mask->zeros.size());
      for (const ValueId value : kernel_.mask->zeros) add_value(value);
    }
    bytes_.add(kernel_.writes.size());
    for (const Write& write : kernel_.writes) {
      bytes_.add(numbers_.contains(write.node) ? number(write.node) : nodes_.size());
      add_value(write.value);
    }
    bytes_.add(kernel_.memory.size());
    for (const Memory& memory : kernel_.memory) {
      bytes_.add(memory.purpose);
      bytes_.add(memory.of_call);
      add_value(memory.value);
    }
    return bytes_.take();
  }

 private:
  std::size_t number(NodeId id) {
    const auto [found, is_new] = numbers_.emplace(id, nodes_.size());
    if (is_new) nodes_.push_back(id);
    return found->second;
  }

  const Loop& loop_of(const Kernel& kernel) const { return schedule_.phases[kernel.phase].loops[kernel.loop]; }

  /// What the number of a loop's chunks follows from.
  void add_chunks(const Loop& loop) {
    bytes_.add(loop.domain.units);
    const ChunkLimits& limits = loop.limits;
    for (const std::int64_t number : {limits.least, limits.most, limits.granule, limits.most_parts}) bytes_.add(number);
    for (const std::int64_t factor : limits.work.factors) bytes_.add(factor);
  }

  void add_node(NodeId id) {
    const ir::Node& node = graph_.node(id);
    bytes_.add(node.op);
    bytes_.add(node.type);
    bytes_.add(node.inputs.size());
    for (const NodeId input : node.inputs) {
      bytes_.add(graph_.node(input).type);
      const bool computed = numbers_.contains(input) || schedule_.facts.recomputable[input];
      bytes_.add(computed);
      if (computed) bytes_.add(number(input));
      else add_value(schedule_.value_of[input]);
    }
    // An index out of range is reported with the number of the node.
    const auto is_index_operand = [&](NodeId input) { return !is_float(graph_.node(input).type.dtype); };
    if (!ir::is_pointwise(node.op) && std::any_of(node.inputs.begin(), node.inputs.end(), is_index_operand)) bytes_.add(id);
  }

  void add_value(ValueId value) {
    const auto [found, is_new] = values_.emplace(value, values_.size());
    bytes_.add(found->second);
    if (!is_new || value == no_value) return;
    const StoredValue& stored = schedule_.values[value];
    const auto argument = std::find(arguments_.begin(), arguments_.end(), plan_.buffer_of[value]);
    bytes_.add(argument - arguments_.begin());
    bytes_.add(stored.home);
    bytes_.add(stored.type);
    bytes_.add(stored.unpadded);
    if (stored.type.shape.rank() && stored.type.shape[0].is_rows()) bytes_.add(stored.index);  // the number of rows of a table is looked up by it
  }

  const ir::Graph& graph_;
  const Schedule& schedule_;
  const MemoryPlan& plan_;
  const Kernel& kernel_;
  std::vector<std::uint32_t> arguments_;
  Bytes bytes_;
  std::vector<NodeId> nodes_;
  std::unordered_map<NodeId, std::size_t> numbers_;
  std::unordered_map<ValueId, std::size_t> values_;
};

}  // namespace

std::vector<std::size_t> alike_kernels(const ir::Graph& graph, const Schedule& schedule, const MemoryPlan& plan) {
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < schedule.kernels.size(); ++k)
    result.push_back(first.emplace(Description(graph, schedule, plan, schedule.kernels[k]).take(), k).first->second);
  return result;
}

}  // namespace sinter::codegen
