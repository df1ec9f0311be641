// Makes the schedule of a grouped graph.
#include "codegen/schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/joint_sums.h"
#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_plan.h"
#include "codegen/padding.h"
#include "codegen/scan_plan.h"
#include "codegen/schedule_order.h"
#include "ir/kernel.h"

namespace sinter::codegen {

namespace {

using ir::Graph;
using ir::NodeId;

class ScheduleBuilder {
 public:
  /// `scan`: whose step the graph is, if it is one.
  ScheduleBuilder(const Graph& graph, bool keep_all, const ir::Scan* scan = nullptr)
      : graph_(graph), keep_all_(keep_all), scan_(scan), planner_(graph, s_), order_(graph.topological_order()), accesses_(graph.size()) {}

  Schedule run() {
    s_.facts = ir::NodeFacts(graph_);
    s_.divides_samples = divides_samples(graph_);
    s_.is_step = scan_ != nullptr;
    add_leaves();
    add_groups();
    add_copies();
    add_reads();
    if (!keep_all_ && !scan_) mark_padding(graph_, s_);
    order_kernels(graph_, s_);
    limit_zeros(s_);
    if (!keep_all_ && !scan_) join_sums(graph_, s_);
    for (Kernel& kernel : s_.kernels)
      if (kernel.scan) fit_step(kernel);
    return std::move(s_);
  }

 private:
  // ---- values ----
  ValueId add_value(StoredValue value) {
    s_.values.push_back(std::move(value));
    return static_cast<ValueId>(s_.values.size() - 1);
  }

  /// Of a step's element, number `index` of the inputs or outputs of a step that lie in sequences from `first` on: the sequence's length if the
  /// element is read, or written, where it lies there. What is a single column is copied: its vectors would be apart.
  Dim length_of(std::size_t index, std::size_t first, std::size_t last, const Shape& shape) const {
    return scan_ && index >= first && index < last && !is_column(shape) ? scan_->length : Dim(0);
  }
  static bool is_column(const Shape& shape) { return symbolic_layout(shape).cols == Dim(1) && symbolic_layout(shape).rows != Dim(1); }

  /// The chunks of the step are those of the loop.
  void fit_step(Kernel& kernel) {
    for (Phase& phase : kernel.scan->schedule.phases) {
      if (kernel.is<Kernel::Pack>()) phase.once = s_.phases[kernel.phase].once;
      else
        for (Loop& loop : phase.loops) loop.limits = s_.phases[kernel.phase].loops[kernel.loop].limits;
    }
  }

  void add_leaves() {
    s_.value_of.assign(graph_.size(), no_value);
    for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i)
      s_.value_of[graph_.input_node(i)] = add_value({StoredValue::Home::input, i, graph_.inputs()[i].type, graph_.input_node(i),
                                                     graph_.inputs()[i].name, no_value, graph_.inputs()[i].unpadded, length_of_input(i)});
    for (std::uint32_t i = 0; i < graph_.states().size(); ++i)
      s_.value_of[graph_.state_node(i)] =
          add_value({StoredValue::Home::state, i, graph_.states()[i].type, graph_.state_node(i), graph_.states()[i].name});
  }

  bool read_from_memory(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (s_.facts.recomputable[id]) return false;
    // A view that is nothing but an output is written like one.
    const auto is_result = [&](NodeId user) {
      const ir::Node& view = graph_.node(user);
      return graph_.is_output(user) && !view.kept && view.users.empty() && ir::is_view(graph_, user);
    };
    return std::any_of(node.users.begin(), node.users.end(),
                       [&](NodeId user) { return graph_.node(user).kernel != node.kernel && !is_result(user); });
  }

  Dim length_of_input(std::size_t i) const {
    const std::size_t carries = scan_ ? scan_->carry_count() : 0, sequences = scan_ ? scan_->sequence_count() : 0;
    return length_of(i, carries, carries + sequences, graph_.inputs()[i].type.shape);
  }
  ValueId add_output(std::uint32_t i, NodeId id) {
    const Type& type = graph_.node(id).type;
    const Dim length = scan_ ? length_of(i, scan_->carry_count(), scan_->result_count(), type.shape) : Dim(0);
    const bool unpadded = !scan_ && rests_unpadded(graph_.node(graph_.outputs()[i]).type.shape);
    return add_value({StoredValue::Home::output, i, type, id, str("output ", i), no_value, unpadded, length});
  }

  /// Whether an output is copied to where it lies without padding: a leaf, or what a loop over time stacks.
  bool is_copied_output(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return ir::is_leaf(node.op) || (!scan_ && std::holds_alternative<ir::ScanResult>(node.op) && rests_unpadded(node.type.shape));
  }

