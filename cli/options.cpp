#include "cli/options.h"

#include <sinter/sinter.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace sinter::cli {

namespace {

/// The whole text as a number, in any locale; empty if it is not one.
template <class Number>
std::optional<Number> read(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A validator that says `rule` unless `accepts` the text. Help shows `kind` behind the type of the option's value.
template <class Accepts>
CLI::Validator rule(const std::string& rule, Accepts accepts, const std::string& kind = "") {
  return CLI::Validator([=](const std::string& text) { return accepts(text) ? std::string() : str("must be ", rule, ", got '", text, "'"); }, kind);
}

CLI::Validator f32_number(const std::string& text, double least, double below, bool zero) {
  return rule(text, [=](const std::string& written) {
    const std::optional<double> value = read<double>(written);
    return value && *value >= least && *value < below && std::isfinite(static_cast<float>(*value)) && (zero || static_cast<float>(*value) > 0);
  });
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return rule(str("a whole number from ", least, " to ", most), [=](const std::string& text) {
    const std::optional<std::int64_t> value = read<std::int64_t>(text);
    return value && *value >= least && *value <= most && text == std::to_string(*value);  // CLI11 reads 010 as eight
  });
}

CLI::Validator thread_counts() {
  return rule(str("a whole number from 0 to ", most_threads, ", or several from 1 on, such as 1,2,4"), [](const std::string& text) {
    const std::int64_t least = text.find(',') == text.npos ? 0 : 1;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      const std::optional<std::int64_t> value = read<std::int64_t>(part);
      if (!value || *value < least || *value > most_threads || part != std::to_string(*value)) return false;
      begin = end + 1;
    }
    return true;
  });
}

CLI::Validator seed_number() {
  return rule("a whole number from 0 to 18446744073709551615", [](const std::string& text) {
    const std::optional<std::uint64_t> value = read<std::uint64_t>(text);
    return value && text == std::to_string(*value);
  });
}

CLI::Validator number(double least, double below) {
  return f32_number(std::isfinite(below) ? str("a number in [", least, ", ", below, ")") : str("a number of at least ", least), least, below, true);
}

CLI::Validator positive_number() { return f32_number("a number greater than 0", 0, std::numeric_limits<double>::infinity(), false); }

CLI::Validator field_separator() {
  return rule("one character, no quote and no end of line",
              [](const std::string& text) { return text.size() == 1 && text.find_first_of("\"\r\n") == std::string::npos; });
}

CLI::Validator tab_by_name() {
  return {[](std::string& text) {
            if (text == "tab") text = "\t";
            return std::string();
          },
          ""};
}

CLI::Validator one_of(const std::vector<std::string>& choices) {
  std::string list, kind;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
    kind += (i == 0 ? "{" : "|") + choices[i];
  }
  return rule(list, [=](const std::string& text) { return std::find(choices.begin(), choices.end(), text) != choices.end(); }, kind + "}");
}

namespace {

CLI::Validator name_of(const std::string& kind) {
  return rule("a name", [](const std::string& text) { return !text.empty(); }, kind);
}

}  // namespace

CLI::Validator not_empty() { return name_of(""); }
CLI::Validator file_name() { return name_of("FILE"); }
CLI::Validator folder_name() { return name_of("FOLDER"); }

}  // namespace sinter::cli
