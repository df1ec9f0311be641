#include "frontend/report/graph_boxes.h"

#include <algorithm>

#include "ir/kernel.h"
#include "ir/print.h"

namespace sinter::report {

namespace {

constexpr std::size_t no_box = static_cast<std::size_t>(-1);

std::string node_text(const ir::Graph& graph, const std::vector<std::string>& names, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  std::string text = str(names[id], ": ", node.type, " = ", ir::name(node.op), "(");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) text += (i ? ", " : "") + names[node.inputs[i]];
  const std::string origin = node.origin.text();
  return text + ")" + (origin.empty() ? "" : "   # " + origin);
}

/// What a loop over time computes in each step, within braces. The depth of bodies is limited (ir/body.h).
void add_steps(std::vector<BoxMark>& ops, const ir::Scan& scan) {
  const ir::Graph& body = scan.body.graph();
  const std::vector<std::string> names = ir::printed_names(body);
  ops.push_back({BoxMark::Kind::op, "{", str("for each of ", scan.length, " steps", scan.reverse ? ", from the last to the first" : "")});
  for (const ir::NodeId id : body.topological_order()) {
    const ir::Op& op = body.node(id).op;
    if (ir::is_leaf(op) || std::holds_alternative<ir::Constant>(op) || std::holds_alternative<ir::ScanResult>(op)) continue;
    ops.push_back({BoxMark::Kind::op, std::string(ir::name(op)), "each step: " + node_text(body, names, id)});
    if (const auto* inner = std::get_if<ir::Scan>(&op)) add_steps(ops, *inner);
  }
  ops.push_back({BoxMark::Kind::op, "}", "the end of a step"});
}

class Reader {
 public:
  explicit Reader(const ir::Graph& graph)
      : graph_(graph), names_(ir::printed_names(graph)), order_(graph.topological_order()), box_of_(graph.size(), no_box), leaf_(graph.size()) {
    grouped_ = std::any_of(order_.begin(), order_.end(), [&](ir::NodeId id) { return graph_.node(id).kernel >= 0; });
    recomputed_.resize(graph.size());
    for (const ir::NodeId id : order_) recomputed_[id] = grouped_ && ir::is_recomputable(graph, id);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
      leaf_[graph.input_node(i)] = leaf("input", BoxMark::Kind::input, graph.inputs()[i].name, graph.input_node(i));
    for (std::size_t i = 0; i < graph.states().size(); ++i)
      leaf_[graph.state_node(i)] = leaf("state", BoxMark::Kind::state, graph.states()[i].name, graph.state_node(i));
    assign_boxes();
    for (const ir::NodeId id : order_)
      if (box_of_[id] != no_box) add_node(id);
    add_results();
  }

  std::vector<GraphBox> take() { return std::move(boxes_); }

 private:
  BoxMark leaf(const char* what, BoxMark::Kind kind, const std::string& name, ir::NodeId id) const {
    return {kind, name, str(what, " ", name, ": ", graph_.node(id).type)};
  }
  std::string value_text(ir::NodeId id) const { return str(names_[id], ": ", graph_.node(id).type); }
  std::string node_text(ir::NodeId id) const { return report::node_text(graph_, names_, id); }
  bool kept(ir::NodeId id) const {
    return graph_.is_output(id) || std::find(graph_.updates().begin(), graph_.updates().end(), id) != graph_.updates().end();
  }
  /// Nodes without operands, such as constants: marks, unless a call returns them.
  bool is_mark(ir::NodeId id) const {
    const ir::Op& op = graph_.node(id).op;
    return (std::holds_alternative<ir::Constant>(op) || std::holds_alternative<ir::Extent>(op)) && !kept(id);
  }

