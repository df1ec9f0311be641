// Whether a model's outputs are what its losses take them for.
#include <algorithm>

#include "frontend/compile/step_impl.h"
#include "frontend/core/interpret.h"
#include "frontend/core/warn.h"
#include "frontend/train/trainer_impl.h"
#include "ir/kernel.h"

namespace sinter {

namespace {

/// Whether its numbers are in [0, 1] whatever the input is.
bool is_probability(const ir::Graph& graph, ir::NodeId id) {
  id = ir::before_reshapes(graph, id);
  return std::holds_alternative<ir::Softmax>(graph.node(id).op) || std::holds_alternative<ir::Sigmoid>(graph.node(id).op);
}

}  // namespace

void Trainer::Impl::warn_of_outputs(const Dataset& data, std::int64_t batch_size) {
  if (std::exchange(outputs_are_judged, true) || !losses) return;
  const auto is_taken = [](Predictions predictions) { return predictions == Predictions::probabilities || predictions == Predictions::proportions; };
  std::vector<std::size_t> open;  // outputs
  for (std::size_t i = 0; i < losses->size(); ++i)
    if (is_taken((*losses)[i].loss.predictions())) open.push_back(i);
  if (open.empty()) return;
  const Traced traced = predict->record(predict_specs());
  const ir::Graph& graph = traced.graph;
  std::erase_if(open, [&](std::size_t i) { return is_probability(graph, graph.outputs()[i]); });
  if (open.empty()) return;
  // In the interpreter: nothing is compiled for it, and no state changes.
  const std::vector<Tensor> x = prediction_inputs(data.x, row_numbers(0, std::min(batch_size, data.size())).to_vector<std::int32_t>());
  std::vector<const Tensor*> in;
  for (const Tensor& part : x) in.push_back(&part);
  std::vector<Tensor> values = leaf_values(traced, in);
  interpret(graph, values, {.sizes = sizes_of(graph, in)});
  for (const std::size_t i : open) {
    const Loss& loss = (*losses)[i].loss;
    const std::vector<float> numbers = values[graph.outputs()[i]].to_vector<float>();
    const float most = loss.predictions() == Predictions::probabilities ? 1 : std::numeric_limits<float>::infinity();
    const auto outside = std::find_if(numbers.begin(), numbers.end(), [&](float number) { return number < 0 || number > most; });
    if (outside == numbers.end()) continue;
    warn(options.log,
         str("[fit] ", loss.name(), " takes probabilities, but ", losses->size() == 1 ? str("the model's output") : str("output ", i + 1),
             " for the first samples has ", *outside, ", which it clips: the model hardly learns; take the loss of that name with ",
             "_from_logits, or give the last layer a softmax or sigmoid"));
  }
}

}  // namespace sinter
