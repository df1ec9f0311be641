#include "frontend/report/judgement.h"

#include <algorithm>
#include <cmath>

#include "frontend/core/counted.h"
#include "frontend/report/markup.h"
#include "frontend/train/metric.h"
#include "frontend/train/metric_rules.h"

namespace sinter::report {

namespace {

/// Predictions and targets in row-major order, so many numbers per sample.
struct Rows {
  std::vector<float> prediction;
  std::vector<double> target;
  std::size_t samples, width, target_width;
};

bool is_yes_or_no(double y) { return y == 0 || y == 1; }
bool are_yes_or_no(const Rows& rows) { return std::all_of(rows.target.begin(), rows.target.end(), is_yes_or_no); }

bool are_one_hot(const Rows& rows) {
  if (rows.width < 2 || rows.target_width != rows.width || !are_yes_or_no(rows)) return false;
  for (auto row = rows.target.begin(); row != rows.target.end(); row += static_cast<std::ptrdiff_t>(rows.width))
    if (std::count(row, row + static_cast<std::ptrdiff_t>(rows.width), 1) != 1) return false;
  return true;
}

/// Whether predictions of classes are no probabilities, and what the page says of that.
bool are_logits(const Rows& rows, const Target& names, const char* function, std::string& note) {
  const auto outside = std::find_if(rows.prediction.begin(), rows.prediction.end(), [](float p) { return p < 0 || p > 1; });
  const bool probabilities = outside == rows.prediction.end(), automatic = names.predictions == Reading::automatic;
  if (names.predictions == Reading::probabilities && !probabilities)
    throw UserError("report", str("the prediction ", *outside, " is no probability; set Target::predictions to Reading::logits if it is a logit"));
  const bool logits = automatic ? !probabilities : names.predictions == Reading::logits;
  if (logits) note = str("Probabilities are the ", function, " of the predictions.");
  return logits;
}

/// Yes and no: one probability or logit for each answer.
void read_binary(const Rows& rows, Judgement& judgement) {
  const bool logits = are_logits(rows, judgement.names, "sigmoid", judgement.note);
  judgement.classes = 2;
  judgement.width = rows.width;
  for (std::size_t i = 0; i < rows.prediction.size(); ++i) {
    const auto raw = static_cast<double>(rows.prediction[i]), one = logits ? 1 / (1 + std::exp(-raw)) : raw;
    const auto truth = static_cast<std::int32_t>(rows.target[i]);
    const std::int32_t said = std::isnan(raw) ? Judgement::no_class : one >= 0.5 ? 1 : 0;
    judgement.truth.push_back(truth);
    judgement.said.push_back(said);
    judgement.p_one.push_back(one);
    judgement.p_truth.push_back(truth ? one : 1 - one);
    judgement.p_said.push_back(said ? one : 1 - one);
  }
}

/// One of several classes: a probability or logit for each class.
void read_classes(const Rows& rows, Judgement& judgement) {
  const bool logits = are_logits(rows, judgement.names, "softmax", judgement.note);
  judgement.classes = rows.width;
  std::vector<double> p(rows.width);
  for (std::size_t i = 0; i < rows.samples; ++i) {
    const std::span<const float> row = std::span(rows.prediction).subspan(i * rows.width, rows.width);
    const auto said = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    double sum = 0;
    for (std::size_t c = 0; c < rows.width; ++c)
      sum += p[c] = logits ? std::exp(static_cast<double>(row[c]) - static_cast<double>(row[said])) : static_cast<double>(row[c]);
    if (!logits) sum = 1;
    const double* y = rows.target.data() + i * rows.target_width;
    const double truth = rows.target_width == 1 ? *y : static_cast<double>(std::max_element(y, y + rows.target_width) - y);
    if (!(truth >= 0 && truth < static_cast<double>(rows.width)))
      throw UserError("report", str("class ", truth, " of sample ", i, " is outside of [0, ", rows.width, "), the classes that are predicted"));
    const auto actual = static_cast<std::size_t>(truth);
    const bool known = !has_nan(row);
    judgement.truth.push_back(static_cast<std::int32_t>(actual));
    judgement.said.push_back(known ? static_cast<std::int32_t>(said) : Judgement::no_class);
    judgement.p_truth.push_back(known ? p[actual] / sum : NAN);
    judgement.p_said.push_back(known ? p[said] / sum : NAN);
    if (judgement.is_binary()) judgement.p_one.push_back(known ? p[1] / sum : NAN);
  }
}

void read_numbers(const Rows& rows, Judgement& judgement) {
  const Target& names = judgement.names;
  judgement.width = rows.width;
  for (const double y : rows.target) judgement.target.push_back(names.offset + names.scale * y);
  for (const float p : rows.prediction) judgement.predicted.push_back(names.offset + names.scale * static_cast<double>(p));
}

/// Whether the targets are the features.
bool are_features(const Rows& rows, const Tensor& features, float scale) {
  if (!features.defined() || features.elements() != static_cast<std::int64_t>(rows.target.size()) || rows.width < 2) return false;
  const std::vector<double> x = metric::as_doubles(features);
  const double factor = features.dtype() == DType::u8 ? static_cast<double>(scale) : 1;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] * factor - rows.target[i]) <= 1e-5 * (1 + std::abs(rows.target[i])))) return false;
  return true;
}

}  // namespace

