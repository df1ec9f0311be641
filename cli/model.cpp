#include "cli/model.h"

namespace sinter::cli {

data::Encoder encoder_of(const Trainer& trainer, const std::string& path) {
  if (!trainer.has_metadata("encoder"))
    throw UserError(path, "was not written by sinter train: it does not say how the columns of a table become numbers");
  return data::Encoder::from_json(trainer.metadata("encoder"));
}

StepCore& step_of(Trainer& trainer, const std::string& name) {
  if (name == "predict") return trainer.predict_step();
  if (name == "train") return trainer.train_step();
  throw UserError("--step", str("must be train or predict, got '", name, "'"));
}

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
