// Identities. Each holds for every operand: x·0 is kept (NaN, infinity), and so is x + 0 of floats (it turns -0 into 0).
#include <cmath>
#include <numeric>

#include "ir/kernel.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

bool is_constant(const ir::Graph& graph, NodeId id, double value) {
  const auto* constant = graph.op_as<ir::Constant>(id);
  return constant && constant->value == value && std::signbit(constant->value) == std::signbit(value);
}

/// The neutral element of addition: 0 for integers, -0 for floats.
bool is_nothing(const ir::Graph& graph, NodeId id) { return is_constant(graph, id, is_float(graph.node(id).type.dtype) ? -0.0 : 0.0); }

Shape without_leading_ones(const Shape& shape) {
  std::size_t ones = 0;
  while (ones < shape.rank() && shape[ones] == Dim(1)) ++ones;
  return shape.erase(0, ones);
}

/// The operand below broadcasts, which pointwise ops do implicitly.
NodeId below_broadcast(const ir::Graph& graph, NodeId id) {
  while (graph.op_as<ir::Broadcast>(id)) id = graph.node(id).inputs[0];
  return id;
}

/// pointwise(broadcast(x), ...) → pointwise(x, ...), followed by a broadcast if no other operand gives the result its shape.
NodeId narrow_operands(ir::Graph& graph, NodeId id) {
  const ir::Node node = graph.node(id);
  std::vector<NodeId> operands;
  for (const NodeId input : node.inputs) operands.push_back(below_broadcast(graph, input));
  if (operands == node.inputs) return id;
  const Value narrow = graph.add(node.op, operands, node.origin);
  return ir::broadcast(narrow, node.type.shape).id;
}

/// The value that a pointwise node equals, found by one identity; the node itself if there is none.
struct Identities {
  ir::Graph& graph;
  NodeId id;

  NodeId operand(std::size_t i) const { return graph.node(id).inputs[i]; }
  Value value(NodeId from) const { return graph.value(from); }
  bool keeps_type(NodeId from) const { return graph.node(from).type == graph.node(id).type; }
  NodeId negated(std::size_t i) const { return graph.op_as<ir::Neg>(operand(i)) ? graph.node(operand(i)).inputs[0] : ir::no_node; }

  NodeId operator()(const ir::Mul&) const {
    for (const std::size_t i : {0u, 1u})
      if (is_constant(graph, operand(1 - i), 1) && keeps_type(operand(i))) return operand(i);
    return id;
  }
  NodeId operator()(const ir::Div&) const { return is_constant(graph, operand(1), 1) && keeps_type(operand(0)) ? operand(0) : id; }
  NodeId operator()(const ir::Add&) const {
    for (const std::size_t i : {0u, 1u})
      if (is_nothing(graph, operand(1 - i)) && keeps_type(operand(i))) return operand(i);
    if (negated(1) != ir::no_node) return (value(operand(0)) - value(negated(1))).id;
    if (negated(0) != ir::no_node) return (value(operand(1)) - value(negated(0))).id;
    return id;
  }
  NodeId operator()(const ir::Sub&) const {
    if (is_constant(graph, operand(1), 0) && keeps_type(operand(0))) return operand(0);
    return negated(1) != ir::no_node ? (value(operand(0)) + value(negated(1))).id : id;
  }
  NodeId operator()(const ir::Neg&) const { return negated(0) != ir::no_node ? negated(0) : id; }
  NodeId operator()(const ir::Cast&) const { return keeps_type(operand(0)) ? operand(0) : id; }
  NodeId operator()(const ir::StopGradient&) const { return operand(0); }  // gradients have been taken
  template <class O>
  NodeId operator()(const O&) const {
    return id;
  }
};

/// Two permutations are one, and one of the last two dimensions is a transpose, which products read in place.
NodeId simplify_permutation(ir::Graph& graph, NodeId id) {
  const auto permute = std::get<ir::Permute>(graph.node(id).op);
  NodeId from = graph.node(id).inputs[0];
  const std::size_t rank = permute.axes.rank();
  std::vector<std::int64_t> axes(rank), same(rank);
  std::iota(same.begin(), same.end(), 0);
  const auto* before = graph.op_as<ir::Permute>(from);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = (before ? before->axes[permute.from(i)] : permute.axes[i]).factor();
  if (before) from = graph.node(from).inputs[0];
  if (axes == same) return from;
  if (rank > 1) std::swap(same[rank - 2], same[rank - 1]);
  if (axes == same) return graph.add(ir::Transpose{}, {graph.value(from)}).id;
  return before ? graph.add(ir::Permute{Shape(axes)}, {graph.value(from)}).id : id;
}

NodeId simplify_movement(ir::Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.inputs.empty()) return id;
  const NodeId from = node.inputs[0];
  const Shape shape = node.type.shape;
  if (graph.op_as<ir::Reshape>(id)) {
    if (graph.node(from).type == node.type && ir::layout_of(graph, from) == ir::layout_of(graph, id)) return from;  // else unpad_inputs made it
    if (graph.op_as<ir::Reshape>(from)) return ir::reshape(graph.value(graph.node(from).inputs[0]), shape).id;
    const NodeId core = below_broadcast(graph, from);
    if (core != from && graph.node(core).type.shape.is_scalar()) return ir::broadcast(graph.value(core), shape).id;
  } else if (graph.op_as<ir::Broadcast>(id)) {
    if (graph.node(from).type == node.type) return from;
    if (graph.op_as<ir::Broadcast>(from)) return ir::broadcast(graph.value(graph.node(from).inputs[0]), shape).id;
    if (graph.op_as<ir::Reshape>(from)) {  // one that only adds or drops leading 1s, as broadcasting does
      const NodeId core = graph.node(from).inputs[0];
      const Shape core_shape = graph.node(core).type.shape;
      if (core_shape.rank() <= shape.rank() && without_leading_ones(core_shape) == without_leading_ones(graph.node(from).type.shape))
        return ir::broadcast(graph.value(core), shape).id;
    }
  } else if (graph.op_as<ir::Permute>(id)) {
    return simplify_permutation(graph, id);
  } else if (graph.op_as<ir::Transpose>(id)) {
    if (graph.op_as<ir::Transpose>(from)) return graph.node(from).inputs[0];
  } else if (const auto* sum = graph.op_as<ir::Sum>(id); sum && is_float(node.type.dtype)) {  // of a repeated scalar: the scalar times how often
    const NodeId core = below_broadcast(graph, from);
    if (core != from && graph.node(core).type.shape.is_scalar()) {
      const Dim count = ir::reduce_extents(graph.node(from).type.shape, sum->first, sum->last).reduced;
      return ir::broadcast(graph.value(core) * ir::extent(graph, count), shape).id;
    }
  }
  return id;
}

NodeId simplify_node(ir::Graph& graph, NodeId id) {
  if (!ir::is_elementwise(graph.node(id).op)) return simplify_movement(graph, id);
  const NodeId simpler = std::visit(Identities{graph, id}, graph.node(id).op);
  return simpler == id ? narrow_operands(graph, id) : simpler;
}

}  // namespace

bool simplify(ir::Graph& graph, PassContext& context) {
  std::size_t replaced = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId id : graph.topological_order()) {
      if (graph.use_count(id) == 0) continue;
      const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
      const NodeId simpler = simplify_node(graph, id);
      if (simpler == id) continue;
      graph.replace_all_uses(id, simpler);
      changed = true;
      ++replaced;
    }
    graph.erase_dead();
  }
  if (replaced) context.notes.push_back("simplified " + counted(replaced, "node", "nodes"));
  return replaced > 0;
}

}  // namespace sinter::passes
