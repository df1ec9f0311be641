// Gradients of recurrent layers and of a cell of one's own, and gradients of those, against central differences in double.
#include <algorithm>
#include <cmath>

#include "frontend/core/trace.h"
#include "frontend/nn/mask.h"
#include "frontend/nn/recurrent.h"
#include "ir/reference.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::recurrent_gradient_test {
namespace {

using ir::Array;
using Function = std::function<Tensor(const Tensor& x)>;

constexpr std::int64_t samples = 2, steps = 4, inputs = 3, units = 2;

Array array_of(const Tensor& tensor) {
  std::vector<std::int64_t> extents;
  for (const Dim dim : tensor.shape()) extents.push_back(dim.factor());
  Array array(DType::f32, extents);
  const std::vector<float> values = tensor.to_vector<float>();
  std::copy(values.begin(), values.end(), array.data.begin());
  return array;
}

/// A scalar that depends on all elements of these tensors, of each in another way.
Tensor mixed(const std::vector<Tensor>& tensors) {
  Tensor total(0.0f);
  for (const Tensor& tensor : tensors) {
    const Tensor place = cast(iota(tensor.shape()), DType::f32);
    total = total + sum(tensor * (1 + 0.3f * sin(place))) + 0.5f * sum(square(tensor));
  }
  return total;
}

/// Compares the gradients of the first output, which are the others, with central differences.
void expect_gradients(const Traced& traced, const std::vector<Parameter>& parameters, const Tensor& x, const std::string& what) {
  const ir::Graph& graph = traced.graph;
  std::vector<Array> given{array_of(x)}, states;
  for (const Tensor& captured : traced.captured) given.push_back(array_of(captured));
  for (const auto& cell : traced.cells) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.cell() == cell; });
    ASSERT_NE(parameter, parameters.end());
    states.push_back(array_of(*parameter));
  }
  const auto outputs = [&] { return ir::evaluate(graph, given, states, {samples, 1}); };
  const std::vector<Array> values = outputs();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto cell = std::find(traced.cells.begin(), traced.cells.end(), parameters[p].cell());
    ASSERT_NE(cell, traced.cells.end()) << what << ": " << parameters[p].name();
    std::vector<double>& state = states[static_cast<std::size_t>(cell - traced.cells.begin())].data;
    const std::vector<double>& gradient = values[graph.outputs()[1 + p]].data;
    ASSERT_EQ(gradient.size(), state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      const double saved = state[i], step = 1e-5;
      state[i] = saved + step;
      const double above = outputs()[graph.outputs()[0]].data[0];
      state[i] = saved - step;
      const double below = outputs()[graph.outputs()[0]].data[0];
      state[i] = saved;
      const double wanted = (above - below) / (2 * step);
      ASSERT_NEAR(gradient[i], wanted, 1e-6 * (1 + std::abs(wanted))) << what << ": " << parameters[p].name() << " at " << i;
    }
  }
}

void judge(const std::string& what, const std::vector<Parameter>& parameters, const Function& function) {
  const Tensor x = random({samples, steps, inputs}, 7);
  const Spec spec = Spec::batch(DType::f32, {steps, inputs});
  const auto traced = [&](const std::function<std::vector<Tensor>(const Tensor&)>& f) {
    StepCore step([&](std::span<const Tensor> in) { return f(in[0]); }, {.name = "judged"}, std::source_location::current());
    return step.record({&spec, 1});
  };
  const auto with_gradients = [&](const Tensor& scalar) {
    std::vector<Tensor> results = grad(scalar, parameters);
    results.insert(results.begin(), scalar);
    return results;
  };
  expect_gradients(traced([&](const Tensor& in) { return with_gradients(mixed({function(in)})); }), parameters, x, what);
  expect_gradients(traced([&](const Tensor& in) { return with_gradients(mixed(grad(mixed({function(in)}), parameters))); }), parameters, x,
                   what + ", gradient of the gradient");
}

template <class Layer>
void judge_layer(const std::string& what, nn::RecurrentOptions options) {
  seed(3);
  options.return_sequences = true;
  options.bias = init::uniform(-0.5f, 0.5f);
  Layer layer(inputs, units, options);
  judge(what, layer.parameters(), [&](const Tensor& x) { return layer(x); });
  judge(what + ", masked", layer.parameters(),
        [&](const Tensor& x) { return layer(nn::with_mask(x, reshape(slice(x, 2, 0, 1) > -0.4f, {x.dim(0), steps}))); });
}

TEST(RecurrentGradient, OfSimpleRNN) { judge_layer<nn::SimpleRNN>("SimpleRNN", {}); }
TEST(RecurrentGradient, OfGRU) {
  judge_layer<nn::GRU>("GRU", {});
  judge_layer<nn::GRU>("GRU with its reset gate before", {.reset_after = false});
}
TEST(RecurrentGradient, OfLSTM) {
  judge_layer<nn::LSTM>("LSTM", {});
  judge_layer<nn::LSTM>("LSTM backwards", {.reverse = true});
}

TEST(RecurrentGradient, OfStackedAndBidirectionalLayers) {
  seed(3);
  nn::Sequential model{nn::Bidirectional(nn::GRU(inputs, units, {.return_sequences = true}), nn::Merge::product), nn::LSTM(units, 2)};
  judge("Bidirectional and LSTM", model.parameters(), [&](const Tensor& x) { return model(x); });
}

TEST(RecurrentGradient, OfACellOfOnesOwn) {
  seed(3);
  const Parameter w("w", random({inputs, units}, 1)), u("u", random({units, units}, 2)), scale("scale", random({units}, 3));
  judge("a cell with two carries", {w, u, scale}, [&](const Tensor& x) {
    const Tensor zero = broadcast_to(Tensor(0.0f), {x.dim(0), units});
    const Scanned all = scan(
        [&](std::span<const Tensor> carries, std::span<const Tensor> elements) {
          const Tensor next = tanh(matmul(elements[0], w) + matmul(carries[0], u)), total = carries[1] * 0.9f + next * scale;
          return ScanStep({sigmoid(total) * next, total}, {next, total});
        },
        {zero, zero}, {x});
    return concat({all.carries[0], all.carries[1], reshape(all.outputs[0], {x.dim(0), steps * units})}, -1);
  });
}

}  // namespace
}  // namespace sinter::test::recurrent_gradient_test