std::string Judgement::class_name(std::int32_t number) const {
  if (number == no_class) return "NaN";
  const auto c = static_cast<std::size_t>(number);
  return c < names.names.size() ? names.names[c] : str(number);
}

Judgement judge(const Tensor& prediction, const Tensor& target, const Target& names, const Tensor& features, float scale) {
  Judgement judgement;
  judgement.names = names;
  const std::int64_t samples = target.shape()[0].factor();
  if (prediction.rank() < 1 || prediction.dtype() != DType::f32 || prediction.shape()[0] != Dim(samples)) {
    judgement.note = str("Predictions ", prediction.type(), " and targets ", target.type(), " cannot be compared sample by sample.");
    return judgement;
  }
  Rows rows{prediction.to_vector<float>(), metric::as_doubles(target), static_cast<std::size_t>(samples), 0, 0};
  rows.width = rows.prediction.size() / rows.samples;
  rows.target_width = rows.target.size() / rows.samples;
  judgement.samples = rows.samples;
  const bool class_numbers = data::are_class_numbers(target.type()), alike = rows.width == rows.target_width,
             may_be_classes = names.predictions != Reading::numbers, must_be_classes = may_be_classes && names.predictions != Reading::automatic;
  if (may_be_classes && rows.width > 1 && ((class_numbers && rows.target_width == 1) || are_one_hot(rows))) {
    judgement.kind = Judgement::Kind::classes;
    read_classes(rows, judgement);
  } else if (!must_be_classes && alike && are_features(rows, features, scale)) {
    judgement.kind = Judgement::Kind::reconstruction;
    read_numbers(rows, judgement);
  } else if (may_be_classes && alike && are_yes_or_no(rows)) {
    judgement.kind = Judgement::Kind::classes;
    read_binary(rows, judgement);
  } else if (must_be_classes) {
    throw UserError("report", str("Target::predictions are of classes, but targets ", target.type(), " for predictions ", prediction.type(),
                                  " are neither class numbers nor one-hot nor all 0 or 1"));
  } else if (alike) {
    judgement.kind = Judgement::Kind::numbers;
    read_numbers(rows, judgement);
  } else {
    judgement.note = str("Predictions ", prediction.type(), " and targets ", target.type(), " cannot be compared number by number.");
  }
  const std::size_t nameable = judgement.kind == Judgement::Kind::classes ? judgement.classes : judgement.width;
  if (!names.names.empty() && judgement.kind != Judgement::Kind::unlike && names.names.size() != nameable)
    throw UserError("report", str("Target::names has ", counted(names.names.size(), "name"), " for ", nameable,
                                  judgement.kind == Judgement::Kind::classes ? " classes" : " numbers of a sample", "; give one for each"));
  return judgement;
}

std::string with_unit(double number, const std::string& unit, int digits) { return significant(number, digits) + (unit.empty() ? "" : " " + unit); }

}  // namespace sinter::report
