#include "frontend/train/metric.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <optional>

#include "frontend/core/name.h"
#include "frontend/train/metric_rules.h"

namespace sinter {

Metric::Metric(std::string name, MonitorMode mode) : name_(std::move(name)), mode_(mode) { require_name("Metric", name_); }

void Metric::set_output(std::size_t number) {
  output_ = number;
  name_ = str("output_", number + 1, "_", name_);
}

void Metric::add(const Tensor& prediction, const Tensor& target, const Tensor& weight) {
  if (prediction.rank() < 1 || target.rank() < 1 || prediction.dim(0) != target.dim(0))
    throw UserError(name_, str("needs predictions and targets of as many samples, got ", prediction.type(), " and ", target.type()));
  if (prediction.dtype() != DType::f32) throw UserError(name_, str("predictions must be f32, got ", prediction.type()));
  const std::int64_t samples = prediction.dim(0).factor();
  MetricBatch batch;
  batch.samples = samples;
  if (samples == 0) return;
  prediction_.resize(static_cast<std::size_t>(prediction.elements()));
  prediction.copy_to(prediction_.data());
  target_ = metric::as_doubles(target);
  batch.prediction = prediction_;
  batch.width = prediction.elements() / samples;
  batch.target = target_;
  batch.target_width = target.elements() / samples;
  if (weight.defined()) {
    weight_ = weight.to_vector<float>();
    if (static_cast<std::int64_t>(weight_.size()) != samples) throw UserError(name_, str("needs one weight per sample, got ", weight.type()));
    batch.weight = weight_;
  }
  update(batch);
}

namespace {
[[noreturn]] void fail_to_save(const std::string& name) {
  throw UserError(name, "this metric cannot be saved in the middle of an epoch; override Metric::save and restore, or leave every_steps at 0");
}
}  // namespace

void Metric::save(SavedState&) const { fail_to_save(name_); }
void Metric::restore(const SavedState&) { fail_to_save(name_); }

bool has_nan(std::span<const float> numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](float x) { return x != x; });
}

namespace metric {

Pointer of_output(std::size_t number, Pointer metric) {
  if (!metric) throw UserError("of_output", "the metric is null");
  metric->set_output(number);
  return metric;
}

std::vector<double> as_doubles(const Tensor& numbers) {
  const auto read = [&]<class T>(T) {
    const std::vector<T> values = numbers.to_vector<T>();
    return std::vector<double>(values.begin(), values.end());
  };
  if (numbers.dtype() == DType::f32) return read(float{});
  if (numbers.dtype() == DType::i32) return read(std::int32_t{});
  if (numbers.dtype() == DType::u32) return read(std::uint32_t{});
  return read(std::uint8_t{});
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : std::numeric_limits<double>::quiet_NaN(); }

void require_numbers(const MetricBatch& batch, const std::string& name) {
  if (batch.width != batch.target_width)
    throw UserError(name, str("needs as many numbers per sample in predictions as in targets, got ", batch.width, " and ", batch.target_width));
}

void require_yes_or_no(double target, const std::string& name) {
  if (target != 0 && target != 1) throw UserError(name, str("targets must be 0 or 1, got ", target));
}

namespace {

/// Saves and restores sums.
template <class... Sums>
void save_sums(SavedState& state, const Sums&... sums) {
  state.set("sums", {sums...});
}
template <class... Sums>
void restore_sums(const SavedState& state, Sums&... sums) {
  const std::vector<double>& saved = state.numbers("sums");
  if (saved.size() != sizeof...(sums)) throw UserError("metric", str("needs ", sizeof...(sums), " saved sums, got ", saved.size()));
  std::size_t i = 0;
  ((sums = saved[i++]), ...);
}

/// The class of a sample's target: its number, or the index of its greatest element.
std::int64_t target_class(const MetricBatch& batch, std::int64_t sample, const std::string& name) {
  const double* y = batch.target.data() + sample * batch.target_width;
  const double c = batch.target_width == 1 ? *y : static_cast<double>(std::max_element(y, y + batch.target_width) - y);
  if (!(c >= 0 && c < static_cast<double>(batch.width)))
    throw UserError(name, str("class ", c, " is outside [0, ", batch.width, "), the classes that are predicted"));
  if (c != std::floor(c)) throw UserError(name, str("needs class numbers, got ", c));
  return static_cast<std::int64_t>(c);
}

std::span<const float> prediction_of(const MetricBatch& batch, std::int64_t sample) {
  return batch.prediction.subspan(static_cast<std::size_t>(sample * batch.width), static_cast<std::size_t>(batch.width));
}

/// The class that is predicted: the first of the greatest; none if a prediction is NaN.
std::optional<std::int64_t> predicted_class(std::span<const float> prediction) {
  if (has_nan(prediction)) return std::nullopt;
  return std::max_element(prediction.begin(), prediction.end()) - prediction.begin();
}

/// A weighted mean of a value per sample, or per number.
class Mean : public Metric {
 public:
  using Of = std::function<double(const MetricBatch&, std::int64_t sample)>;
  Mean(std::string name, MonitorMode mode, Of of) : Metric(std::move(name), mode), of_(std::move(of)) {}
  void reset() override { total_ = weights_ = 0; }
  void update(const MetricBatch& batch) override {
    for (std::int64_t i = 0; i < batch.samples; ++i) {
      const double w = batch.weight_of(i), value = of_(batch, i);
      if (w == 0) continue;
      total_ += w * value;
      weights_ += w;
    }
  }
  double result() const override { return ratio(total_, weights_); }
  void save(SavedState& state) const override { save_sums(state, total_, weights_); }
  void restore(const SavedState& state) override { restore_sums(state, total_, weights_); }

