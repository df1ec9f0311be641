#include "cli/model.h"

#include <sinter/graph.h>

#include "cli/words.h"

namespace sinter::cli {

std::int64_t outputs_of(Trainer& trainer, const std::string& path) {
  const ir::Graph& graph = trainer.predict_step().traced_graph();
  if (graph.outputs().size() != 1)
    throw UserError(path, str("has ", graph.outputs().size(), " outputs, and tables and arrays take models of one; predict in a program with ",
                              "Trainer::predict_all"));
  const Type type = graph.node(graph.outputs()[0]).type;
  const bool fits =
      type.dtype == DType::f32 && type.shape.rank() == 2 && type.shape[0] == Dim::batch() && type.shape[1].is_fixed() && type.shape[1].factor() > 0;
  if (!fits) throw UserError(path, str("must predict f32[N, numbers] to be used on tables and arrays, but predicts ", type));
  return type.shape[1].factor();
}

Tensor class_probabilities(Trainer& trainer, const Tensor& prediction) {
  const ir::Graph& graph = trainer.predict_step().traced_graph();
  const std::string_view last = ir::name(graph.node(graph.outputs()[0]).op);
  const bool is_single = prediction.shape()[1] == Dim(1);
  if (last == "softmax" && !is_single) return prediction;
  if (!is_single) return softmax(prediction);
  const Tensor second = last == "sigmoid" ? prediction : sigmoid(prediction);
  return concat({1 - second, second}, 1);
}

std::int64_t inputs_of(Trainer& trainer, const std::string& path) {
  const Type type = trainer.predict_step().traced_graph().inputs()[0].type;
  const bool fits = type.shape.rank() == 2 && type.shape[0] == Dim::batch() && type.shape[1].is_fixed();
  if (!fits) throw UserError(path, str("must take [N, numbers] to be used on arrays, but takes ", type));
  return type.shape[1].factor();
}

data::Encoder encoder_of(Trainer& trainer, const std::string& path) {
  data::Encoder encoder = at(path, [&] { return data::Encoder::from_json(trainer.metadata("encoder")); });
  const Type input = trainer.predict_step().traced_graph().inputs()[0].type, features{DType::f32, {Dim::batch(), encoder.width()}};
  const std::int64_t outputs = outputs_of(trainer, path),
                     wanted = encoder.is_classification() ? static_cast<std::int64_t>(encoder.classes().size()) : 1;
  if (input != features || (outputs != wanted && !(outputs == 1 && wanted == 2)))  // one output tells two classes apart
    throw UserError(path, str("the encoder makes ", features, " of a table and names ", wanted, " outputs, but the model takes ", input,
                              " and gives ", outputs, "; save the encoder of the data that the model was trained on"));
  return encoder;
}

StepCore& step_of(Trainer& trainer, const std::string& name) { return name == "train" ? trainer.train_step() : trainer.predict_step(); }

std::vector<Tensor> sample_inputs(const StepCore& step, std::int64_t samples) {
  std::vector<Tensor> inputs;
  seed(0);
  for (const ir::InputSpec& input : step.traced_graph().inputs()) {
    Shape shape = input.type.shape;
    if (shape.rank() && !shape[0].is_fixed()) shape = shape.with(0, samples);
    inputs.push_back(input.type.dtype == DType::f32 ? init::uniform(-1, 1)(shape) : Tensor::zeros({input.type.dtype, shape}));
  }
  return inputs;
}

}  // namespace sinter::cli