  /// The destinations of a node's value: its outputs and states, or memory if another kernel reads it or it is kept.
  std::vector<Write> writes_of(NodeId id) {
    std::vector<Write> writes;
    const Type& type = graph_.node(id).type;
    const bool is_result = graph_.is_output(id), is_copied = is_result && is_copied_output(id);
    for (std::uint32_t i = 0; is_result && !is_copied && i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == id) writes.push_back({id, add_output(i, id)});
    for (const NodeId view : graph_.node(id).users)
      if (graph_.is_output(view) && ir::is_view(graph_, view))
        for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i)
          if (graph_.outputs()[i] == view) writes.push_back({id, add_output(i, id)});
    for (std::uint32_t i = 0; is_result && i < graph_.states().size(); ++i)
      if (graph_.updates()[i] == id) writes.push_back({id, add_value({StoredValue::Home::state, i, type, id, str("new ", graph_.states()[i].name)})});
    const bool read = read_from_memory(id) || graph_.node(id).kept || is_copied;
    const auto is_readable = [&](const Write& write) { return !s_.values[write.value].unpadded; };
    const bool readable = std::any_of(writes.begin(), writes.end(), is_readable);
    if ((!readable && read) || (!writes.empty() && keep_all_))
      writes.push_back({id, add_value({StoredValue::Home::memory, 0, type, id, str("node ", id)})});
    if (!writes.empty()) s_.value_of[id] = writes.back().value;
    return writes;
  }

  // ---- kernels ----
  void add_groups() {
    std::map<std::int32_t, std::vector<NodeId>> groups;
    for (const NodeId id : order_)
      if (!ir::is_leaf(graph_.node(id).op) && graph_.node(id).kernel >= 0) groups[graph_.node(id).kernel].push_back(id);
    for (auto& [group, nodes] : groups) add_group(group, std::move(nodes));
  }

  void add_group(std::int32_t group, std::vector<NodeId> nodes) {
    if (nodes.size() == 1 && ir::is_view(graph_, nodes[0])) {
      const NodeId from = graph_.node(nodes[0]).inputs[0];
      const ValueId of = s_.value_of[from];
      if (of == no_value) throw InternalError("schedule", str("node ", from, " is read under another shape but not stored"));
      StoredValue view = s_.values[of];
      view.base = s_.memory_of(of);
      view.type = graph_.node(nodes[0]).type;
      view.node = nodes[0];
      view.name = str("node ", nodes[0]);
      s_.value_of[nodes[0]] = add_value(std::move(view));
      return;
    }
    Kernel kernel;
    kernel.group = group;
    kernel.anchor = ir::anchor_of(graph_, nodes);
    require_padded_operands(kernel.anchor);
    kernel.shape = graph_.node(kernel.anchor != ir::no_node ? kernel.anchor : nodes.back()).type.shape;
    kernel.nodes = std::move(nodes);
    kernel.domain = planner_.domain_of(kernel.shape);
    for (const NodeId id : kernel.nodes)
      for (const Write write : writes_of(id)) kernel.writes.push_back(write);
    kernel.kind = kernel.anchor == ir::no_node ? &the_kind<PointwiseKernel> : &kind_of(graph_.node(kernel.anchor).op);
    kernel.kind->plan(planner_, kernel);
  }

  void require_padded_operands(NodeId anchor) const {
    if (anchor == ir::no_node) return;
    const ir::Node& node = graph_.node(anchor);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (const ValueId value = s_.value_of[node.inputs[k]]; value != no_value && s_.values[value].unpadded && !ir::takes_unpadded(node.op, k))
        throw InternalError("schedule", str(ir::name(node.op), " reads '", s_.values[value].name, "', which has no padding"));
  }

