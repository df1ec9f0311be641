#include "frontend/data/condition.h"

#include <array>
#include <optional>

#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr const char* condition_where = "condition";

struct Operator {
  std::string_view text;
  Comparison comparison;
};
/// Longer ones first.
constexpr std::array<Operator, 6> operators{{{"==", Comparison::equal},
                                             {"!=", Comparison::not_equal},
                                             {"<=", Comparison::less_equal},
                                             {">=", Comparison::greater_equal},
                                             {"<", Comparison::less},
                                             {">", Comparison::greater}}};
constexpr std::array<Operator, 5> endings{{{" is not empty", Comparison::not_empty},
                                           {" not empty", Comparison::not_empty},
                                           {" is empty", Comparison::empty},
                                           {" is missing", Comparison::empty},
                                           {" not missing", Comparison::not_empty}}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw UserError(condition_where, str("'", text, "' ", why, "; write a column, one of == != < <= > >= and a value, or a column and not empty"));
}

bool is_quote(char c) { return c == '\'' || c == '"'; }

/// The end of the quoted text that begins here, behind its last quote; npos if it has none. A doubled quote in it is one.
std::size_t end_of_quotes(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] != text[begin]) continue;
    if (at + 1 >= text.size() || text[at + 1] != text[begin]) return at + 1;
    ++at;
  }
  return std::string_view::npos;
}

/// A name or value without the quotes around it.
std::string plain(std::string_view part, std::string_view whole) {
  part = trimmed(part);
  if (part.empty() || !is_quote(part[0])) return std::string(part);
  if (end_of_quotes(part, 0) != part.size()) refuse(whole, str("has text around a quoted one, or no second quote: ", part));
  std::string result;
  for (std::size_t at = 1; at + 1 < part.size(); ++at) {
    result += part[at];
    at += part[at] == part[0];
  }
  return result;
}

/// The same in quotes where it could be read in another way.
std::string quoted(const std::string& part) {
  const bool is_plain = !part.empty() && part.find_first_of("'\"<>=!") == std::string::npos && trimmed(part).size() == part.size() &&
                        !part.ends_with("empty") && !part.ends_with("missing");
  if (is_plain) return part;
  std::string result = "'";
  for (const char c : part) result.append(c == '\'' ? 2 : 1, c);
  return result + "'";
}

}  // namespace

Condition::Condition(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  std::size_t at = first < text.size() && is_quote(text[first]) ? end_of_quotes(text, first) : first;  // operators in a quoted name are none
  if (at == std::string_view::npos) refuse(text, "has a quote without a second one");
  at = text.find_first_of("<>=!", at);
  if (at != std::string_view::npos) {
    for (const Operator& op : operators) {
      if (!text.substr(at).starts_with(op.text)) continue;
      column = plain(text.substr(0, at), text);
      comparison = op.comparison;
      value = plain(text.substr(at + op.text.size()), text);
      if (column.empty()) refuse(text, "names no column");
      if (value.empty()) {
        const std::string_view written = trimmed(text.substr(at + op.text.size()));
        if (written.empty()) refuse(text, "has no value");
        if (comparison != Comparison::equal && comparison != Comparison::not_equal) refuse(text, "has no value");
        comparison = comparison == Comparison::equal ? Comparison::empty : Comparison::not_empty;
      }
      return;
    }
    refuse(text, str("has no comparison at ", text.substr(at, 2)));
  }
  const std::string_view all = trimmed(text);
  for (const Operator& ending : endings) {
    if (!all.ends_with(ending.text)) continue;
    column = plain(all.substr(0, all.size() - ending.text.size()), text);
    comparison = ending.comparison;
    if (column.empty()) refuse(text, "names no column");
    return;
  }
  refuse(text, "is no condition");
}

std::string Condition::text() const {
  for (const Operator& op : operators)
    if (op.comparison == comparison) return str(quoted(column), " ", op.text, " ", quoted(value));
  return quoted(column) + (comparison == Comparison::empty ? " is empty" : " not empty");
}

void Condition::check(const CellRules& rules) const {
  const bool of_order = comparison == Comparison::less || comparison == Comparison::less_equal || comparison == Comparison::greater ||
                        comparison == Comparison::greater_equal;
  if (of_order && !rules.number(value)) throw UserError(condition_where, str("'", text(), "' compares numbers, but '", value, "' is none"));
}

}  // namespace sinter::data
