// The description of an encoder in a file.
#include <cmath>
#include <nlohmann/json.hpp>

#include "frontend/core/json_depth.h"
#include "frontend/data/encoder.h"
#include "ir/error.h"

namespace sinter::data {

namespace {
constexpr int deepest_description = 4;  // the description, its columns, a column, its categories
}

std::string Encoder::to_json() const {
  nlohmann::ordered_json json{{"version", 1}, {"target", target_}, {"columns", nlohmann::ordered_json::array()}};
  for (const Column& c : columns_)
    json["columns"].push_back({{"name", c.name},
                               {"categorical", c.categorical},
                               {"mean", c.mean},
                               {"deviation", c.deviation},
                               {"missing", c.missing},
                               {"categories", c.categories}});
  if (rules_ != CellRules{}) json["missing"] = rules_.missing, json["decimal"] = std::string(1, rules_.decimal);
  if (!rules_.thousands.empty()) json["thousands"] = rules_.thousands;
  if (!rules_.strip.empty()) json["strip"] = rules_.strip;
  try {
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    throw UserError("encoder", str("names and categories must be UTF-8 (", error.what(), ")"));
  }
}

Encoder Encoder::from_json(const std::string& text) {
  Encoder encoder;
  try {
    check_json_depth(text, deepest_description, "encoder");
    const auto json = nlohmann::json::parse(text);
    if (json.at("version") != 1)
      throw UserError("encoder", str("version ", json.at("version").dump(), " is not known; it needs a newer version of Sinter"));
    for (const auto& c : json.at("columns"))
      encoder.columns_.push_back({c.at("name"), c.at("categorical"), c.at("mean"), c.at("deviation"), c.at("missing"), c.at("categories")});
    const auto& target = json.at("target");
    if (!target.is_number_integer()) throw UserError("encoder", str("the description is damaged: target ", target.dump(), " is no whole number"));
    encoder.target_ = target.get<std::ptrdiff_t>();
    const std::string decimal = json.value("decimal", ".");
    if (decimal != "." && decimal != ",") throw UserError("encoder", str("the description is damaged: decimal is '", decimal, "'"));
    using Texts = std::vector<std::string>;
    encoder.rules_ = {json.value("missing", Texts{}), decimal[0], json.value("thousands", ""), json.value("strip", Texts{})};
    encoder.rules_.check("encoder");
  } catch (const nlohmann::json::exception& error) {
    throw UserError("encoder", str("the description is damaged (", error.what(), ")"));
  }
  const auto count = static_cast<std::ptrdiff_t>(encoder.columns_.size());
  if (encoder.target_ < -1 || encoder.target_ >= count)
    throw UserError("encoder", str("the description is damaged: target ", encoder.target_, " of ", count, " columns"));
  for (const Column& c : encoder.columns_) {
    if (c.categorical ? c.missing : !c.categories.empty())
      throw UserError("encoder", str("the description is damaged: column '", c.name, "' holds both numbers and categories"));
    if (!std::isfinite(c.mean) || !(c.deviation > 0) || !std::isfinite(c.deviation))
      throw UserError("encoder", str("the description is damaged: column '", c.name, "' has mean ", c.mean, " and deviation ", c.deviation));
  }
  return encoder;
}

}  // namespace sinter::data
