#include "frontend/train/epoch_result.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

namespace sinter {

namespace {

using Values = std::vector<std::pair<std::string, double>>;

bool has(const Values& values, std::string_view name) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
}

Values values_of(double loss, const std::optional<double>& accuracy, const Values& metrics) {
  Values result{{"loss", loss}};
  if (accuracy && !has(metrics, "accuracy")) result.emplace_back("accuracy", *accuracy);  // a metric of this name is the same number
  result.insert(result.end(), metrics.begin(), metrics.end());
  return result;
}

}  // namespace

std::string prefix_of(const std::string& validation_set) { return "val_" + validation_set + "_"; }

std::vector<ValuesOfSet> EpochResult::sets() const {
  std::vector<ValuesOfSet> result{{"training", "", values_of(loss, accuracy, metrics)}};
  if (validation_loss) result.push_back({"validation", "val_", values_of(*validation_loss, validation_accuracy, validation_metrics)});
  const auto add = [&](const std::string& set, const std::string& prefix, const Evaluation& judged) {
    result.push_back({set, prefix, values_of(judged.loss, judged.accuracy, judged.metrics)});
  };
  for (const auto& [name, judged] : validations) add(name, prefix_of(name), judged);
  if (training_set) add("training set", training_set_prefix, *training_set);
  return result;
}

std::vector<std::pair<std::string, double>> EpochResult::values() const {
  Values result;
  for (const ValuesOfSet& set : sets())
    for (const auto& [name, value] : set.values) result.emplace_back(set.prefix + name, value);
  result.emplace_back("learning_rate", learning_rate);
  result.emplace_back("seconds", seconds);
  return result;
}

double EpochResult::value(const std::string& wanted) const {
  std::string known;
  for (const auto& [name, value] : values()) {
    if (name == wanted) return value;
    known += (known.empty() ? "" : ", ") + name;
  }
  throw UserError("fit", str("an epoch has no '", wanted, "'; it has ", known));
}

std::string epoch_line(const EpochResult& r, std::int64_t epochs) {
  TextStream line;
  line << "epoch " << r.epoch << "/" << epochs << ": " << std::fixed << std::setprecision(3) << r.seconds << " s";
  const bool counts_hits = r.accuracy && !has(r.metrics, "accuracy");
  for (const ValuesOfSet& set : r.sets()) {
    const std::string of = set.prefix.empty() ? "" : set.set + " ";
    for (const auto& [name, value] : set.values) {
      line << ", " << of << name << " ";
      if (name == "loss") line << std::setprecision(4) << value;
      else if (name == "accuracy" && counts_hits) line << std::setprecision(2) << value * 100 << " %";
      else line << std::defaultfloat << std::setprecision(6) << value << std::fixed;  // a metric, in its own unit
    }
  }
  if (!std::isfinite(r.loss)) line << " (not finite; a lower learning rate may help)";
  return line.str();
}

std::vector<std::string> names_in(std::span<const EpochResult> history) {
  std::vector<std::string> names;
  for (const EpochResult& epoch : history)
    for (const auto& [name, value] : epoch.values())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::vector<ValueOfSets> values_by_set(std::span<const EpochResult> history) {
  std::vector<ValueOfSets> result;
  for (const EpochResult& epoch : history)
    for (const ValuesOfSet& set : epoch.sets())
      for (const auto& [name, number] : set.values) {
        auto value = std::find_if(result.begin(), result.end(), [&, &name = name](const ValueOfSets& other) { return other.name == name; });
        if (value == result.end()) value = result.insert(value, {name, {}});
        const std::pair<std::string, std::string> entry{set.set, set.prefix + name};
        if (std::find(value->sets.begin(), value->sets.end(), entry) == value->sets.end()) value->sets.push_back(entry);
      }
  return result;
}

}  // namespace sinter
