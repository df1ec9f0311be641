// The description of an encoder in a file.
#include <cmath>
#include <nlohmann/json.hpp>

#include "frontend/data/description.h"
#include "frontend/data/encoder.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr int deepest_encoder = 4;  // the description, its columns, a column, its categories
constexpr int newest = 2;           // 1: standardized columns only
using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<Condition>& conditions) {
  Texts texts;
  for (const Condition& condition : conditions) texts.push_back(condition.text());
  return texts;
}

/// Conditions that a description has under a name.
std::vector<Condition> conditions_in(const nlohmann::json& json, const char* name, const CellRules& rules) {
  std::vector<Condition> conditions;
  for (const std::string& text : json.value(name, Texts{})) {
    conditions.emplace_back(text);
    conditions.back().check(rules);
  }
  return conditions;
}

}  // namespace

std::string Encoder::to_json() const {
  nlohmann::ordered_json json{{"version", 1}, {"target", target_}, {"columns", nlohmann::ordered_json::array()}};
  bool is_newer = !keep_.empty() || !train_on_.empty() || normalizer_ || pca_;
  for (const Column& c : columns_) {
    json["columns"].push_back({{"name", c.name},
                               {"categorical", c.categorical},
                               {"mean", c.offset},
                               {"deviation", c.unit},
                               {"missing", c.missing},
                               {"categories", c.categories}});
    if (c.scaling == Scaling::standard) continue;
    is_newer = true;
    json["columns"].back()["scaling"] = text_of(c.scaling);
    json["columns"].back()["missing_value"] = c.missing_value;
  }
  if (is_newer) json["version"] = newest;  // an older version would leave out what it does not know
  if (rules_ != CellRules{}) json["missing"] = rules_.missing, json["decimal"] = std::string(1, rules_.decimal);
  if (!rules_.thousands.empty()) json["thousands"] = rules_.thousands;
  if (!rules_.strip.empty()) json["strip"] = rules_.strip;
  if (!keep_.empty()) json["keep"] = texts_of(keep_);
  if (!train_on_.empty()) json["train_on"] = texts_of(train_on_);
  if (normalizer_) json["normalizer"] = nlohmann::ordered_json::parse(normalizer_->to_json());
  if (pca_) json["pca"] = nlohmann::ordered_json::parse(pca_->to_json());
  try {
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    throw UserError("encoder", str("names and categories must be UTF-8 (", error.what(), ")"));
  }
}

Encoder Encoder::from_json(const std::string& text) {
  Encoder encoder;
  read_description(text, deepest_encoder, "encoder", [&](const nlohmann::json& json) {
    require_version(json, newest, "encoder");
    for (const auto& c : json.at("columns"))
      encoder.columns_.push_back({c.at("name"), c.at("categorical"), scaling_named(c.value("scaling", text_of(Scaling::standard))), c.at("mean"),
                                  c.at("deviation"), c.contains("scaling") ? c.value("missing_value", 0.0) : 0.0, c.at("missing"),
                                  c.at("categories")});
    const auto& target = json.at("target");
    if (!target.is_number_integer()) throw damaged("encoder", str("target ", target.dump(), " is no whole number"));
    encoder.target_ = target.get<std::ptrdiff_t>();
    const std::string decimal = json.value("decimal", ".");
    if (decimal != "." && decimal != ",") throw damaged("encoder", str("decimal is '", decimal, "'"));
    encoder.rules_ = {json.value("missing", Texts{}), decimal[0], json.value("thousands", ""), json.value("strip", Texts{})};
    encoder.rules_.check("encoder");
    encoder.keep_ = conditions_in(json, "keep", encoder.rules_);
    encoder.train_on_ = conditions_in(json, "train_on", encoder.rules_);
    if (json.contains("normalizer")) encoder.normalizer_ = Normalizer::from_json(json.at("normalizer").dump());
    if (json.contains("pca")) encoder.pca_ = PCA::from_json(json.at("pca").dump());
  });
  const auto count = static_cast<std::ptrdiff_t>(encoder.columns_.size());
  if (encoder.target_ < -1 || encoder.target_ >= count) throw damaged("encoder", str("target ", encoder.target_, " of ", count, " columns"));
  for (const Column& c : encoder.columns_) {
    if (c.categorical ? c.missing : !c.categories.empty()) throw damaged("encoder", str("column '", c.name, "' holds both numbers and categories"));
    if (!std::isfinite(c.offset) || !(c.unit > 0) || !std::isfinite(c.unit))
      throw damaged("encoder", str("column '", c.name, "' has mean ", c.offset, " and deviation ", c.unit));
    if (!std::isfinite(static_cast<float>(c.missing_value)))
      throw damaged("encoder", str("column '", c.name, "' has missing_value ", c.missing_value));
  }
  if (encoder.pca_ && encoder.pca_->width() != encoder.columns_width())
    throw damaged("encoder", str("pca takes ", encoder.pca_->width(), " features, but the columns have ", encoder.columns_width()));
  return encoder;
}

}  // namespace sinter::data
