// Graphs for the tests of the code generator.
#pragma once

#include <memory>
#include <vector>

#include "frontend/core/trace.h"
#include "passes/pipeline.h"
#include "tests/frontend/helpers.h"

namespace sinter::test {

/// The optimized graph of a training step: sigmoid layers of these sizes, RMSprop, L2 on the first two weights.
inline ir::Graph training_graph(const std::vector<std::int64_t>& sizes) {
  std::vector<std::shared_ptr<nn::Module>> layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) layers.push_back(std::make_shared<nn::Dense>(sizes[i], sizes[i + 1], Activation::sigmoid));
  nn::Sequential model(layers);
  const std::vector<Parameter> parameters = model.parameters();
  optim::RMSprop optimizer;
  StepCore step(
      [&](std::span<const Tensor> in) {
        const Tensor loss = loss::categorical_crossentropy(model(in[0]), in[1]) + loss::l2(0.01f, {parameters[0], parameters[2]});
        optimizer.update(parameters, grad(loss, parameters));
        return std::vector{loss};
      },
      {.name = "mlp"}, std::source_location::current());
  const Spec specs[] = {Spec::batch(DType::f32, {sizes.front()}), Spec::batch(DType::f32, {sizes.back()})};
  ir::Graph graph = step.record(specs).graph;
  passes::optimize(graph);
  return graph;
}

/// The optimized graph of a training step of a GRU over five steps of 8 numbers, [N, 40]; its outputs are the loss and all states.
inline ir::Graph recurrent_training_graph(std::int64_t units = 12) {
  nn::GRU layer(8, units, {.return_sequences = true});
  const std::vector<Parameter> parameters = layer.parameters();
  optim::SGD optimizer;
  StepCore step(
      [&](std::span<const Tensor> in) {
        const Tensor states = layer(reshape(in[0], {-1, 5, 8})), loss = mean(square(states));
        optimizer.update(parameters, grad(loss, parameters));
        return std::vector{loss, states};
      },
      {.name = "recurrent"}, std::source_location::current());
  const Spec specs[] = {Spec::batch(DType::f32, {40})};
  ir::Graph graph = step.record(specs).graph;
  passes::optimize(graph);
  return graph;
}

/// Sums that are computed together with the product that only they read.
inline ir::Graph two_sums_of_a_product() {
  ir::Graph graph("g");
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 50}}}), y = exp(x) * x;
  graph.add_output(sum(y, 0, 2));
  graph.add_output(sum(square(y), 0, 2));
  passes::optimize(graph);
  return graph;
}

}  // namespace sinter::test
