#include "ir/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "ir/scan.h"

namespace sinter::ir {

const Type& Value::type() const { return graph->node(id).type; }

Value Graph::add(Op op, std::span<const NodeId> inputs, Origin origin) {
  std::vector<Type> types;
  for (const NodeId id : inputs) {
    if (id >= nodes_.size()) throw InternalError(name_, str("operand %", id, " of ", ir::name(op), " does not exist"));
    types.push_back(nodes_[id].type);
  }
  Type type;
  try {
    type = infer(op, types);
    check_scan_operands(*this, op, inputs);
  } catch (const UserError& error) {
    throw UserError(origin.text(), str(ir::name(op), ": ", error.message()));
  }
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({std::move(op), {inputs.begin(), inputs.end()}, type, std::move(origin), {}});
  for (const NodeId input : inputs) nodes_[input].users.push_back(id);
  return {this, id};
}

Value Graph::add(Op op, std::initializer_list<Value> inputs) {
  std::vector<NodeId> ids;
  for (const Value v : inputs) {
    if (v.graph != this) throw InternalError(name_, str("an operand of ", ir::name(op), " belongs to another graph"));
    ids.push_back(v.id);
  }
  return add(std::move(op), ids, origin_);
}

Value Graph::add_input(InputSpec spec) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({Input{static_cast<std::int64_t>(inputs_.size())}, {}, spec.type, origin_, {}});
  inputs_.push_back(std::move(spec));
  input_nodes_.push_back(id);
  return {this, id};
}

Value Graph::add_state(StateSpec spec) {
  if (!spec.type.shape.is_fixed()) throw UserError(spec.name, str("a state cannot have a batch dimension, got ", spec.type));
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({State{static_cast<std::int64_t>(states_.size())}, {}, spec.type, origin_, {}});
  states_.push_back(std::move(spec));
  state_nodes_.push_back(id);
  updates_.push_back(no_node);
  return {this, id};
}

void Graph::set_update(std::size_t state, NodeId value) {
  if (nodes_[value].type != states_[state].type)
    throw UserError(nodes_[value].origin.text(),
                    str("cannot assign ", nodes_[value].type, " to '", states_[state].name, "', which is ", states_[state].type));
  count_result(updates_[state], false);
  updates_[state] = value;
  count_result(value, true);
}

void Graph::clear_update(std::size_t state) {
  count_result(updates_[state], false);
  updates_[state] = no_node;
}

void Graph::add_output(Value value) {
  outputs_.push_back(value.id);
  count_result(value.id, true);
}

void Graph::set_outputs(std::vector<NodeId> ids) {
  for (const NodeId id : outputs_) count_result(id, false);
  outputs_ = std::move(ids);
  for (const NodeId id : outputs_) count_result(id, true);
}

void Graph::keep(NodeId id) {
  if (std::exchange(nodes_[id].kept, true)) return;
  count_result(id, true);
}

/// Of a file, a node need not exist before verify has looked.
void Graph::count_result(NodeId id, bool is_one) {
  if (id >= nodes_.size()) return;
  if (is_one) ++nodes_[id].results;
  else --nodes_[id].results;
}

std::vector<NodeId> Graph::topological_order() const {
  std::vector<std::size_t> waiting(nodes_.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  std::size_t live = 0;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].dead) continue;
    ++live;
    waiting[id] = nodes_[id].inputs.size();
    if (!waiting[id]) ready.push(id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (const NodeId user : nodes_[id].users)
      if (!nodes_[user].dead && --waiting[user] == 0) ready.push(user);
  }
  if (order.size() != live) throw InternalError(name_, "the graph has a cycle");
  return order;
}

void Graph::replace_all_uses(NodeId from, NodeId to) {
  if (from == to) return;
  if (nodes_[from].type != nodes_[to].type) throw InternalError(name_, str("replacing ", nodes_[from].type, " by ", nodes_[to].type));
  for (const NodeId user : nodes_[from].users)
    for (NodeId& input : nodes_[user].inputs)
      if (input == from) {
        input = to;
        nodes_[to].users.push_back(user);
      }
  nodes_[from].users.clear();
  if (!nodes_[from].results) return;
  std::replace(outputs_.begin(), outputs_.end(), from, to);
  std::replace(updates_.begin(), updates_.end(), from, to);
  if (std::exchange(nodes_[from].kept, false)) {
    count_result(from, false);
    keep(to);
  }
  nodes_[to].results += std::exchange(nodes_[from].results, 0);
}

void Graph::replace_input(NodeId user, std::size_t operand, NodeId to) {
  NodeId& input = nodes_[user].inputs[operand];
  auto& users = nodes_[input].users;
  users.erase(std::find(users.begin(), users.end(), user));
  input = to;
  nodes_[to].users.push_back(user);
}

std::vector<NodeId> Graph::erase_dead() {
  std::vector<char> needed(nodes_.size());
  std::vector<NodeId> stack(outputs_.begin(), outputs_.end());
  for (const NodeId id : updates_)
    if (id != no_node) stack.push_back(id);
  for (NodeId id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].kept) stack.push_back(id);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (needed[id]) continue;
    needed[id] = 1;
    stack.insert(stack.end(), nodes_[id].inputs.begin(), nodes_[id].inputs.end());
  }
  std::vector<NodeId> erased;
  std::vector<char> loses_users(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id)
    if (!needed[id] && !nodes_[id].dead && !is_leaf(nodes_[id].op)) {
      nodes_[id].dead = true;
      erased.push_back(id);
      for (const NodeId input : nodes_[id].inputs) loses_users[input] = 1;
    }
  for (NodeId id = 0; id < nodes_.size(); ++id)
    if (loses_users[id]) std::erase_if(nodes_[id].users, [&](NodeId user) { return nodes_[user].dead; });
  return erased;
}

Access access_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<Type> in;
  for (const NodeId input : node.inputs) in.push_back(graph.node(input).type);
  return access(node.op, in, node.type.shape);
}

}  // namespace sinter::ir
