// Predictions of a Trainer.
#include <algorithm>
#include <utility>

#include "frontend/compile/variant.h"
#include "frontend/train/row_numbers.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

Columns Trainer::Impl::taken_as_features(const Columns& x, const char* where) {
  for (const Column& column : x)
    if (!column.defined()) throw UserError(where, "an x was never set");
  if (x_are_sequences.empty()) {  // nothing is known yet
    if (model) take_sequences(x);
    return x;
  }
  if (x.size() != x_are_sequences.size()) throw UserError(where, str("the first data had ", x_are_sequences.size(), " x, now there are ", x.size()));
  std::vector<Column> taken;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Type type = x[i].type();
    if (i < x_types.size() && type.dtype != x_types[i].dtype)
      throw UserError(where, str("the first data had x of ", x_types[i], " (samples first), now they are ", type,
                                 "; give features of the element type that the model was trained on"));
    if (x[i].has_sequences() && !x_are_sequences[i])
      throw UserError(where, str("the first data had x that are an array, now they are sequences, ", type, "; pad them with Sequences::padded"));
    taken.push_back(x_are_sequences[i] && !x[i].has_sequences() ? Column(Sequences::from_padded(x[i].array())) : x[i]);
  }
  return taken;
}

bool Trainer::Impl::gives_a_row_each(const Columns& x) {
  std::vector<Spec> specs;
  for (const Column& column : x) specs.push_back({{column.dtype(), column.shape().with(0, Dim::batch())}, InputKind::batch});
  for (const Column& column : x)
    if (column.has_sequences()) specs.push_back(Spec::batch(DType::boolean, {Spec::any_length}));
  if (specs == row_each.of) return row_each.is_so;
  const Traced traced = predict->record(specs);
  const auto outputs = traced.graph.outputs();
  row_each = {std::move(specs), std::all_of(outputs.begin(), outputs.end(), [&](ir::NodeId id) {
                const Shape& shape = traced.graph.node(id).type.shape;
                return shape.rank() && shape[0] == Dim::batch();
              })};
  return row_each.is_so;
}

namespace {

/// The results of blocks of samples as one: those of T steps padded with zeros to the most.
Tensor joined(std::vector<Tensor> parts) {
  std::int64_t most = 0;
  for (const Tensor& part : parts)
    if (part.rank() > 1) most = std::max(most, part.dim(1).factor());
  for (Tensor& part : parts)
    if (part.rank() > 1 && part.dim(1).factor() < most) part = pad(part, 1, 0, most - part.dim(1).factor());
  return parts.size() == 1 ? std::move(parts[0]) : concat(parts, 0);
}

/// The place of each sample in these blocks.
Tensor places_in(const std::vector<std::vector<std::int32_t>>& blocks, std::int64_t samples) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(samples));
  std::int32_t next = 0;
  for (const std::vector<std::int32_t>& block : blocks)
    for (const std::int32_t sample : block) places[static_cast<std::size_t>(sample)] = next++;
  return Tensor(places, {samples});
}

}  // namespace

std::vector<Tensor> Trainer::predict_all(const Columns& given, std::int64_t batch_size) {
  if (batch_size < 1) throw UserError("predict", str("batch_size must be at least 1, got ", batch_size));
  const Columns x = impl_->taken_as_features(given, "predict");
  impl_->warn_of_statistics("predict");
  const std::int64_t samples = x.empty() ? 0 : x[0].size();
  const bool have_samples = samples && std::all_of(x.begin(), x.end(), [&](const Column& column) { return column.size() == samples; });
  const bool takes_sequences = impl_->takes_sequences(), in_blocks = have_samples && (takes_sequences || samples > batch_size);
  const bool has_row_each = in_blocks && impl_->gives_a_row_each(x);
  if (!takes_sequences && !has_row_each) {
    std::vector<const Tensor*> in;
    for (const Column& column : x) in.push_back(&column.array());
    return impl_->predict->call(in);
  }
  if (!have_samples) throw UserError("predict", str("needs at least one sample, and as many of each x; the first x has ", samples));
  require_row_numbers("predict", samples);
  // Sequences in order of their lengths, so that each block is little longer than what is in it.
  const auto blocks = has_row_each ? blocks_of(x, samples, batch_size) : blocks_of({}, samples, samples);
  std::vector<std::vector<Tensor>> parts;  // of each output
  for (const std::vector<std::int32_t>& block : blocks) {
    std::vector<Tensor> out = Impl::call_on_rows(*impl_->predict, x, block);
    parts.resize(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) parts[i].push_back(std::move(out[i]));
  }
  std::vector<Tensor> result;
  for (std::vector<Tensor>& of : parts) result.push_back(joined(std::exchange(of, {})));
  if (!takes_sequences || !has_row_each) return result;  // they are in order
  const Tensor places = places_in(blocks, samples);
  for (Tensor& all : result) all = gather_rows(all, places);
  return result;
}

Tensor Trainer::predict(const Columns& x, std::int64_t batch_size) {
  std::vector<Tensor> out = predict_all(x, batch_size);
  if (out.size() != 1) throw UserError("predict", str("the model gives ", out.size(), " outputs; use predict_all"));
  return std::move(out[0]);
}

namespace {

/// Throws UserError if a table from which a model takes rows by the numbers of its first input has no row for each of so many.
void require_rows_for(const Traced& predict, std::int64_t numbers) {
  const ir::Graph& graph = predict.graph;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::GatherRows>(node.op) || node.inputs[1] != graph.input_node(0)) continue;
    if (const Dim rows = graph.node(node.inputs[0]).type.shape[0]; rows.is_fixed() && rows.factor() < numbers)
      throw UserError("predict_text", str("the vocabulary has ", numbers, " numbers, but the model knows ", rows, "; it is of another model"));
  }
}

}  // namespace

Tensor Trainer::predict_texts(const std::vector<std::string>& texts) {
  if (!has_metadata("vocabulary")) throw UserError("predict_text", "the model has no vocabulary; call set_vocabulary before it is saved");
  impl_->require_known("predict_text");
  if (impl_->x_types.size() != 1 || impl_->x_types[0].dtype != DType::i32 || !is_of_sequences(impl_->x_types[0]) ||
      impl_->x_types[0].shape.rank() != 2)
    throw UserError("predict_text", str("takes a model of sequences of numbers, i32[N,T], but this one takes ", impl_->x_types.size(),
                                        " x, the first ", impl_->x_types[0], "; encode texts with the vocabulary and use predict"));
  require_rows_for(impl_->predict->record(impl_->predict_specs()), vocabulary().size());
  return predict(vocabulary().encode_all(texts));
}

Tensor Trainer::predict_text(const std::string& text) { return predict_texts({text}); }

void Trainer::predict_one(std::span<const float> in, std::span<float> out) {
  Impl& impl = *impl_;
  if (impl.takes_sequences()) throw UserError("predict_one", "takes samples of one size, but the model takes sequences; use predict");
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
