// max_pool(relu(x)) = relu(max_pool(x)): after the pool there are fewer elements to rectify, and in training only the input of relu
// is kept. The gradient of relu moves too: where the greatest element is not positive, no gradient passes, whichever position it has.
#include <algorithm>

#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

bool is_zero(const ir::Graph& graph, NodeId id) {
  const auto* constant = graph.op_as<ir::Constant>(id);
  return constant && constant->value == 0;
}

/// select(y <= 0, 0, pool_put(place, dy)): the gradient of max_pool(y) and of y = relu(x).
struct Gradient {
  NodeId select, place, dy;
  ir::PoolPut put;
};

/// The gradients that read y <= 0; empty if it has other readers.
std::optional<std::vector<Gradient>> gradients_of(const ir::Graph& graph, NodeId y, NodeId mask) {
  std::vector<Gradient> result;
  for (const NodeId user : graph.node(mask).users) {
    const auto& in = graph.node(user).inputs;
    if (!graph.op_as<ir::Select>(user) || in[0] != mask || !is_zero(graph, in[1])) return std::nullopt;
    // Into an image of y's shape, at y's positions, with the same windows.
    const auto* put = graph.op_as<ir::PoolPut>(in[2]);
    if (!put || graph.use_count(in[2]) != 1 || graph.node(in[2]).type.shape != graph.node(y).type.shape) return std::nullopt;
    const NodeId place = graph.node(in[2]).inputs[0];
    const auto* of = graph.op_as<ir::MaxPoolPlace>(place);
    if (!of || graph.node(place).inputs[0] != y || of->kernel != put->kernel || of->strides != put->strides || of->pads != put->pads)
      return std::nullopt;
    result.push_back({user, place, graph.node(in[2]).inputs[1], *put});
  }
  return result;
}

/// The readers of relu's result, if they are only max pools and their gradients.
struct Readers {
  std::vector<NodeId> pools;
  std::vector<Gradient> gradients;
};
std::optional<Readers> readers_of(const ir::Graph& graph, NodeId y) {
  Readers readers;
  std::vector<NodeId> places;
  if (graph.use_count(y) != graph.node(y).users.size()) return std::nullopt;  // an output or update
  for (const NodeId user : graph.node(y).users) {
    const auto& in = graph.node(user).inputs;
    if (graph.op_as<ir::MaxPool>(user)) readers.pools.push_back(user);
    else if (graph.op_as<ir::MaxPoolPlace>(user)) places.push_back(user);
    else if (graph.op_as<ir::LessEqual>(user) && in[0] == y && is_zero(graph, in[1])) {
      const auto gradients = gradients_of(graph, y, user);
      if (!gradients || graph.use_count(user) != graph.node(user).users.size()) return std::nullopt;
      readers.gradients.insert(readers.gradients.end(), gradients->begin(), gradients->end());
    } else {
      return std::nullopt;
    }
  }
  const auto goes_with_a_gradient = [&](NodeId place) {
    const auto mine = std::count_if(readers.gradients.begin(), readers.gradients.end(), [&](const Gradient& g) { return g.place == place; });
    return static_cast<std::size_t>(mine) == graph.use_count(place);
  };
  if (readers.pools.empty() || !std::all_of(places.begin(), places.end(), goes_with_a_gradient)) return std::nullopt;
  return readers;
}

}  // namespace

bool relu_past_pool(ir::Graph& graph, PassContext& context) {
  std::size_t moved = 0;
  for (const NodeId id : graph.topological_order()) {
    if (!graph.op_as<ir::Relu>(id)) continue;
    const auto readers = readers_of(graph, id);
    if (!readers) continue;
    const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
    const ir::Value x = graph.value(graph.node(id).inputs[0]);
    for (const NodeId pool : readers->pools)
      graph.replace_all_uses(pool, graph.add(ir::Relu{}, {graph.add(graph.node(pool).op, std::vector{x.id}, graph.node(pool).origin)}).id);
    for (const Gradient& g : readers->gradients) {
      const ir::Value zero = ir::constant(graph, 0), greatest = graph.add(ir::MaxPool{g.put.kernel, g.put.strides, g.put.pads}, {x});
      const ir::Value dy = ir::select(ir::less_equal(graph.add(ir::Relu{}, {greatest}), zero), zero, graph.value(g.dy));
      const ir::Value place = graph.add(ir::MaxPoolPlace{g.put.kernel, g.put.strides, g.put.pads}, {x});
      graph.replace_all_uses(g.select, graph.add(g.put, {place, dy}).id);
    }
    ++moved;
  }
  if (moved) context.notes.push_back("moved " + counted(moved, "relu", "relus") + " past the max pool");
  return moved > 0;
}

}  // namespace sinter::passes
