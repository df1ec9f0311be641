// Descriptions of what was learnt from data, as JSON. They come back from files, so that nothing in them is trusted.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/core/json_depth.h"
#include "ir/error.h"

namespace sinter::data {

/// Nesting of a description of names and lists of numbers.
inline constexpr int deepest_description = 2;

/// The error for a description that says what cannot be.
inline UserError damaged(std::string_view where, const std::string& what) { return {where, str("the description is damaged: ", what)}; }

/// What `read` makes of the JSON of a text. Throws UserError `[where] …` for a text that is none, nests more than `deepest` deep, or has other
/// members than `read` asks for.
template <class Read>
auto read_description(const std::string& text, int deepest, std::string_view where, const Read& read) {
  try {
    check_json_depth(text, deepest, where);
    return read(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw UserError(where, str("the description is damaged (", error.what(), ")"));
  }
}

/// Throws UserError for another version than these.
inline void require_version(const nlohmann::json& json, int newest, std::string_view where) {
  const nlohmann::json& version = json.at("version");
  if (!version.is_number_integer() || version < 1 || version > newest)
    throw UserError(where, str("version ", version.dump(), " is not known; it needs a newer version of Sinter"));
}

/// Throws UserError unless the description is of this kind, of version 1.
inline void require_kind(const nlohmann::json& json, const std::string& kind) {
  if (json.at("kind") != kind) throw UserError(kind, str("the description is of another kind, ", json.at("kind").dump()));
  require_version(json, 1, kind);
}

/// So many finite numbers, at least one, under this name; `positive`: all greater than 0. Throws UserError for others.
inline std::vector<double> numbers_of(const nlohmann::json& json, const char* name, std::size_t count, std::string_view where,
                                      bool positive = false) {
  std::vector<double> numbers = json.at(name);
  if (numbers.empty() || numbers.size() != count) throw damaged(where, str(name, " has ", numbers.size(), " numbers, not ", count));
  for (const double x : numbers)
    if (!std::isfinite(x) || (positive && !(x > 0))) throw damaged(where, str(name, " has ", x));
  return numbers;
}

}  // namespace sinter::data
