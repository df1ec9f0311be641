#include "ir/verify.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/kernel.h"
#include "ir/scan.h"

namespace sinter::ir {

namespace {

[[noreturn]] void fail(const Graph& graph, NodeId id, const std::string& rule) {
  const Node& node = graph.node(id);
  const std::string where = node.origin.text();
  throw NodeError(where.empty() ? graph.name() : where, id, str("node %", id, " (", name(node.op), "): ", rule));
}

/// The uses of each node by live nodes in ascending order, from the operands; only of operands that exist.
std::vector<std::vector<NodeId>> users_by_operands(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id)
    if (!graph.node(id).dead)
      for (const NodeId input : graph.node(id).inputs)
        if (input < graph.size()) result[input].push_back(id);
  return result;
}

void check_users(const Graph& graph, NodeId id, const std::vector<NodeId>& expected) {
  std::vector<NodeId> users = graph.node(id).users;
  std::sort(users.begin(), users.end());
  if (users == expected) return;
  const auto [is, should] = std::mismatch(users.begin(), users.end(), expected.begin(), expected.end());
  const NodeId user = should == expected.end() || (is != users.end() && *is < *should) ? *is : *should;
  fail(graph, id, str("the users of operand %", id, " do not match at %", user));
}

void check_operands(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeId input = node.inputs[i];
    if (input >= graph.size()) fail(graph, id, str("operand ", i, " is %", input, ", which does not exist"));
    if (graph.node(input).dead) fail(graph, id, str("operand ", i, " is %", input, ", which is dead"));
    if (graph.node(input).type.shape.rank() && graph.node(input).type.shape[0].is_rows() && !(std::holds_alternative<GatherRows>(node.op) && i == 0))
      fail(graph, id, str("reads a table (", graph.node(input).type, "); only gather_rows may, as its first operand"));
  }
}

void check_type(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<Type> types;
  for (const NodeId input : node.inputs) types.push_back(graph.node(input).type);
  Type type;
  try {
    type = infer(node.op, types);
    check_scan_operands(graph, node.op, node.inputs);
  } catch (const UserError& error) {
    fail(graph, id, std::string(error.message()));
  }
  if (type != node.type) fail(graph, id, str("has type ", node.type, " but its shape rule gives ", type));
  for (const auto& [name, value] : attributes(node.op)) {
    const auto* number = std::get_if<double>(&value);
    const auto* dim = std::get_if<Dim>(&value);
    const auto* shape = std::get_if<Shape>(&value);
    if (number && std::isnan(*number) && !may_be_nan(node.op)) fail(graph, id, str("attribute '", name, "' is NaN"));
    if ((dim && dim->is_rows()) || (shape && std::any_of(shape->begin(), shape->end(), [](Dim d) { return d.is_rows(); })))
      fail(graph, id, str("attribute '", name, "' is ", to_string(value), "; only a table input has R"));
  }
  if (const auto* c = std::get_if<Constant>(&node.op))
    if (wrap(c->dtype, c->value) != c->value && !(is_float(c->dtype) && std::isnan(c->value)))
      fail(graph, id, str("constant ", c->value, " is not exact in ", c->dtype));
  if (node.kernel == inlined && !is_recomputable(graph, id)) fail(graph, id, "is inlined but neither a recomputable scalar nor a row view");
}

void check_input(const Graph& graph, std::size_t index) {
  const InputSpec& spec = graph.inputs()[index];
  const Shape& shape = spec.type.shape;
  const bool leads_batch = shape.rank() && shape[0] == Dim::batch();
  const bool leads_rows = shape.rank() && shape[0].is_rows();
  const auto rest = [&](auto&& rule) { return std::all_of(shape.begin() + (shape.rank() ? 1 : 0), shape.end(), rule); };
  const bool rest_fixed = rest([](Dim d) { return d.is_fixed(); });
  const bool fits = spec.kind == InputSpec::Kind::batch   ? leads_batch && rest([](Dim d) { return d.is_fixed() || d == Dim::length(); })
                    : spec.kind == InputSpec::Kind::table ? leads_rows && rest_fixed
                                                          : shape.is_fixed();
  if (!fits)
    throw NodeError(graph.name(), graph.input_node(index),
                    str("input '", spec.name, "' is ", spec.type,
                        "; batch inputs lead with N, tables with R, all others have neither; only batch inputs have a length T"));
}

}  // namespace

bool may_be_nan(const Op& op) { return std::holds_alternative<Constant>(op) || std::holds_alternative<Pad>(op) || std::holds_alternative<Shift>(op); }

void verify(const Graph& graph) {
  std::vector<int> input_leaves(graph.inputs().size()), state_leaves(graph.states().size());
  const std::vector<std::vector<NodeId>> users = users_by_operands(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.dead) continue;
    check_operands(graph, id);
    check_users(graph, id, users[id]);
    if (const auto* input = std::get_if<Input>(&node.op)) {
      const auto index = static_cast<std::size_t>(input->index);
      if (index >= graph.inputs().size() || graph.input_node(index) != id || node.type != graph.inputs()[index].type)
        fail(graph, id, "does not match its declared input");
      ++input_leaves[index];
    } else if (const auto* state = std::get_if<State>(&node.op)) {
      const auto index = static_cast<std::size_t>(state->index);
      if (index >= graph.states().size() || graph.state_node(index) != id || node.type != graph.states()[index].type)
        fail(graph, id, "does not match its declared state");
      ++state_leaves[index];
    } else {
      check_type(graph, id);
    }
  }
  (void)graph.topological_order();  // throws on a cycle

  std::set<std::string> names;
  const auto check_leaf = [&](std::string_view what, const std::string& name, NodeId leaf, int leaves) {
    if (name.empty()) throw NodeError(graph.name(), leaf, "an input or state has no name");
    if (!names.insert(name).second) throw NodeError(graph.name(), leaf, str("the name '", name, "' is used twice"));
    if (leaves != 1) throw NodeError(graph.name(), leaf, str(what, " '", name, "' has ", leaves, " leaves, not 1"));
  };
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    check_leaf("input", graph.inputs()[i].name, graph.input_node(i), input_leaves[i]);
    check_input(graph, i);
  }
  for (std::size_t i = 0; i < graph.states().size(); ++i) {
    const StateSpec& state = graph.states()[i];
    const NodeId leaf = graph.state_node(i), update = graph.updates()[i];
    check_leaf("state", state.name, leaf, state_leaves[i]);
    if (!state.type.shape.is_fixed())
      throw NodeError(graph.name(), leaf, str("state '", state.name, "' is ", state.type, "; a state has no batch dimension"));
    if (update == no_node) continue;
    if (update >= graph.size() || graph.node(update).dead)
      throw UserError(graph.name(), str("the update of state '", state.name, "' does not exist"));
    if (std::holds_alternative<Scan>(graph.node(update).op)) fail(graph, update, "a scan cannot be an update, only one of its results");
    if (graph.node(update).type != state.type)
      throw NodeError(graph.name(), update, str("the update of state '", state.name, "' is ", graph.node(update).type, ", the state ", state.type));
  }
  for (const NodeId id : graph.outputs()) {
    if (id >= graph.size() || graph.node(id).dead) throw UserError(graph.name(), str("output %", id, " does not exist"));
    if (graph.node(id).type.shape.rank() && graph.node(id).type.shape[0].is_rows()) fail(graph, id, "a table cannot be an output");
    if (std::holds_alternative<Scan>(graph.node(id).op)) fail(graph, id, "a scan cannot be an output, only one of its results");
  }
}

}  // namespace sinter::ir
