// A traced program: an arena of nodes with ids, users and types. No recursion anywhere: graphs can be deep.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/input_spec.h"
#include "ir/ops.h"
#include "ir/value.h"

namespace sinter::ir {

/// The kernel of a node that is in no kernel group (yet).
inline constexpr std::int32_t no_kernel = -1;
/// A cheap scalar that each kernel which reads it computes for itself.
inline constexpr std::int32_t inlined = -2;

/// Steps of sequences that nobody needs: of each sample, those before the first and behind the last for which a mask, a boolean for each step, is
/// true. Of a value over the steps, its rows there need not be computed; of a loop over time, such steps of all samples need not run; a sum over the
/// steps adds zeros there.
struct Padding {
  NodeId mask = no_node;  ///< none: all are needed
  bool anything = false;  ///< of a value: whatever stands there; else 0 must, or another finite number
};

struct Node {
  Op op;
  std::vector<NodeId> inputs;
  Type type;
  Origin origin;
  std::vector<NodeId> users;        ///< one entry per use; outputs and state updates are not in it
  std::int32_t kernel = no_kernel;  ///< kernel group, set by the pass `group`
  Padding padding = {};             ///< set by the pass `skip_padding`
  /// Of the leaf of a state: a scatter_add_rows; the state's update has the state's own value in all rows to which that adds nothing. Set by the pass
  /// `touched_rows`.
  NodeId touched_by = no_node;
  bool dead = false;
  bool kept = false;             ///< computed and stored although nothing needs it
  NodeId gradient_of = no_node;  ///< the value whose final gradient this node is, set by differentiate: for reports about removed gradients
  std::uint32_t results = 0;     ///< outputs and updates that are this node; one more if it is kept
};

/// A cell: a value that persists between calls. Its shape has no N.
struct StateSpec {
  std::string name;
  Type type;
  bool trainable = false;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // ---- building ----
  /// Appends a node. Throws UserError `[layer, file:line] op: rule …` if the op's shape rule does not hold, and for two Ns in one
  /// shape.
  Value add(Op op, std::span<const NodeId> inputs, Origin origin);
  /// The same with the current origin (see OriginScope).
  Value add(Op op, std::initializer_list<Value> inputs);
  Value add_input(InputSpec spec);
  /// The leaf of a state; one per state.
  Value add_state(StateSpec spec);
  void add_output(Value value);
  void set_outputs(std::vector<NodeId> ids);
  /// The value that the state has after the call. Throws UserError if its type differs from the state's.
  void set_update(std::size_t state, NodeId value);

  /// The state keeps its value.
  void clear_update(std::size_t state);

  // ---- reading ----
  const Node& node(NodeId id) const { return nodes_[id]; }
  /// The node's op if it is an O, else null.
  template <class O>
  const O* op_as(NodeId id) const {
    return std::get_if<O>(&nodes_[id].op);
  }
  /// Node count, dead ones included: ids run from 0.
  std::size_t size() const { return nodes_.size(); }
  Value value(NodeId id) { return {this, id}; }
  std::span<const InputSpec> inputs() const { return inputs_; }
  std::span<const StateSpec> states() const { return states_; }
  /// The leaf node of an input or state.
  NodeId input_node(std::size_t index) const { return input_nodes_[index]; }
  NodeId state_node(std::size_t index) const { return state_nodes_[index]; }
  std::span<const NodeId> outputs() const { return outputs_; }
  /// One per state: no_node where the call does not change it.
  std::span<const NodeId> updates() const { return updates_; }
  /// Uses by live nodes, outputs, updates and being kept together.
  std::size_t use_count(NodeId id) const { return nodes_[id].users.size() + nodes_[id].results; }
  /// Whether it is an output, an update or kept.
  bool is_output(NodeId id) const { return nodes_[id].results > 0; }
  /// Live nodes, each after its inputs; among the candidates for the next the lowest id first.
  std::vector<NodeId> topological_order() const;

  // ---- changing ----
  /// Every use of `from`, outputs and updates included, becomes a use of `to`. Throws InternalError if the types differ.
  void replace_all_uses(NodeId from, NodeId to);
  void replace_input(NodeId user, std::size_t operand, NodeId to);
  void set_unpadded(std::size_t input) { inputs_[input].unpadded = true; }
  void set_kernel(NodeId id, std::int32_t kernel) { nodes_[id].kernel = kernel; }
  void set_padding(NodeId id, Padding padding) { nodes_[id].padding = padding; }
  void set_touched_by(std::size_t state, NodeId scatter) { nodes_[state_nodes_[state]].touched_by = scatter; }
  /// Counts as needed from now on: to measure what the removal of unused nodes saves.
  void keep(NodeId id);
  void set_gradient_of(NodeId id, NodeId value) { nodes_[id].gradient_of = value; }
  /// Of a scan: another body with inputs and outputs of the same types.
  void set_body(NodeId scan, Body body) { std::get<Scan>(nodes_[scan].op).body = std::move(body); }
  void set_origin(NodeId id, Origin origin) { nodes_[id].origin = std::move(origin); }
  /// Marks nodes as dead that no output, no update and no kept node needs, except leaves. Returns their ids.
  std::vector<NodeId> erase_dead();

  // ---- origin of new nodes ----
  const Origin& origin() const { return origin_; }
  void set_current_origin(Origin origin) { origin_ = std::move(origin); }

 private:
  void count_result(NodeId id, bool is_one);

  std::string name_;
  std::deque<Node> nodes_;  ///< references to nodes and their types stay valid while the graph grows: gradient rules and passes hold them
  std::vector<InputSpec> inputs_;
  std::vector<StateSpec> states_;
  std::vector<NodeId> input_nodes_, state_nodes_, outputs_, updates_;
  Origin origin_;
};

/// Nodes added during its life get this origin.
class OriginScope {
 public:
  OriginScope(Graph& graph, Origin origin) : graph_(graph), saved_(graph.origin()) { graph.set_current_origin(std::move(origin)); }
  ~OriginScope() { graph_.set_current_origin(std::move(saved_)); }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Graph& graph_;
  Origin saved_;
};

/// How a node that is not a leaf walks over its operands.
Access access_of(const Graph& graph, NodeId id);

}  // namespace sinter::ir
