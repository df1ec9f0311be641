// A value that several kernels read is stored. One that is a few cheap operations away from another stored value of its size is not worth that: x -
// mean and (x - mean) / deviation of a batch normalization are read by its sums, by what follows and by the gradients, and x itself is in memory. So
// are the conditions by which gradients pass an activation. Each reader gets a copy of these operations; in a kernel that has several of them, they
// are computed once.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/kernel.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// The most operations that a reader computes again.
constexpr int most_operations = 8;
/// A value with more readers is stored.
constexpr std::size_t most_readers = 8;
/// So many times as many elements as a value have those beside which it is small.
constexpr std::int64_t small = 8;

bool is_cheap(const ir::Op& op) {
  return std::visit(
      []<class O>(const O&) {
        return ir::is_one_of<O, ir::Add, ir::Sub, ir::Mul, ir::Neg, ir::Square, ir::Abs, ir::Relu, ir::Minimum, ir::Maximum, ir::Less, ir::LessEqual,
                             ir::Equal, ir::Select>;
      },
      op);
}

class Recomputing {
 public:
  explicit Recomputing(ir::Graph& graph) : graph_(graph), order_(graph.topological_order()), facts_(graph.size()) {}

  /// Returns how many readers compute for themselves what another one computes too.
  std::size_t run() {
    for (const NodeId id : order_) look_at(id);
    std::map<NodeId, std::vector<Reader>> readers;  // by node
    std::map<NodeId, std::set<NodeId>> of_source;
    for (const NodeId id : order_) {
      if (!is_recomputed(id)) continue;
      for (const Reader& reader : readers_of(id)) {
        readers[reader.id].push_back(reader);
        of_source[facts_[id].source].insert(reader.id);
      }
    }
    // In the order of the readers, so that in any order by number a copy comes shortly before what reads it.
    for (const NodeId id : order_) {
      const auto found = readers.find(id);
      if (found == readers.end()) continue;
      std::erase_if(found->second, [&](const Reader& reader) { return of_source[facts_[reader.value].source].size() < 2; });
      give_copies(id, found->second);
    }
    std::size_t added = 0;
    for (const auto& [source, nodes] : of_source) added += nodes.size() - 1;
    return added;
  }

 private:
  struct Facts {
    NodeId source = ir::no_node;  ///< the value of the same size from which it is made by cheap operations; itself if there are none, or it is stored
    int operations = 0;           ///< from there to here
  };
  /// What reads a recomputed value, itself or under another shape, and is not recomputed with it.
  struct Reader {
    NodeId id, value, read;  ///< read: the value, or a reshape of it
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
    if (!is_cheap(node.op) || is_stored(id) || node.users.size() > most_readers) return;
    Facts found{ir::no_node, 1};
    for (const NodeId input : node.inputs) {
      if (is_small_beside(input, node.type.shape)) continue;
      const bool is_of_another = found.source != ir::no_node && found.source != facts_[input].source;
      if (is_of_another || graph_.node(input).type.shape != node.type.shape) return;
      found.source = facts_[input].source;
      found.operations += facts_[input].operations;
    }
    if (found.source != ir::no_node && found.operations <= most_operations) facts = found;
  }

  /// Whether the value is stored in any case: an anchor reads it that cannot have it in its prologue.
  bool is_stored(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (std::holds_alternative<ir::Input>(node.op) || std::holds_alternative<ir::State>(node.op) || graph_.is_output(id)) return true;
    const auto is_read_by_anchor = [&](NodeId value) {
      const std::vector<NodeId>& users = graph_.node(value).users;
      return std::any_of(users.begin(), users.end(), [&](NodeId user) {
        const ir::Node& reader = graph_.node(user);
        if (!ir::is_anchor(reader.op)) return false;
        const std::optional<std::size_t> prologue = ir::prologue_operand(reader.op);
        return ir::is_anchor(node.op) || !prologue || reader.inputs[*prologue] != value;
      });
    };
    return is_read_by_anchor(id) ||
           std::any_of(node.users.begin(), node.users.end(), [&](NodeId user) { return ir::is_view(graph_, user) && is_read_by_anchor(user); });
  }
  bool is_recomputed(NodeId id) const { return facts_[id].operations > 0 && is_stored(facts_[id].source); }

  std::vector<Reader> readers_of(NodeId id) const {
    std::vector<Reader> readers;
    for (const NodeId user : graph_.node(id).users) {
      if (ir::is_view(graph_, user) && broadcasts_alike(id)) {
        for (const NodeId beyond : graph_.node(user).users) readers.push_back({beyond, id, user});
      } else if (!is_recomputed(user) || facts_[user].source != facts_[id].source) {
        readers.push_back({user, id, id});
      }
    }
    return readers;
  }

  /// Whether the small operands, from the source to here, are scalars or rows of columns: they broadcast with any shape of the same columns.
  bool broadcasts_alike(NodeId id) const {
    std::vector<NodeId> stack{id};
    while (!stack.empty()) {
      const NodeId next = stack.back();
      stack.pop_back();
      if (next == facts_[id].source) continue;
      for (const NodeId input : graph_.node(next).inputs) {
        if (!is_small_beside(input, graph_.node(next).type.shape)) stack.push_back(input);
        else if (graph_.node(input).type.shape.rank() > 1) return false;
      }
    }
    return true;
  }

  /// Makes a reader compute for itself what it reads.
  void give_copies(NodeId reader, const std::vector<Reader>& reads) {
    std::map<std::pair<NodeId, NodeId>, NodeId> copies;  // by the value and the reshape under which it is read
    for (const Reader& each : reads) {
      const Shape shape = graph_.node(each.read).type.shape;
      const NodeId copy = copy_of(each.value, shape, copies, each.read == each.value ? ir::no_node : each.read);
      for (std::size_t k = 0; k < graph_.node(reader).inputs.size(); ++k)
        if (graph_.node(reader).inputs[k] == each.read) graph_.replace_input(reader, k, copy);
    }
  }
  NodeId copy_of(NodeId id, const Shape& shape, std::map<std::pair<NodeId, NodeId>, NodeId>& copies, NodeId reshaped) {
    const NodeId source = facts_[id].source;
    std::vector<NodeId> stack{id};
    const auto copy = [&](NodeId of) { return copies.find({of, reshaped}); };
    while (!stack.empty()) {
      const NodeId next = stack.back();
      if (copy(next) != copies.end()) {
        stack.pop_back();
        continue;
      }
      const ir::Node& node = graph_.node(next);
      if (next == source) {
        copies[{next, reshaped}] = reshaped == ir::no_node ? next : ir::reshape(graph_.value(next), shape).id;
        continue;
      }
      std::vector<NodeId> inputs = node.inputs;
      bool ready = true;
      for (NodeId& input : inputs) {
        if (is_small_beside(input, node.type.shape)) continue;
        if (const auto found = copy(input); found != copies.end()) input = found->second;
        else stack.push_back(input), ready = false;
      }
      if (ready) copies[{next, reshaped}] = graph_.add(node.op, inputs, node.origin).id;
    }
    return copies.at({id, reshaped});
  }

  ir::Graph& graph_;
  const std::vector<NodeId> order_;
  std::vector<Facts> facts_;
};

}  // namespace

bool recompute_pointwise(ir::Graph& graph, PassContext& context) {
  const std::size_t added = Recomputing(graph).run();
  if (added) context.notes.push_back(counted(added, "reader computes", "readers compute") + " again what is cheap");
  return added > 0;
}

}  // namespace sinter::passes
