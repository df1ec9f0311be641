// Makes the schedule of a grouped graph.
#include "codegen/schedule.h"

#include <algorithm>
#include <map>

#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/product_plan.h"
#include "codegen/kernels/winograd_plan.h"
#include "codegen/schedule_order.h"
#include "codegen/support.h"
#include "ir/kernel.h"

namespace sinter::codegen {

Domain domain_of(const Shape& shape) {
  if (shape.rank() && shape[0].is_batch()) return {Dim::batch(), true};
  return {symbolic_layout(shape).rows, false};
}

bool updates_states(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.states().size(); ++i)
    if (graph.updates()[i] != ir::no_node && graph.updates()[i] != graph.state_node(i)) return true;
  return false;
}

namespace {

using ir::Graph;
using ir::NodeId;

/// Reductions of more elements than this into one row are split: each chunk sums its own rows into a slot.
constexpr std::int64_t most_unsplit = 1024;

bool is_reduction(const ir::Op& op) {
  return std::visit([]<class O>(const O&) { return ir::IsReduction<O>; }, op);
}

/// Whether one chunk must do everything: results are collected from everywhere, or along the axis that chunks would cut.
bool runs_whole(const ir::Node& anchor) {
  const bool samples = domain_of(anchor.type.shape).samples;
  if (const auto* cumsum = std::get_if<ir::Cumsum>(&anchor.op)) return !samples || cumsum->axis == 0;
  if (std::visit([]<class O>(const O&) { return is_one_of<O, ir::BatchMatmul, ir::TopK, ir::Conv2D, ir::Conv2DTranspose>; }, anchor.op))
    return !samples;
  // Chunks of a scatter own rows of the table, which must be rows in memory.
  const Shape& shape = anchor.type.shape;
  return std::holds_alternative<ir::ScatterAddRows>(anchor.op) && (shape.rank() != 2 || shape.back() == Dim(1));
}

class Builder {
 public:
  Builder(const Graph& graph, bool keep_all)
      : graph_(graph), keep_all_(keep_all), updates_states_(updates_states(graph)), facts_(graph), order_(graph.topological_order()) {}

  Schedule run() {
    add_leaves();
    add_groups();
    add_copies();
    add_reads();
    order_kernels(graph_, s_);
    return std::move(s_);
  }

 private:
  // ---- values ----
  ValueId add_value(StoredValue value) {
    s_.values.push_back(std::move(value));
    return static_cast<ValueId>(s_.values.size() - 1);
  }

  void add_leaves() {
    s_.value_of.assign(graph_.size(), no_value);
    for (std::uint32_t i = 0; i < graph_.inputs().size(); ++i)
      s_.value_of[graph_.input_node(i)] =
          add_value({StoredValue::Home::input, i, graph_.inputs()[i].type, graph_.input_node(i), graph_.inputs()[i].name});
    for (std::uint32_t i = 0; i < graph_.states().size(); ++i)
      s_.value_of[graph_.state_node(i)] =
          add_value({StoredValue::Home::state, i, graph_.states()[i].type, graph_.state_node(i), graph_.states()[i].name});
  }

  bool read_from_memory(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (facts_.recomputable[id]) return false;
    return std::any_of(node.users.begin(), node.users.end(), [&](NodeId user) { return graph_.node(user).kernel != node.kernel; });
  }

  /// The destinations of a node's value: its outputs and states, or memory if another kernel reads it.
  std::vector<Write> writes_of(NodeId id) {
    std::vector<Write> writes;
    const Type& type = graph_.node(id).type;
    const bool is_result = graph_.is_output(id);
    for (std::uint32_t i = 0; is_result && i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == id) writes.push_back({id, add_value({StoredValue::Home::output, i, type, id, str("output ", i)})});
    for (std::uint32_t i = 0; is_result && i < graph_.states().size(); ++i)
      if (graph_.updates()[i] == id) writes.push_back({id, add_value({StoredValue::Home::state, i, type, id, str("new ", graph_.states()[i].name)})});
    const bool read = read_from_memory(id);
    if (writes.empty() ? read : keep_all_) writes.push_back({id, add_value({StoredValue::Home::memory, 0, type, id, str("node ", id)})});
    if (!writes.empty()) s_.value_of[id] = writes.back().value;
    return writes;
  }

