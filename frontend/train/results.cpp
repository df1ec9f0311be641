#include "frontend/train/results.h"

#include <algorithm>
#include <set>

#include "frontend/core/ops.h"
#include "frontend/train/dataset.h"

namespace sinter {

namespace {
/// Classes [N, ..., C] with class numbers [N, ...].
bool counts_correct(const Type& prediction, const Type& target) {
  const bool are_numbers = is_index(target.dtype) || target.dtype == DType::boolean;
  return are_numbers && prediction.shape.rank() == target.shape.rank() + 1 && prediction.shape.back() != Dim(1);
}

/// The numbers of the steps that count, of [N, T] behind one another: all, if there is no mask.
std::vector<std::int32_t> counted_steps(const Tensor& exists, std::int64_t all) {
  std::vector<std::int32_t> numbers;
  const std::vector<std::uint8_t> counts = exists.defined() ? exists.to_vector<std::uint8_t>() : std::vector<std::uint8_t>();
  for (std::int64_t i = 0; i < all; ++i)
    if (counts.empty() || counts[static_cast<std::size_t>(i)]) numbers.push_back(static_cast<std::int32_t>(i));
  return numbers;
}
}  // namespace

ResultLayout::ResultLayout(std::span<const OutputTypes> of, bool metrics) : outputs(of.size()) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    const auto& [prediction, target, is_masked] = of[i];
    if (outputs.size() > 1) output.loss = count++;
    if (is_masked) output.counted = count++;
    if (counts_correct(prediction, target)) {
      output.correct = count++;
      if (!is_masked) output.per_sample = target.shape.product(1, target.shape.rank()).factor();
    }
    output.in_steps = is_masked || (output.correct && target.shape.rank() > 1);
    if (metrics) output.prediction = count++;
    if (metrics && is_masked) output.exists = count++;
  }
}

std::vector<std::size_t> ResultLayout::results() const {
  std::vector<std::size_t> kept;
  const auto is_for_metrics = [&](std::size_t i) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const Output& output) { return output.prediction == i || output.exists == i; });
  };
  for (std::size_t i = 0; i < count; ++i)
    if (!is_for_metrics(i)) kept.push_back(i);
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
    : layout_(layout), metrics_(metrics), out_(layout.count), losses_(layout.outputs.size()), correct_(losses_), counted_(losses_) {
  for (const NamedMetric& judged : metrics_) judged.metric->reset();
}

void Tally::run(StepCore& step, const Piece& piece, const Tensor& rows) {
  step.call(inputs_.of(piece, rows), out_);
  const std::int64_t n = rows.elements();
  samples_ += n;
  for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
    const ResultLayout::Output& at = layout_.outputs[i];
    const double counted = at.counted ? out_[*at.counted].item() : static_cast<double>(n * at.per_sample);
    counted_[i] += counted;
    if (at.loss) losses_[i] += out_[*at.loss].item() * counted;
    if (at.correct) correct_[i] += out_[*at.correct].item();
    if (layout_.outputs.size() == 1) loss_ += out_[0].item() * counted;
  }
  if (layout_.outputs.size() > 1) loss_ += out_[0].item() * static_cast<double>(n);
  for (const NamedMetric& judged : metrics_) judge(judged, piece);
}

void Tally::judge(const NamedMetric& judged, const Piece& piece) const {
  const ResultLayout::Output& at = layout_.outputs[judged.metric->output()];
  Tensor prediction = out_[*at.prediction], target = inputs_.target(piece, judged.metric->output()), weights;
  if (judged.weighted && piece.weights.defined()) weights = gather_rows(piece.weights, inputs_.rows());
  if (at.in_steps) {  // each step that counts is a sample of the metric
    const Dim samples = target.dim(0);
    const std::size_t shared = at.exists ? 2 : target.rank();  // dimensions that number the steps
    const std::int64_t steps = target.shape().product(1, shared).factor();
    const std::vector<std::int32_t> numbers = counted_steps(at.exists ? out_[*at.exists] : Tensor(), samples.factor() * steps);
    if (numbers.empty()) return;
    const Tensor counted(numbers, {std::ssize(numbers)});
    const auto of_steps = [&](const Tensor& t) {
      std::vector<Dim> dims{samples * steps};
      dims.insert(dims.end(), t.shape().begin() + shared, t.shape().end());
      return gather_rows(reshape(t, dims), counted);
    };
    prediction = of_steps(prediction), target = of_steps(target);
    if (weights.defined()) {
      std::vector<std::int32_t> sample_of;
      for (const std::int32_t number : numbers) sample_of.push_back(static_cast<std::int32_t>(number / steps));
      weights = gather_rows(weights, Tensor(sample_of, {std::ssize(sample_of)}));
    }
  }
  judged.metric->add(prediction, target, weights);
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
  state.set("counted", counted_);
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
  counted_.assign(counted_.size(), static_cast<double>(samples_));  // of a checkpoint from before masks
  for (auto& [name, sums] : {std::pair{"losses", &losses_}, {"correct", &correct_}, {"counted", &counted_}}) {
    if (sums == &counted_ && !state.has(name)) continue;
    const std::vector<double>& saved = state.numbers(name);
    if (saved.size() != sums->size()) throw UserError("fit", str("needs ", sums->size(), " sums of ", name, ", the checkpoint has ", saved.size()));
    *sums = saved;
  }
  for (std::size_t i = 0; i < metrics_.size(); ++i) metrics_[i].metric->restore(state.part(str("metric.", i, ".")));
}

std::optional<double> Tally::accuracy() const {
  if (layout_.outputs.size() != 1 || !layout_.outputs[0].correct) return std::nullopt;
  return correct_[0] / counted_[0];
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
    values.push_back(losses_[i] / counted_[i]);
    if (shows_accuracy(i)) values.push_back(correct_[i] / counted_[i]);
  }
  for (const NamedMetric& judged : metrics_) values.push_back(judged.metric->result());
  std::vector<std::pair<std::string, double>> result;
  for (const std::string& name : names()) result.emplace_back(name, values[result.size()]);
  return result;
}

}  // namespace sinter
