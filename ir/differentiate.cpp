#include "ir/differentiate.h"

#include <algorithm>

#include "ir/scan.h"

namespace sinter::ir {

namespace {

/// The nodes that the outputs depend on, including these.
std::vector<char> ancestors(const Graph& graph, std::span<const Value> outputs) {
  std::vector<char> reached(graph.size());
  std::vector<NodeId> stack;
  for (const Value output : outputs) stack.push_back(output.id);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (reached[id]) continue;
    reached[id] = 1;
    stack.insert(stack.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  }
  return reached;
}

Values gradients_of_inputs(const Op& op, const Vjp& v) {
  return std::visit(
      [&]<class O>(const O& o) -> Values {
        if constexpr (HasNoGradient<O>) return Values(v.x.size());
        else return o.vjp(v);
      },
      op);
}

}  // namespace

Values differentiate(Value loss, std::span<const Value> wrt) {
  Graph& graph = *loss.graph;
  if (loss.type() != Type{})
    throw UserError(graph.node(loss.id).origin.text(), str("grad needs a scalar f32 loss, got ", loss.type(), "; take its mean or sum first"));
  const Value one = constant(graph, 1);
  return differentiate({&loss, 1}, {&one, 1}, wrt);
}

Values differentiate(std::span<const Value> outputs, std::span<const Value> seeds, std::span<const Value> wrt) {
  if (outputs.empty()) return Values(wrt.size());
  Graph& graph = *outputs[0].graph;
  if (seeds.size() != outputs.size())
    throw InternalError("differentiate", str("needs a seed for each of ", outputs.size(), " outputs, got ", seeds.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (seeds[i].type() != outputs[i].type() || !is_float(outputs[i].type().dtype))
      throw InternalError("differentiate", str("needs f32 outputs and seeds of their types, got ", outputs[i].type(), " and ", seeds[i].type()));
  const std::vector<char> reached = ancestors(graph, outputs);
  std::vector<NodeId> order = graph.topological_order();
  std::reverse(order.begin(), order.end());

  std::vector<Value> gradients(graph.size());  // of the existing nodes; new ones need none
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value& gradient = gradients[outputs[i].id];
    gradient = gradient ? gradient + seeds[i] : seeds[i];
  }
  // Of a scan, by result: all that reads it comes after it.
  const auto of_results = [&](NodeId id) {
    Values found(std::get<Scan>(graph.node(id).op).result_count());
    for (const NodeId user : graph.node(id).users) {
      if (user >= gradients.size() || !gradients[user]) continue;
      Value& gradient = found[result_index(graph, user)];
      gradient = gradient ? gradient + gradients[user] : gradients[user];
    }
    return found;
  };
  for (const NodeId id : order) {
    const bool is_scan = std::holds_alternative<Scan>(graph.node(id).op);
    if (!reached[id] || is_leaf(graph.node(id).op) || std::holds_alternative<ScanResult>(graph.node(id).op) || !(is_scan || gradients[id])) continue;
    const Op op = graph.node(id).op;  // copies: the arena grows below
    const std::vector<NodeId> inputs = graph.node(id).inputs;
    Origin origin = graph.node(id).origin;
    origin.gradient_of = name(op);
    const OriginScope scope(graph, std::move(origin));
    Values x;
    for (const NodeId input : inputs) x.push_back({&graph, input});
    const Values dx = is_scan ? scan_gradients({&graph, id}, of_results(id)) : gradients_of_inputs(op, {graph, x, {&graph, id}, gradients[id]});
    if (dx.size() != inputs.size()) throw InternalError(name(op), "the gradient rule must return one value an input");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type type = graph.node(inputs[i]).type;
      if (!dx[i] || !is_float(type.dtype)) continue;
      // A rule may return something narrower than y (a scalar seed, say): widen before narrowing to the input's shape.
      const Shape& y = graph.node(id).type.shape;
      const Value full = is_elementwise(op) ? broadcast(dx[i], y) : dx[i];
      const Value fitted = sum_to(full, type.shape);
      gradients[inputs[i]] = gradients[inputs[i]] ? gradients[inputs[i]] + fitted : fitted;
    }
  }
  // A node may be the gradient of several values (add passes its own on): then it counts as that of the first, the one nearest to the leaves.
  for (NodeId id = 0; id < gradients.size(); ++id)
    if (gradients[id] && graph.node(gradients[id].id).gradient_of == no_node) graph.set_gradient_of(gradients[id].id, id);
  Values result;
  for (const Value w : wrt) result.push_back(w.id < gradients.size() ? gradients[w.id] : Value{});
  return result;
}

}  // namespace sinter::ir
