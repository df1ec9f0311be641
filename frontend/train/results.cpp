#include "frontend/train/results.h"

#include <algorithm>
#include <set>

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

std::vector<NamedMetric> named_metrics(std::span<const metric::Pointer> metrics, std::span<const metric::Pointer> weighted, std::size_t outputs) {
  std::vector<NamedMetric> result;
  std::set<std::string> taken{"loss", "learning_rate", "seconds"};
  for (std::size_t i = 0; i < outputs; ++i) taken.insert(str("output_", i + 1, "_loss"));
  // Columns of validation have the same names with val_ before them.
  const auto is_taken = [&](const std::string& name) {
    return taken.contains(name) || taken.contains("val_" + name) || (name.starts_with("val_") && taken.contains(name.substr(4)));
  };
  const auto add = [&](const metric::Pointer& metric, bool by_weight) {
    if (!metric) throw UserError("Trainer", "a metric is null");
    if (metric->output() >= outputs)
      throw UserError("Trainer", str("the metric ", metric->name(), " judges output ", metric->output(), ", but there are losses for ", outputs));
    if (std::any_of(result.begin(), result.end(), [&](const NamedMetric& other) { return other.metric == metric; }))
      throw UserError("Trainer", str("the metric ", metric->name(), " is listed twice; make one for each place"));
    const std::string first = (by_weight ? "weighted_" : "") + metric->name();
    std::string name = first;
    for (int copy = 2; is_taken(name); ++copy) name = str(first, "_", copy);
    taken.insert(name);
    result.push_back({metric, name, by_weight});
  };
  for (const metric::Pointer& metric : metrics) add(metric, false);
  for (const metric::Pointer& metric : weighted) add(metric, true);
  return result;
}

Tally::Tally(const ResultLayout& layout, std::span<const NamedMetric> metrics)
    : layout_(layout), metrics_(metrics), out_(layout.count), losses_(layout.outputs.size()), correct_(layout.outputs.size()) {
  for (const NamedMetric& judged : metrics_) judged.metric->reset();
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
  for (const NamedMetric& judged : metrics_) {
    const std::size_t i = judged.metric->output();
    const Tensor weights = judged.weighted && piece.weights.defined() ? gather_rows(piece.weights, rows) : Tensor();
    judged.metric->add(out_[*layout_.outputs[i].prediction], gather_rows(piece.data.y[i], rows), weights);
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
    metrics_[i].metric->save(of_metric);
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
  for (std::size_t i = 0; i < metrics_.size(); ++i) metrics_[i].metric->restore(state.part(str("metric.", i, ".")));
}

std::optional<double> Tally::accuracy() const {
  if (layout_.outputs.size() != 1 || !layout_.outputs[0].correct) return std::nullopt;
  return correct_[0] / static_cast<double>(samples_);
}

bool Tally::shows_accuracy(std::size_t output) const {
  const std::string name = str("output_", output + 1, "_accuracy");
  return layout_.outputs[output].correct && std::none_of(metrics_.begin(), metrics_.end(), [&](const NamedMetric& m) { return m.name == name; });
}

std::vector<std::string> Tally::names() const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < layout_.outputs.size() && layout_.outputs.size() > 1; ++i) {
    result.push_back(str("output_", i + 1, "_loss"));
    if (shows_accuracy(i)) result.push_back(str("output_", i + 1, "_accuracy"));
  }
  for (const NamedMetric& judged : metrics_) result.push_back(judged.name);
  return result;
}

std::vector<std::pair<std::string, double>> Tally::metrics() const {
  std::vector<double> values;
  for (std::size_t i = 0; i < layout_.outputs.size() && layout_.outputs.size() > 1; ++i) {
    values.push_back(losses_[i] / static_cast<double>(samples_));
    if (shows_accuracy(i)) values.push_back(correct_[i] / static_cast<double>(samples_));
  }
  for (const NamedMetric& judged : metrics_) values.push_back(judged.metric->result());
  std::vector<std::pair<std::string, double>> result;
  for (const std::string& name : names()) result.emplace_back(name, values[result.size()]);
  return result;
}

}  // namespace sinter