  void add_copies() {
    const auto copy = [&](NodeId from, ValueId value) {
      Kernel kernel;
      kernel.role = Kernel::Copy{};
      kernel.kind = &the_kind<PointwiseKernel>;
      kernel.shape = s_.values[value].type.shape;
      kernel.domain = planner_.domain_of(kernel.shape);
      kernel.writes = {{from, value}};
      kernel.reads = {{.value = s_.value_of[from], .same_rows = true, .same_place = true}};
      planner_.add(std::move(kernel));
    };
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i)
      if (const NodeId id = graph_.outputs()[i]; is_copied_output(id)) copy(id, add_output(i, id));
    for (std::uint32_t i = 0; i < graph_.states().size(); ++i)
      if (const NodeId id = graph_.updates()[i]; id != ir::no_node && id != graph_.state_node(i) && ir::is_leaf(graph_.node(id).op))
        copy(id, add_value({StoredValue::Home::state, i, graph_.node(id).type, id, str("new ", graph_.states()[i].name)}));
  }

  // ---- reads ----
  const ir::Access& access_of(NodeId id) const {
    if (!accesses_[id]) accesses_[id] = ir::access_of(graph_, id);
    return *accesses_[id];
  }

  /// Whether a chunk of the kernel, which computes only its own part of a node, reads only its own part of an operand of that.
  bool reads_own(const Kernel& kernel, NodeId user, std::size_t operand) const {
    if (kernel.domain.units == Dim(1)) return true;
    const Shape& shape = graph_.node(graph_.node(user).inputs[operand]).type.shape;
    if (kernel.scan)  // as ir::check_steps has it
      return std::holds_alternative<ir::ScanResult>(graph_.node(user).op) || (shape.rank() && shape[0].is_batch());
    // Chunks of a partial sum divide what is summed.
    if (kernel.is<Kernel::Partial>() && user == kernel.anchor) return planner_.domain_of(shape) == kernel.domain;
    const ir::Access& access = access_of(user);
    return kernel.domain.samples ? ir::reads_own_samples(access, operand, shape) : ir::reads_own_units(access, operand, shape, kernel.domain.units);
  }

  /// The nodes of a kernel of which a chunk computes more than its own part.
  std::set<NodeId> shared_nodes(const Kernel& kernel) const {
    std::set<NodeId> shared;
    if (kernel.domain.units == Dim(1)) return shared;
    for (auto user = kernel.nodes.rbegin(); user != kernel.nodes.rend(); ++user)
      for (std::size_t i = 0; i < graph_.node(*user).inputs.size(); ++i) {
        const NodeId input = graph_.node(*user).inputs[i];
        if (kernel.has(input) && (shared.contains(*user) || !reads_own(kernel, *user, i))) shared.insert(input);
      }
    return shared;
  }

  /// Nodes of the kernel's shape follow its anchor, they are never in its prologue (ir::joins_prologue).
  bool same_place(const Kernel& kernel, NodeId user, std::size_t operand) const {
    const ir::Node& node = graph_.node(user);
    return node.type.shape == kernel.shape && ir::is_pointwise(node.op) &&
           ir::reads_same_element(access_of(user), operand, graph_.node(node.inputs[operand]).type.shape);
  }

  void add_read(Kernel& kernel, const Read& added) {
    for (Read& read : kernel.reads)
      if (read.value == added.value) {
        read.same_rows = read.same_rows && added.same_rows;
        read.same_place = read.same_place && added.same_place;
        return;
      }
    kernel.reads.push_back(added);
  }

  void add_reads() {
    for (Kernel& kernel : s_.kernels) {
      if (kernel.is<Kernel::Copy>()) continue;
      if (kernel.is<Kernel::Combine>()) add_read(kernel, {.value = kernel.memory_for(Memory::slots)});
      if (kernel.is<Kernel::Pack>()) {
        if (kernel.scan) continue;  // its plan lists them
        const ir::Node& anchor = graph_.node(kernel.anchor);
        const bool own_rows = !is_convolution(anchor.op) && !product_of(graph_, kernel.anchor).op.transpose_b;
        add_read(kernel, {.value = s_.value_of[anchor.inputs[1]], .same_rows = own_rows});
      } else {
        for (const Memory& memory : kernel.memory)
          if (memory.purpose == Memory::packed) add_read(kernel, {.value = memory.value});
      }
      const std::set<NodeId> shared = shared_nodes(kernel);
      for (const NodeId id : kernel.nodes) {
        if (kernel.is<Kernel::Combine>() && id == kernel.anchor) continue;
        const ir::Node& node = graph_.node(id);
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          const NodeId input = node.inputs[i];
          if (kernel.has(input)) continue;
          if (s_.facts.recomputable[input]) {
            for (const NodeId leaf : s_.facts.leaves[input]) add_read(kernel, {.value = s_.value_of[leaf]});
          } else {
            if (s_.value_of[input] == no_value) throw InternalError("schedule", str("node ", input, " is read but not stored"));
            const bool own = !shared.contains(id) && reads_own(kernel, id, i);
            add_read(kernel, {.value = s_.value_of[input], .same_rows = own, .same_place = same_place(kernel, id, i)});
          }
        }
      }
    }
  }

  const Graph& graph_;
  bool keep_all_;
  const ir::Scan* scan_;
  Schedule s_;
  Planner planner_;
  std::vector<NodeId> order_;
  mutable std::vector<std::optional<ir::Access>> accesses_;
};

}  // namespace

Schedule make_schedule(const ir::Graph& graph, bool keep_all) { return ScheduleBuilder(graph, keep_all).run(); }
Schedule make_step_schedule(const ir::Scan& scan) { return ScheduleBuilder(scan.body.graph(), false, &scan).run(); }

}  // namespace sinter::codegen