 private:
  Of of_;
  double total_ = 0, weights_ = 0;
};

class RootMean : public Mean {
 public:
  using Mean::Mean;
  double result() const override { return std::sqrt(Mean::result()); }
};

Pointer classes(std::string name, std::function<bool(std::span<const float> prediction, std::int64_t actual)> right) {
  return std::make_shared<Mean>(name, MonitorMode::max, [name, right = std::move(right)](const MetricBatch& batch, std::int64_t i) {
    if (batch.width < 2) throw UserError(name, "needs predictions of at least 2 classes; for binary targets there is binary_accuracy");
    const std::int64_t actual = target_class(batch, i, name);
    return right(prediction_of(batch, i), actual) ? 1.0 : 0.0;
  });
}

/// The mean over a sample's numbers of f(p, y).
Mean::Of numbers(std::string name, double (*f)(double p, double y)) {
  return [name = std::move(name), f](const MetricBatch& batch, std::int64_t i) {
    require_numbers(batch, name);
    double total = 0;
    for (std::int64_t k = 0; k < batch.width; ++k)
      total +=
          f(static_cast<double>(prediction_of(batch, i)[static_cast<std::size_t>(k)]), batch.target[static_cast<std::size_t>(i * batch.width + k)]);
    return total / static_cast<double>(batch.width);
  };
}

/// Counts of positives and negatives, predicted and actual.
class YesNo : public Metric {
 public:
  using Result = double (*)(double true_yes, double false_yes, double false_no, double true_no);
  YesNo(std::string name, double threshold, Result result) : Metric(std::move(name), MonitorMode::max), threshold_(threshold), result_(result) {}
  void reset() override { counts_[0][0] = counts_[0][1] = counts_[1][0] = counts_[1][1] = 0; }
  void update(const MetricBatch& batch) override {
    require_numbers(batch, name());
    for (std::int64_t i = 0; i < batch.samples * batch.width; ++i) {
      const double y = batch.target[static_cast<std::size_t>(i)];
      require_yes_or_no(y, name());
      const auto p = static_cast<double>(batch.prediction[static_cast<std::size_t>(i)]);
      const bool yes = y == 1, predicted = std::isnan(p) ? !yes : p >= threshold_;
      counts_[yes][predicted] += batch.weight_of(i / batch.width);
    }
  }
  double result() const override { return result_(counts_[1][1], counts_[0][1], counts_[1][0], counts_[0][0]); }
  void save(SavedState& state) const override { save_sums(state, counts_[0][0], counts_[0][1], counts_[1][0], counts_[1][1]); }
  void restore(const SavedState& state) override { restore_sums(state, counts_[0][0], counts_[0][1], counts_[1][0], counts_[1][1]); }

