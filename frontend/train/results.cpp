#include "frontend/train/results.h"

#include <algorithm>

#include "frontend/core/ops.h"
#include "frontend/train/dataset.h"

namespace sinter {

namespace {
bool counts_correct(const Type& prediction, const Type& target) {
  return data::are_class_numbers(target) && prediction.shape.rank() == 2 && prediction.shape[1] != Dim(1);
}
}  // namespace

ResultLayout::ResultLayout(std::span<const Type> predictions, std::span<const Type> targets, bool metrics) : outputs(predictions.size()) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs.size() > 1) outputs[i].loss = count++;
    if (counts_correct(predictions[i], targets[i])) outputs[i].correct = count++;
    if (metrics) outputs[i].prediction = count++;
  }
}

std::vector<std::size_t> ResultLayout::results() const {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < count; ++i)
    if (std::none_of(outputs.begin(), outputs.end(), [&](const Output& output) { return output.prediction == i; })) kept.push_back(i);
  return kept;
}

std::int64_t count_nan_samples(std::span<const Tensor> predictions) {
  std::vector<char> bad;
  for (const Tensor& prediction : predictions) {
    if (prediction.elements() == 0) continue;
    const std::vector<float> numbers = prediction.to_vector<float>();
    const auto samples = static_cast<std::size_t>(prediction.dim(0).factor()), width = numbers.size() / samples;
    bad.resize(samples);
    for (std::size_t i = 0; i < samples; ++i) bad[i] = bad[i] || has_nan(std::span(numbers).subspan(i * width, width));
  }
  return std::count(bad.begin(), bad.end(), 1);
}

Tally::Tally(const ResultLayout& layout, std::span<const metric::Pointer> metrics)
    : layout_(layout), metrics_(metrics), out_(layout.count), losses_(layout.outputs.size()), correct_(layout.outputs.size()) {
  for (const metric::Pointer& metric : metrics_) metric->reset();
}

void Tally::run(StepCore& step, const Piece& piece, const Tensor& rows) {
  in_.clear();
  for (const Tensor& x : piece.data.x) in_.push_back(&x);
  for (const Tensor& y : piece.data.y) in_.push_back(&y);
  in_.push_back(&rows);
  if (piece.weights.defined()) in_.push_back(&piece.weights);
  step.call(in_, out_);
  const std::int64_t n = rows.elements();
  samples_ += n;
  loss_ += out_[0].item() * static_cast<double>(n);
  for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
    const ResultLayout::Output& at = layout_.outputs[i];
    if (at.loss) losses_[i] += out_[*at.loss].item() * static_cast<double>(n);
    if (at.correct) correct_[i] += out_[*at.correct].item();
  }
  for (const metric::Pointer& metric : metrics_) {
    const std::size_t i = metric->output();
    metric->add(out_[*layout_.outputs[i].prediction], gather_rows(piece.data.y[i], rows),
                piece.data.weights.defined() ? gather_rows(piece.data.weights, rows) : Tensor());
  }
}

std::optional<std::int64_t> Tally::nan_samples() const {
  std::vector<Tensor> predictions;
  for (const ResultLayout::Output& output : layout_.outputs)
    if (output.prediction) predictions.push_back(out_[*output.prediction]);
  if (predictions.empty()) return std::nullopt;
  return count_nan_samples(predictions);
}

SavedState Tally::save() const {
  SavedState state;
  state.set("samples", static_cast<double>(samples_));
  state.set("loss", loss_);
  state.set("losses", losses_);
  state.set("correct", correct_);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    SavedState of_metric;
    metrics_[i]->save(of_metric);
    state.add(str("metric.", i, "."), of_metric);
  }
  return state;
}

void Tally::restore(const SavedState& state) {
  samples_ = state.integer("samples", 0, std::int64_t{1} << 53);
  loss_ = state.number("loss");
  for (auto& [name, sums] : {std::pair{"losses", &losses_}, {"correct", &correct_}}) {
    const std::vector<double>& saved = state.numbers(name);
    if (saved.size() != sums->size()) throw UserError("fit", str("needs ", sums->size(), " sums of ", name, ", the checkpoint has ", saved.size()));
    *sums = saved;
  }
  for (std::size_t i = 0; i < metrics_.size(); ++i) metrics_[i]->restore(state.part(str("metric.", i, ".")));
}

std::optional<double> Tally::accuracy() const {
  if (layout_.outputs.size() != 1 || !layout_.outputs[0].correct) return std::nullopt;
  return correct_[0] / static_cast<double>(samples_);
}

std::vector<std::string> Tally::names() const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < layout_.outputs.size() && layout_.outputs.size() > 1; ++i) {
    result.push_back(str("output_", i + 1, "_loss"));
    if (layout_.outputs[i].correct) result.push_back(str("output_", i + 1, "_accuracy"));
  }
  for (const metric::Pointer& metric : metrics_) result.push_back(metric->name());
  return result;
}

std::vector<std::pair<std::string, double>> Tally::metrics() const {
  std::vector<double> values;
  for (std::size_t i = 0; i < layout_.outputs.size() && layout_.outputs.size() > 1; ++i) {
    values.push_back(losses_[i] / static_cast<double>(samples_));
    if (layout_.outputs[i].correct) values.push_back(correct_[i] / static_cast<double>(samples_));
  }
  for (const metric::Pointer& metric : metrics_) values.push_back(metric->result());
  std::vector<std::pair<std::string, double>> result;
  for (const std::string& name : names()) result.emplace_back(name, values[result.size()]);
  return result;
}

}  // namespace sinter
