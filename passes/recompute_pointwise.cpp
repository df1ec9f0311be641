// A value that several kernels read is stored. One that is a few cheap operations away from another stored value of its size is not worth that: x -
// mean and (x - mean) / deviation of a batch normalization are read by its sums, by what follows and by the gradients, and x itself is in memory.
// Each reader gets a copy of these operations; in a kernel that has several of them, they are computed once.
#include <algorithm>
#include <optional>
#include <set>

#include "ir/kernel.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// The most operations that a reader computes again.
constexpr int most_operations = 4;
/// A value with more readers is stored.
constexpr std::size_t most_readers = 8;
/// So many times as many elements as a value have those beside which it is small.
constexpr std::int64_t small = 8;

bool is_cheap(const ir::Op& op) {
  return std::visit(
      []<class O>(const O&) { return ir::is_one_of<O, ir::Add, ir::Sub, ir::Mul, ir::Neg, ir::Square, ir::Abs, ir::Relu, ir::Minimum, ir::Maximum>; },
      op);
}

class Recomputing {
 public:
  explicit Recomputing(ir::Graph& graph) : graph_(graph), order_(graph.topological_order()), facts_(graph.size()) {}

  std::size_t run() {
    for (const NodeId id : order_) look_at(id);
    std::size_t added = 0;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id)
      if (is_recomputed(*id)) added += give_copies(*id);
    return added;
  }

 private:
  struct Facts {
    NodeId source = ir::no_node;  ///< the value of the same size from which it is made by cheap operations; itself if there are none
    int operations = 0;           ///< from there to here
  };

  bool is_small_beside(NodeId id, const Shape& shape) const {
    const Dim own = graph_.node(id).type.shape.elements(), all = shape.elements();
    if ((own.is_batch() && !all.is_batch()) || (own.is_length() && !all.is_length())) return false;
    return (all.is_batch() && !own.is_batch()) || (all.is_length() && !own.is_length()) || own.factor() * small <= all.factor();
  }

  void look_at(NodeId id) {
    const ir::Node& node = graph_.node(id);
    Facts& facts = facts_[id];
    facts.source = id;
    if (!is_cheap(node.op) || graph_.is_output(id)) return;
    NodeId large = ir::no_node;
    for (const NodeId input : node.inputs) {
      if (is_small_beside(input, node.type.shape)) continue;
      if (large != ir::no_node || graph_.node(input).type != node.type) return;
      large = input;
    }
    if (large == ir::no_node || facts_[large].operations == most_operations) return;
    facts.source = facts_[large].source;
    facts.operations = facts_[large].operations + 1;
  }

  /// Whether the value is stored in any case: an anchor reads it that cannot have it in its prologue.
  bool is_stored(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (std::holds_alternative<ir::Input>(node.op) || std::holds_alternative<ir::State>(node.op) || graph_.is_output(id)) return true;
    return std::any_of(node.users.begin(), node.users.end(), [&](NodeId user) {
      const ir::Node& reader = graph_.node(user);
      if (!ir::is_anchor(reader.op)) return false;
      const std::optional<std::size_t> prologue = ir::prologue_operand(reader.op);
      return ir::is_anchor(node.op) || !prologue || reader.inputs[*prologue] != id;
    });
  }
  bool is_recomputed(NodeId id) const { return facts_[id].operations > 0 && is_stored(facts_[id].source); }

  /// A copy for each reader but the first. Returns their number.
  std::size_t give_copies(NodeId id) {
    std::set<NodeId> users(graph_.node(id).users.begin(), graph_.node(id).users.end());
    if (users.size() < 2 || users.size() > most_readers) return 0;
    users.erase(users.begin());
    for (const NodeId user : users) {
      const std::vector<NodeId> inputs = graph_.node(id).inputs;
      const NodeId copy = graph_.add(graph_.node(id).op, inputs, graph_.node(id).origin).id;
      for (std::size_t k = 0; k < graph_.node(user).inputs.size(); ++k)
        if (graph_.node(user).inputs[k] == id) graph_.replace_input(user, k, copy);
    }
    return users.size();
  }

  ir::Graph& graph_;
  const std::vector<NodeId> order_;
  std::vector<Facts> facts_;
};

}  // namespace

bool recompute_pointwise(ir::Graph& graph, PassContext& context) {
  const std::size_t added = Recomputing(graph).run();
  if (added) context.notes.push_back("readers compute again what is cheap: " + counted(added, "more node", "more nodes"));
  return added > 0;
}

}  // namespace sinter::passes