 private:
  double threshold_;
  Result result_;
  double counts_[2][2] = {};  ///< [actual][predicted]
};

MonitorMode scaled_mode(double factor, MonitorMode mode) {
  if (factor > 0 || mode == MonitorMode::automatic) return mode;
  return factor < 0 ? mode == MonitorMode::min ? MonitorMode::max : MonitorMode::min : MonitorMode::automatic;
}

class Scaled : public Metric {
 public:
  Scaled(double factor, Pointer metric) : Metric(metric->name(), scaled_mode(factor, metric->mode())), factor_(factor), metric_(std::move(metric)) {}
  void reset() override { metric_->reset(); }
  void update(const MetricBatch& batch) override { metric_->update(batch); }
  double result() const override { return factor_ * metric_->result(); }
  void save(SavedState& state) const override { metric_->save(state); }
  void restore(const SavedState& state) override { metric_->restore(state); }

 private:
  double factor_;
  Pointer metric_;
};

class R2 : public Metric {
 public:
  R2() : Metric("r2", MonitorMode::max) {}
  void reset() override { errors_ = weights_ = mean_ = spread_ = 0; }
  void update(const MetricBatch& batch) override {
    require_numbers(batch, name());
    for (std::int64_t i = 0; i < batch.samples * batch.width; ++i) {
      const double w = batch.weight_of(i / batch.width), y = batch.target[static_cast<std::size_t>(i)];
      if (w == 0) continue;
      const double apart = static_cast<double>(batch.prediction[static_cast<std::size_t>(i)]) - y;
      errors_ += w * apart * apart;
      // Mean and spread in one pass (West 1979).
      weights_ += w;
      const double before = mean_;
      mean_ += w / weights_ * (y - before);
      spread_ += w * (y - before) * (y - mean_);
    }
  }
  double result() const override { return 1 - ratio(errors_, spread_); }
  void save(SavedState& state) const override { save_sums(state, errors_, weights_, mean_, spread_); }
  void restore(const SavedState& state) override { restore_sums(state, errors_, weights_, mean_, spread_); }

 private:
  double errors_ = 0, weights_ = 0, mean_ = 0, spread_ = 0;
};

}  // namespace

Pointer scaled(double factor, Pointer metric) {
  if (!metric) throw UserError("scaled", "the metric is null");
  return std::make_shared<Scaled>(factor, std::move(metric));
}

Pointer accuracy() {
  return classes("accuracy", [](std::span<const float> p, std::int64_t actual) { return predicted_class(p) == actual; });
}

Pointer top_k_accuracy(std::int64_t k) {
  if (k < 1) throw UserError("top_k_accuracy", str("k must be at least 1, got ", k));
  return classes(str("top_", k, "_accuracy"), [k](std::span<const float> p, std::int64_t actual) {
    // Equal predictions keep their order.
    const auto own = static_cast<std::size_t>(actual);
    std::int64_t before = 0;
    for (std::size_t c = 0; c < p.size(); ++c) before += p[c] > p[own] || (p[c] == p[own] && c < own);
    return before < k && !has_nan(p);
  });
}

Pointer binary_accuracy(double threshold) {
  return std::make_shared<YesNo>("binary_accuracy", threshold,
                                 [](double ty, double fy, double fn, double tn) { return ratio(ty + tn, ty + fy + fn + tn); });
}
Pointer precision(double threshold) {
  return std::make_shared<YesNo>("precision", threshold, [](double ty, double fy, double, double) { return ratio(ty, ty + fy); });
}
Pointer recall(double threshold) {
  return std::make_shared<YesNo>("recall", threshold, [](double ty, double, double fn, double) { return ratio(ty, ty + fn); });
}
Pointer f1(double threshold) {
  return std::make_shared<YesNo>("f1", threshold, [](double ty, double fy, double fn, double) { return ratio(2 * ty, 2 * ty + fy + fn); });
}
Pointer mean_absolute_error() {
  return std::make_shared<Mean>("mean_absolute_error", MonitorMode::min,
                                numbers("mean_absolute_error", [](double p, double y) { return std::abs(p - y); }));
}
Pointer mean_squared_error() {
  return std::make_shared<Mean>("mean_squared_error", MonitorMode::min,
                                numbers("mean_squared_error", [](double p, double y) { return (p - y) * (p - y); }));
}
Pointer root_mean_squared_error() {
  return std::make_shared<RootMean>("root_mean_squared_error", MonitorMode::min,
                                    numbers("root_mean_squared_error", [](double p, double y) { return (p - y) * (p - y); }));
}
Pointer r2() { return std::make_shared<R2>(); }

ConfusionMatrix::ConfusionMatrix(std::int64_t classes) : Metric("confusion_matrix", MonitorMode::max), classes_(classes) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (classes < 2 || classes > most) throw UserError("confusion_matrix", str("needs at least 2 classes and at most ", most, ", got ", classes));
}