  // ---- kernels ----
  void add_kernel(Kernel kernel) {
    if (kernel.domain.samples && kernel.shape.rank() == 4 && kernel.pace == Pace::rows) kernel.pace = Pace::images;
    set_pieces(kernel);
    s_.kernels.push_back(std::move(kernel));
  }

  void set_pieces(Kernel& kernel) const {
    if (kernel.kind != Kernel::Kind::nodes || !kernel.domain.samples || updates_states_) return;
    const SymbolicLayout at = symbolic_layout(kernel.shape);
    const auto cut = [&](Piece piece, std::int64_t pieces) {
      kernel.piece = piece;
      kernel.pieces = pieces;
    };
    if (kernel.anchor == ir::no_node) return cut(Piece::rows, at.rows.factor());
    const ir::Op& anchor = graph_.node(kernel.anchor).op;
    switch (std::visit([]<class O>(const O&) { return kernel_kind<O>(); }, anchor)) {
      case KernelKind::pointwise:
        return cut(Piece::rows, at.rows.factor());
      case KernelKind::product:
        if (!ir::fits_tiles(graph_, kernel.anchor)) return;
        if (at.rows.factor() > 1) return cut(Piece::rows, at.rows.factor());
        if (product_of(graph_, kernel.anchor).op.transpose_b) return;
        return cut(Piece::columns, divide_up(at.stride.factor(), piece_columns));
      case KernelKind::convolution:
        if (!std::holds_alternative<ir::Conv2D>(anchor) || !tiles_convolution(graph_, kernel.anchor) || kernel.shape[0] != Dim::batch()) return;
        if (const std::optional<WinogradPlan> winograd = plan_winograd(graph_, kernel.anchor)) return cut(Piece::rows, winograd->strips);
        return cut(Piece::rows, plan_convolution(graph_, kernel.anchor).h.windows);
      default:
        return;
    }
  }

  void add_groups() {
    std::map<std::int32_t, std::vector<NodeId>> groups;
    for (const NodeId id : order_)
      if (!ir::is_leaf(graph_.node(id).op) && graph_.node(id).kernel >= 0) groups[graph_.node(id).kernel].push_back(id);
    for (auto& [group, nodes] : groups) add_group(group, std::move(nodes));
  }

  /// Whether the node is an input under another shape, with as many rows of as many columns: readers read the input in place. Taps see a copy.
  bool is_view(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (!std::holds_alternative<ir::Reshape>(node.op) || keep_all_ || graph_.is_output(id)) return false;
    const ir::Node& leaf = graph_.node(node.inputs[0]);
    return std::holds_alternative<ir::Input>(leaf.op) && symbolic_layout(leaf.type.shape) == symbolic_layout(node.type.shape);
  }

  void add_group(std::int32_t group, std::vector<NodeId> nodes) {
    if (nodes.size() == 1 && is_view(nodes[0])) {
      const std::uint32_t index = s_.values[s_.value_of[graph_.node(nodes[0]).inputs[0]]].index;
      s_.value_of[nodes[0]] = add_value({StoredValue::Home::input, index, graph_.node(nodes[0]).type, nodes[0], str("node ", nodes[0])});
      return;
    }
    Kernel kernel;
    kernel.group = group;
    kernel.anchor = ir::anchor_of(graph_, nodes);
    kernel.shape = graph_.node(kernel.anchor != ir::no_node ? kernel.anchor : nodes.back()).type.shape;
    kernel.nodes = std::move(nodes);
    kernel.domain = domain_of(kernel.shape);
    for (const NodeId id : kernel.nodes)
      for (const Write write : writes_of(id)) kernel.writes.push_back(write);
    if (kernel.anchor == ir::no_node) {
      add_kernel(std::move(kernel));
      return;
    }
    const ir::Node& anchor = graph_.node(kernel.anchor);
    if (runs_whole(anchor)) kernel.domain = {};
    if (is_collected(anchor.op)) kernel.product = add_value({StoredValue::Home::memory, 0, anchor.type, ir::no_node, str("product ", kernel.anchor)});
    if (splits(anchor)) {
      add_split(std::move(kernel));
      return;
    }
    if (kernel.product != no_value && packs_right(graph_, kernel.anchor)) add_pack(kernel);
    if (is_convolution(anchor.op) && tiles_convolution(graph_, kernel.anchor)) {
      add_staging(kernel);
      if (const std::optional<WinogradPlan> winograd = plan_winograd(graph_, kernel.anchor)) {
        add_pack(kernel, {winograd->numbers() * winograd->channels, winograd->columns}, {Dim(winograd->channels), false});
      } else if (std::holds_alternative<ir::Conv2DTranspose>(anchor.op)) {
        const ConvolutionPlan plan = plan_convolution(graph_, kernel.anchor);
        const Shape packed{plan.h.size * plan.runs_a_row() * convolution_of(graph_, kernel.anchor).features, plan.run()};
        add_pack(kernel, packed, domain_of(packed));
      }
    }
    add_kernel(std::move(kernel));
  }

