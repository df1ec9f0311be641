#include "bench/shapes/request.h"

#include <algorithm>
#include <cmath>

#include <sinter/sinter.h>

namespace sinter::bench {

namespace {

constexpr const char* place = "sweep";

/// A value for a message: not all of a long one.
std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string allowed_word(const std::string& name, const nlohmann::json& value, const std::vector<std::string>& allowed) {
  if (!value.is_string() || std::ranges::find(allowed, value.get<std::string>()) == allowed.end())
    throw UserError(place, str("'", name, "' must be one of ", list_of(allowed), ", got ", shown(value),
                               value.is_string() ? nearest_hint(value.get<std::string>(), allowed) : "; give one of these words"));
  return value.get<std::string>();
}

}  // namespace

Request::Request(const std::string& line) {
  check_json_depth(line, 4, place);
  fields_ = nlohmann::json::parse(line, nullptr, false);
  if (!fields_.is_object())
    throw UserError(place, str("a request must be a JSON object in one line, got ", line.empty() ? "an empty line" : shown(line),
                               R"(; send one like {"kind": "dense", "form": "call", "batch": 32, "inputs": 64, "units": 10, "activation": "none"})"));
  const nlohmann::json& kind = field("kind", "must be a word");
  if (!kind.is_string()) throw UserError(place, str("'kind' must be a word, got ", shown(kind), "; put it in quotes"));
  kind_ = kind.get<std::string>();
  is_step_ = word("form", {"call", "step"}) == "step";
  if (fields_.contains("check")) {
    const nlohmann::json& check = field("check", "");
    if (!check.is_boolean()) throw UserError(place, str("'check' must be true or false, got ", shown(check), "; leave it out to measure"));
    is_check_ = check.get<bool>();
  }
  if (fields_.contains("seconds")) {
    const nlohmann::json& seconds = field("seconds", "");
    if (!seconds.is_number() || !(seconds.get<double>() > 0 && seconds.get<double>() <= 60))
      throw UserError(place, str("'seconds' must be a number above 0 and at most 60, got ", shown(seconds), "; leave it out for ", seconds_));
    seconds_ = seconds.get<double>();
  }
}

const nlohmann::json& Request::field(const std::string& name, const std::string& rule) {
  const auto found = fields_.find(name);
  if (found == fields_.end()) throw UserError(place, str("'", name, "' ", rule, ", but the request has no such field; add it"));
  read_.insert(name);
  return *found;
}

std::int64_t Request::number(const std::string& name, std::int64_t least, std::int64_t most) {
  const std::string rule = str("must be a whole number from ", least, " to ", most);
  const nlohmann::json& value = field(name, rule);
  const bool is_small = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most));
  if (!is_small || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    throw UserError(place, str("'", name, "' ", rule, ", got ", shown(value), "; change it"));
  return value.get<std::int64_t>();
}

std::string Request::word(const std::string& name, const std::vector<std::string>& allowed) {
  return allowed_word(name, field(name, "must be one of " + list_of(allowed)), allowed);
}

std::vector<std::string> Request::words(const std::string& name, const std::vector<std::string>& allowed, std::size_t most) {
  const std::string rule = str("must be a list of 1 to ", most, " words");
  const nlohmann::json& value = field(name, rule);
  if (!value.is_array() || value.empty() || value.size() > most)
    throw UserError(place, str("'", name, "' ", rule, ", got ", shown(value), "; the words are ", list_of(allowed)));
  std::vector<std::string> result;
  for (const nlohmann::json& element : value) result.push_back(allowed_word(name, element, allowed));
  return result;
}

void Request::require_all_read() const {
  for (const auto& [name, value] : fields_.items())
    if (!read_.contains(name))
      throw UserError(place, str("a request of kind '", kind_, "' has no field '", name, "', got ", shown(value), "; it has ",
                                 list_of({read_.begin(), read_.end()})));
}

}  // namespace sinter::bench
