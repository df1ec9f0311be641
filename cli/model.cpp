#include "cli/model.h"

#include <sinter/graph.h>

#include <nlohmann/json.hpp>

#include "cli/words.h"

namespace sinter::cli {

namespace {

/// The inputs of a step, without what it captured.
std::vector<ir::InputSpec> given_inputs(const StepCore& step) {
  std::vector<ir::InputSpec> inputs;
  for (const ir::InputSpec& input : step.traced_graph().inputs())
    if (input.kind != ir::InputSpec::Kind::hidden) inputs.push_back(input);
  return inputs;
}

}  // namespace

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

Shape sample_of(Trainer& trainer, const std::string& path) {
  const std::vector<ir::InputSpec> inputs = given_inputs(trainer.predict_step());
  const Shape& shape = inputs[0].type.shape;
  const bool fits = inputs.size() == 1 && shape.rank() > 1 && shape[0] == Dim::batch() && shape.erase(0, 1).is_fixed();
  if (!fits) throw UserError(path, str("must take [N, numbers...] to be used on arrays, but takes ", inputs[0].type));
  return shape.erase(0, 1);
}

bool is_autoencoder(const Trainer& trainer) { return trainer.has_metadata("task") && trainer.metadata("task") == "self"; }

std::string counted_entries(const data::Vocabulary& vocabulary) {
  return counted(vocabulary.words().size(), vocabulary.has_subwords() ? "piece" : "word");
}

std::optional<std::string> text_column_of(const Trainer& trainer) {
  return trainer.has_metadata("text") ? std::optional(trainer.metadata("text")) : std::nullopt;
}

namespace {

std::string text_of(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += (text.empty() ? "" : ", ") + to_string(type);
  return text;
}

}  // namespace

data::Encoder encoder_of(Trainer& trainer, const std::string& path) {
  data::Encoder encoder = at(path, [&] { return data::Encoder::from_json(trainer.metadata("encoder")); });
  std::vector<Type> made, taken;
  const bool has_text = text_column_of(trainer).has_value();
  if (has_text) made.push_back({DType::i32, {Dim::batch(), Dim::length()}});
  if (encoder.width()) made.push_back({DType::f32, {Dim::batch(), encoder.width()}});
  if (has_text) made.push_back({DType::boolean, {Dim::batch(), Dim::length()}});  // which words exist
  for (const ir::InputSpec& input : given_inputs(trainer.predict_step())) taken.push_back(input.type);
  const std::int64_t outputs = outputs_of(trainer, path), wanted = encoder.is_classification() ? static_cast<std::int64_t>(encoder.classes().size())
                                                                   : is_autoencoder(trainer)   ? encoder.width()
                                                                                               : 1;
  if (taken != made || (outputs != wanted && !(outputs == 1 && wanted == 2)))  // one output tells two classes apart
    throw UserError(path, str("the encoder makes ", text_of(made), " of a table and names ", wanted, " outputs, but the model takes ", text_of(taken),
                              " and gives ", outputs, "; save the encoder of the data that the model was trained on"));
  return encoder;
}

std::string names_json(const std::vector<std::string>& names) {
  const nlohmann::ordered_json json(names);
  return json.dump();
}

std::vector<std::string> names_of(const std::string& text, const std::string& path) {
  try {
    check_json_depth(text, 1, path);
    return nlohmann::json::parse(text).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw UserError(path, str("the entry 'classes' is damaged (", error.what(), ")"));
  }
}

bool is_of_optimizer(const Parameter& state) { return state.name().find('/') != std::string::npos; }

StepCore& step_of(Trainer& trainer, const std::string& name) { return name == "train" ? trainer.train_step() : trainer.predict_step(); }

std::vector<Tensor> sample_inputs(const StepCore& step, std::int64_t samples) {
  std::vector<Tensor> inputs;
  seed(0);
  for (const ir::InputSpec& input : given_inputs(step)) {
    constexpr std::int64_t steps = 32;
    Shape shape = input.type.shape;
    if (shape.rank() && shape[0].is_rows()) shape = shape.with(0, samples);
    const Type type{input.type.dtype, shape.at({samples, steps})};
    inputs.push_back(type.dtype == DType::f32       ? init::uniform(-1, 1)(type.shape)
                     : type.dtype == DType::boolean ? Tensor::filled(type, 1)
                                                    : Tensor::zeros(type));
  }
  return inputs;
}

}  // namespace sinter::cli