void ConfusionMatrix::reset() { counts_.clear(); }

void ConfusionMatrix::update(const MetricBatch& batch) {
  if (batch.width != classes_) throw UserError(name(), str("was made for ", classes_, " classes, got predictions of ", batch.width));
  for (std::int64_t i = 0; i < batch.samples; ++i)
    counts_[{target_class(batch, i, name()), predicted_class(prediction_of(batch, i)).value_or(classes_)}] += batch.weight_of(i);
}

double ConfusionMatrix::result() const {
  double right = 0, all = 0;
  for (const auto& [pair, count] : counts_) {
    if (pair.first == pair.second) right += count;
    all += count;
  }
  return ratio(right, all);
}

void ConfusionMatrix::save(SavedState& state) const {
  std::vector<double> saved;
  for (const auto& [pair, count] : counts_) saved.insert(saved.end(), {static_cast<double>(pair.first), static_cast<double>(pair.second), count});
  state.set("counts", std::move(saved));
}

void ConfusionMatrix::restore(const SavedState& state) {
  const std::vector<double>& saved = state.numbers("counts");
  if (saved.size() % 3) throw UserError(name(), str("needs three saved numbers per count, got ", saved.size()));
  reset();
  for (std::size_t i = 0; i < saved.size(); i += 3) {
    const double actual = saved[i], predicted = saved[i + 1], most = static_cast<double>(classes_);
    if (!(actual >= 0 && actual < most && predicted >= 0 && predicted <= most))
      throw UserError(name(), str("saved classes ", actual, " and ", predicted, " are outside [0, ", classes_, ")"));
    counts_[{static_cast<std::int64_t>(actual), static_cast<std::int64_t>(predicted)}] = saved[i + 2];
  }
}

double ConfusionMatrix::count(std::int64_t actual, std::int64_t predicted) const {
  if (actual < 0 || actual >= classes_ || predicted < 0 || predicted >= classes_)
    throw UserError(name(), str("classes ", actual, " and ", predicted, " must be in [0, ", classes_, ")"));
  const auto found = counts_.find({actual, predicted});
  return found == counts_.end() ? 0 : found->second;
}

double ConfusionMatrix::undecided(std::int64_t actual) const {
  if (actual < 0 || actual >= classes_) throw UserError(name(), str("class ", actual, " must be in [0, ", classes_, ")"));
  const auto found = counts_.find({actual, classes_});
  return found == counts_.end() ? 0 : found->second;
}

std::string ConfusionMatrix::to_text() const {
  constexpr std::int64_t most = 1000;
  if (classes_ > most) throw UserError(name(), str("text is for at most ", most, " classes, got ", classes_, "; count() gives single numbers"));
  TextStream out;
  std::size_t width = 1;
  bool any_undecided = false;
  for (const auto& [pair, count] : counts_) {
    width = std::max(width, str(count).size());
    any_undecided = any_undecided || pair.second == classes_;
  }
  const auto cell = [&](const auto& value) { out << std::setw(static_cast<int>(width) + 1) << value; };
  cell("");
  for (std::int64_t c = 0; c < classes_; ++c) cell(c);
  out << "  <- predicted" << (any_undecided ? ", undecided" : "") << "\n";
  for (std::int64_t r = 0; r < classes_; ++r) {
    cell(r);
    for (std::int64_t c = 0; c < classes_; ++c) cell(count(r, c));
    if (any_undecided) cell(undecided(r));
    out << "\n";
  }
  return out.str();
}

}  // namespace metric
}  // namespace sinter