  /// The copy of an image that a convolution reads, or collects, with the runs of a tile; or the transforms of a block of tiles.
  void add_staging(Kernel& kernel) {
    const ConvolutionPlan plan = plan_convolution(graph_, kernel.anchor);
    const std::optional<WinogradPlan> winograd = plan_winograd(graph_, kernel.anchor);
    const Type type{DType::f32, {winograd ? winograd->elements() : plan.copy_elements() + plan.tile_elements()}};
    kernel.staging = add_value({StoredValue::Home::memory, 0, type, ir::no_node, str("image of ", kernel.anchor)});
  }

  void add_pack(Kernel& product) {
    const Product operation = product_of(graph_, product.anchor);
    const Shape packed{operation.sizes.k, operation.sizes.f};
    add_pack(product, packed, domain_of(packed));
  }

  void add_pack(Kernel& product, const Shape& shape, const Domain& domain) {
    Kernel pack;
    pack.kind = Kernel::Kind::pack;
    pack.group = product.group;
    pack.anchor = product.anchor;
    pack.shape = shape;
    pack.domain = domain;
    pack.packed = product.packed = add_value({StoredValue::Home::memory, 0, {DType::f32, pack.shape}, ir::no_node, str("packed ", product.anchor)});
    add_kernel(std::move(pack));
  }

  bool splits(const ir::Node& anchor) const {
    if (std::holds_alternative<ir::Conv2DWeight>(anchor.op)) return true;
    if (!is_reduction(anchor.op)) return false;
    const Shape& in = graph_.node(anchor.inputs[0]).type.shape;
    const Dim all = in.elements();
    return anchor.type.shape.elements() == Dim(1) && (all.is_batch() || all.factor() > most_unsplit);
  }

  void add_split(Kernel kernel) {
    Kernel partial = kernel, combine = kernel;
    partial.kind = Kernel::Kind::partial;
    combine.kind = Kernel::Kind::combine;
    partial.shape = graph_.node(graph_.node(kernel.anchor).inputs[0]).type.shape;
    partial.domain = domain_of(partial.shape);
    partial.writes.clear();
    // Nodes of the reduction's input shape precede it; all others follow it.
    const auto anchor_at = std::find(kernel.nodes.begin(), kernel.nodes.end(), kernel.anchor);
    const auto is_prologue = [&](NodeId id) {
      return std::find(kernel.nodes.begin(), anchor_at, id) != anchor_at && graph_.node(id).type.shape == partial.shape;
    };
    std::erase_if(partial.nodes, [&](NodeId id) { return id != kernel.anchor && !is_prologue(id); });
    std::erase_if(combine.nodes, is_prologue);
    Shape slots{partial.domain.units};
    if (is_convolution(graph_.node(kernel.anchor).op)) {
      slots = kernel.shape.insert(0, most_slots);
      partial.pace = Pace::slots;
      if (!partial.domain.samples) partial.domain = {};
      if (tiles_convolution(graph_, kernel.anchor)) add_staging(partial);
    }
    partial.slots = combine.slots =
        add_value({StoredValue::Home::memory, 0, {graph_.node(kernel.anchor).type.dtype, slots}, ir::no_node, str("partials ", kernel.anchor)});
    add_kernel(std::move(partial));
    add_kernel(std::move(combine));
  }

