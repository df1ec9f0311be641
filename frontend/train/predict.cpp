// Predictions of a Trainer.
#include <algorithm>

#include "frontend/compile/variant.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

void Trainer::Impl::require_features(const Tensors& x, const char* where) const {
  for (std::size_t i = 0; i < std::min(x.size(), x_types.size()); ++i)
    if (x[i].dtype() != x_types[i].dtype)
      throw UserError(where, str("the first data had x of ", x_types[i], " (samples first), now they are ", x[i].type(),
                                 "; give features of the element type that the model was trained on"));
}

bool Trainer::Impl::gives_a_row_each(const Tensors& x) {
  std::vector<Spec> specs;
  for (const Tensor& t : x) specs.push_back({{t.dtype(), t.shape().with(0, Dim::batch())}, InputKind::batch});
  if (specs == row_each.of) return row_each.is_so;
  const Traced traced = predict->record(specs);
  const auto outputs = traced.graph.outputs();
  row_each = {std::move(specs), std::all_of(outputs.begin(), outputs.end(), [&](ir::NodeId id) {
                const Shape& shape = traced.graph.node(id).type.shape;
                return shape.rank() && shape[0] == Dim::batch();
              })};
  return row_each.is_so;
}

std::vector<Tensor> Trainer::predict_all(const Tensors& x, std::int64_t batch_size) {
  if (batch_size < 1) throw UserError("predict", str("batch_size must be at least 1, got ", batch_size));
  impl_->require_features(x, "predict");
  impl_->warn_of_statistics("predict");
  std::vector<const Tensor*> in;
  for (const Tensor& t : x) in.push_back(&t);
  const std::int64_t samples = x.empty() || !x[0].rank() ? 0 : x[0].shape()[0].factor();
  const auto has_rows = [&](const Tensor& t) { return t.rank() && t.shape()[0] == Dim(samples); };
  if (samples <= batch_size || !std::all_of(x.begin(), x.end(), has_rows) || !impl_->gives_a_row_each(x)) return impl_->predict->call(in);
  std::vector<std::vector<Tensor>> parts;  // of each output
  for (std::int64_t first = 0; first < samples; first += batch_size) {
    std::vector<Tensor> batch;
    for (const Tensor& t : x) batch.push_back(slice(t, 0, first, std::min(samples, first + batch_size)));
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = &batch[i];
    std::vector<Tensor> out = impl_->predict->call(in);
    parts.resize(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) parts[i].push_back(std::move(out[i]));
  }
  std::vector<Tensor> result;
  for (std::vector<Tensor>& of : parts) {
    result.push_back(concat(of, 0));
    of.clear();
  }
  return result;
}

Tensor Trainer::predict(const Tensors& x, std::int64_t batch_size) {
  std::vector<Tensor> out = predict_all(x, batch_size);
  if (out.size() != 1) throw UserError("predict", str("the model gives ", out.size(), " outputs; use predict_all"));
  return std::move(out[0]);
}

void Trainer::predict_one(std::span<const float> in, std::span<float> out) {
  Impl& impl = *impl_;
  StepCore& step = impl.has_byte_features() ? *impl.predict_floats : *impl.predict;
  if (impl.x_types.size() > 1)
    throw UserError("predict_one", str("takes one sample of numbers, but the model has ", impl.x_types.size(), " inputs; use predict"));
  if (impl.x_types.size() == 1 && !impl.has_byte_features() && impl.x_types[0].dtype != DType::f32)
    throw UserError("predict_one", str("takes one sample of f32 numbers, but the model's input is ",
                                       Type{impl.x_types[0].dtype, impl.x_types[0].shape.with(0, Dim::batch())}, "; use predict"));
  const bool knows_sample = impl.model && impl.x_types.size() == 1;  // else the step takes a sample for a row of numbers
  if (knows_sample && effective_mode(impl.options.mode) == Mode::eager) {
    const Tensor x(in, impl.x_types[0].shape.with(0, 1));
    const Tensor* input = &x;
    const Tensor y = step.call({&input, 1})[0];
    if (static_cast<std::size_t>(y.elements()) != out.size())
      throw UserError("predict_one", str("the result is ", y.type(), ", but there is room for ", out.size(), " numbers"));
    return y.copy_to(out.data());
  }
  if (knows_sample && step.compile_count() == 0) {
    const Spec spec = impl.float_spec();
    step.compile({&spec, 1});
  }
  step.call_one(in, out);
}

}  // namespace sinter
