// The training step of the workload mlp_b500, written directly in IR: 784-70-30-10, sigmoid, clipped cross-entropy with an L2 term, RMSprop.
#pragma once

#include "ir/differentiate.h"
#include "ir/graph.h"
#include "tests/ir/random_arrays.h"

namespace sinter::test {

/// Inputs x f32[N,784], y f32[N,10]; states weight, bias and their v a layer, then learning_rate; output the loss.
inline ir::Graph mlp_step(const std::vector<std::int64_t>& sizes = {784, 70, 30, 10}) {
  using namespace ir;
  Graph graph("mlp_step");
  const Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), sizes.front()}}});
  const Value y = graph.add_input({"y", {DType::f32, {Dim::batch(), sizes.back()}}});
  struct Parameter {
    std::size_t state;
    Value value, v;
  };
  std::vector<Parameter> parameters;
  const auto add_parameter = [&](const std::string& name, const Shape& shape) {
    const std::size_t state = graph.states().size();
    const Value value = graph.add_state({name, {DType::f32, shape}, true});
    parameters.push_back({state, value, graph.add_state({"rmsprop/" + name + "/v", {DType::f32, shape}})});
    return value;
  };
  Value s = x;
  std::vector<Value> weights;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const std::string layer = str("dense_", i);
    const OriginScope scope(graph, {layer, "mlp.cpp", static_cast<std::uint32_t>(10 + i)});
    weights.push_back(add_parameter(layer + ".weight", {sizes[i - 1], sizes[i]}));
    const Value z = matmul(s, weights.back()) + add_parameter(layer + ".bias", {sizes[i]});
    s = graph.add(Sigmoid{}, {z});
  }
  graph.set_current_origin({"loss", "mlp.cpp", 20});
  const Value total = reshape(sum(s, 1, 2), {Dim::batch(), 1});
  const Value p = graph.add(Clip{{}, 1e-7f, 1 - 1e-7f}, {s / total});
  const Value data_loss = sum(-sum(y * log(p), 1, 2), 0, 1) / extent(graph, Dim::batch());
  const Value loss = data_loss + (sum(square(weights[0]), 0, 2) + sum(square(weights[1]), 0, 2)) * 0.01;
  std::vector<Value> wrt;
  for (const Parameter& parameter : parameters) wrt.push_back(parameter.value);
  const Values gradients = differentiate(loss, wrt);
  graph.set_current_origin({"rmsprop", "mlp.cpp", 30});
  const Value rate = graph.add_state({"rmsprop/learning_rate", {DType::f32, {}}});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Value g = gradients[i];
    const Value v = parameters[i].v * 0.9 + square(g) * 0.1;
    graph.set_update(parameters[i].state + 1, v.id);
    graph.set_update(parameters[i].state, (parameters[i].value - rate * g / sqrt(v + 1e-7)).id);
  }
  graph.add_output(loss);
  graph.set_current_origin({});
  return graph;
}

/// Values for the inputs and states of a graph, small and not negative where the name says that a root is taken ("/v").
struct Values {
  std::vector<ir::Array> inputs, states;
};
inline Values random_values(const ir::Graph& graph, std::int64_t n, std::uint64_t seed, double low = -1, double high = 1) {
  Random random(seed);
  Values values;
  for (const ir::InputSpec& input : graph.inputs()) values.inputs.push_back(random_array(random, input.type, n, low, high));
  for (const ir::StateSpec& state : graph.states())
    values.states.push_back(random_array(random, state.type, n, state.name.ends_with("/v") ? 0 : low, high));
  return values;
}

}  // namespace sinter::test