  /// Kernels in the order of their numbers, then nodes that no kernel has.
  void assign_boxes() {
    std::map<std::int32_t, std::size_t> by_kernel;
    for (const ir::NodeId id : order_)
      if (graph_.node(id).kernel >= 0) by_kernel.emplace(graph_.node(id).kernel, 0);
    for (auto& [kernel, box] : by_kernel) {
      box = boxes_.size();
      boxes_.push_back({str("kernel ", kernel), "", {}, {}, {}, {}, {}});
    }
    for (const ir::NodeId id : order_) {
      const ir::Node& node = graph_.node(id);
      if (ir::is_leaf(node.op) || node.kernel == ir::inlined) continue;
      if (node.kernel >= 0) {
        box_of_[id] = by_kernel[node.kernel];
      } else if (!is_mark(id)) {
        box_of_[id] = boxes_.size();
        boxes_.push_back({str(names_[id], " ", ir::name(node.op)), "", {}, {}, {}, {}, {}});
      }
    }
  }

  static void add_once(std::vector<BoxMark>& marks, const BoxMark& mark) {
    if (std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
  }

  void add_node(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    const std::size_t at = box_of_[id];
    GraphBox& box = boxes_[at];
    if (node.kernel < 0) box.tip = node_text(id);
    else if (!std::holds_alternative<ir::ScanResult>(node.op)) box.ops.push_back({BoxMark::Kind::op, std::string(ir::name(node.op)), node_text(id)});
    if (const auto* scan = std::get_if<ir::Scan>(&node.op)) add_steps(box.ops, *scan);
    const bool result =
        node.kernel < 0 || kept(id) || std::any_of(node.users.begin(), node.users.end(), [&](ir::NodeId user) { return box_of_[user] != at; });
    if (const std::string type = str(node.type); result && std::find(box.types.begin(), box.types.end(), type) == box.types.end())
      box.types.push_back(type);
    std::vector<ir::NodeId> read(node.inputs), seen;
    while (!read.empty()) {
      const ir::NodeId from = read.back();
      read.pop_back();
      if (box_of_[from] == at || std::find(seen.begin(), seen.end(), from) != seen.end()) continue;
      seen.push_back(from);
      const ir::Node& source = graph_.node(from);
      if (ir::is_leaf(source.op)) {
        add_once(box.reads, leaf_[from]);
      } else if (recomputed_[from]) {
        read.insert(read.end(), source.inputs.begin(), source.inputs.end());
      } else if (box_of_[from] == no_box) {
        const auto* constant = std::get_if<ir::Constant>(&source.op);
        add_once(box.reads,
                 {BoxMark::Kind::constant, constant ? ir::number_text(constant->value) : std::string(ir::name(source.op)), node_text(from)});
      } else {
        auto& values = box.from[box_of_[from]];
        if (const std::string text = value_text(from); std::find(values.begin(), values.end(), text) == values.end()) values.push_back(text);
      }
    }
  }

  void add_results() {
    for (std::size_t i = 0; i < graph_.updates().size(); ++i) {
      const ir::NodeId id = graph_.updates()[i];
      if (id == ir::no_node || box_of_[id] == no_box) continue;
      const std::string& name = graph_.states()[i].name;
      boxes_[box_of_[id]].writes.push_back({BoxMark::Kind::update, name, str("state ", name, " becomes ", node_text(id))});
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ir::NodeId id = graph_.outputs()[i];
      if (box_of_[id] != no_box)
        boxes_[box_of_[id]].writes.push_back({BoxMark::Kind::output, str("output ", i), str("output ", i, " is ", node_text(id))});
    }
    for (GraphBox& box : boxes_) {
      std::vector<BoxMark> sorted;
      for (const BoxMark::Kind kind : {BoxMark::Kind::input, BoxMark::Kind::state, BoxMark::Kind::constant})
        std::copy_if(box.reads.begin(), box.reads.end(), std::back_inserter(sorted), [&](const BoxMark& mark) { return mark.kind == kind; });
      box.reads = std::move(sorted);
    }
  }

  const ir::Graph& graph_;
  std::vector<std::string> names_;
  std::vector<ir::NodeId> order_;
  std::vector<std::size_t> box_of_;
  std::vector<BoxMark> leaf_;
  std::vector<bool> recomputed_;
  bool grouped_ = false;
  std::vector<GraphBox> boxes_;
};

}  // namespace

std::vector<GraphBox> graph_boxes(const ir::Graph& graph) { return Reader(graph).take(); }

}  // namespace sinter::report