  void add_copies() {
    const auto copy = [&](NodeId leaf, StoredValue to) {
      Kernel kernel;
      kernel.kind = Kernel::Kind::copy;
      kernel.shape = to.type.shape;
      kernel.domain = domain_of(kernel.shape);
      const ValueId value = add_value(std::move(to));
      kernel.writes = {{leaf, value}};
      kernel.reads = {{.value = s_.value_of[leaf], .same_rows = true, .same_place = true}};
      add_kernel(std::move(kernel));
    };
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i)
      if (const NodeId id = graph_.outputs()[i]; ir::is_leaf(graph_.node(id).op))
        copy(id, {StoredValue::Home::output, i, graph_.node(id).type, id, str("output ", i)});
    for (std::uint32_t i = 0; i < graph_.states().size(); ++i)
      if (const NodeId id = graph_.updates()[i]; id != ir::no_node && id != graph_.state_node(i) && ir::is_leaf(graph_.node(id).op))
        copy(id, {StoredValue::Home::state, i, graph_.node(id).type, id, str("new ", graph_.states()[i].name)});
  }

  // ---- reads ----
  /// Whether a chunk of the kernel reads only its own part of an operand of one of its nodes.
  bool same_rows(const Kernel& kernel, NodeId user, std::size_t operand) const {
    if (kernel.domain.units == Dim(1)) return true;
    const ir::Node& node = graph_.node(user);
    const Shape& shape = graph_.node(node.inputs[operand]).type.shape;
    // Chunks of a partial sum divide what is summed.
    if (kernel.kind == Kernel::Kind::partial && user == kernel.anchor) return domain_of(shape) == kernel.domain;
    const ir::Access access = ir::access_of(graph_, user);
    if (kernel.domain.samples) return ir::reads_own_samples(access, operand, shape);
    return node.type.shape == kernel.shape && ir::reads_own_rows(access, operand, shape);
  }

  /// Nodes of the kernel's shape follow its anchor, they are never in its prologue (ir::joins_prologue).
  bool same_place(const Kernel& kernel, NodeId user, std::size_t operand) const {
    const ir::Node& node = graph_.node(user);
    return node.type.shape == kernel.shape && ir::is_pointwise(node.op) &&
           ir::reads_same_element(ir::access_of(graph_, user), operand, graph_.node(node.inputs[operand]).type.shape);
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
      if (kernel.kind == Kernel::Kind::copy) continue;
      if (kernel.kind == Kernel::Kind::combine) add_read(kernel, {.value = kernel.slots});
      if (kernel.kind == Kernel::Kind::pack) {
        const ir::Node& anchor = graph_.node(kernel.anchor);
        const bool own_rows = !is_convolution(anchor.op) && !product_of(graph_, kernel.anchor).op.transpose_b;
        add_read(kernel, {.value = s_.value_of[anchor.inputs[1]], .same_rows = own_rows});
      } else if (kernel.packed != no_value) {
        add_read(kernel, {.value = kernel.packed});
      }
      for (const NodeId id : kernel.nodes) {
        if (kernel.kind == Kernel::Kind::combine && id == kernel.anchor) continue;
        const ir::Node& node = graph_.node(id);
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          const NodeId input = node.inputs[i];
          if (std::find(kernel.nodes.begin(), kernel.nodes.end(), input) != kernel.nodes.end()) continue;
          if (facts_.recomputable[input]) {
            for (const NodeId leaf : facts_.leaves[input]) add_read(kernel, {.value = s_.value_of[leaf]});
          } else {
            if (s_.value_of[input] == no_value) throw InternalError("schedule", str("node ", input, " is read but not stored"));
            add_read(kernel, {.value = s_.value_of[input], .same_rows = same_rows(kernel, id, i), .same_place = same_place(kernel, id, i)});
          }
        }
      }
    }
  }

  const Graph& graph_;
  bool keep_all_, updates_states_;
  ir::NodeFacts facts_;
  std::vector<NodeId> order_;
  Schedule s_;
};

}  // namespace

Schedule make_schedule(const ir::Graph& graph, bool keep_all) { return Builder(graph, keep_all).run(); }

}  // namespace sinter::codegen
