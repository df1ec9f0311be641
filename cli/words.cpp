#include "cli/words.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

namespace sinter::cli {

namespace {

using Phrase = std::pair<std::string_view, std::string_view>;

/// Settings whose options are not called as they are.
constexpr std::array<Phrase, 6> renamed{{{"class_weights", "balance"},
                                         {"every_steps", "checkpoint-every"},
                                         {"column_scaling", "scaling"},
                                         {"components", "pca"},
                                         {"variance", "pca"},
                                         {"stratify", "split stratified"}}};

/// Advice that only a program can follow, and what to do instead.
constexpr std::array<Phrase, 5> advice{{
    {"; load it with load_step", "; give a file that sinter train wrote"},
    {", as data::Encoder does", ""},
    {" at the start of fit", ""},
    {"was made with other callbacks", "was made with another --patience, --log or --tensorboard"},
    {"use the same callbacks", "use the same options"},
}};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// The word at the beginning, which is removed.
std::string_view take_word(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_word);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

std::string option(std::string_view setting) {
  for (const auto& [from, to] : renamed)
    if (setting == from) setting = to;
  std::string name = "--" + std::string(setting);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// A text as one argument of a shell.
std::string argument(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/%+=@";
  const bool has_letters = std::any_of(text.begin(), text.end(), is_word);
  if (has_letters && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

/// The value that is given to an option, ` = {"a", "b"}`, ` = 'c'` or ` = "d"`, as an argument, which is removed; nothing if there is none.
std::string take_value(std::string_view& text) {
  constexpr std::string_view equals = " = ";
  if (!text.starts_with(equals)) return "";
  std::string_view rest = text.substr(equals.size());
  const bool list = rest.starts_with('{');
  if (list) rest.remove_prefix(1);
  std::string value;
  for (bool first = true; !rest.empty() && (rest[0] == '"' || rest[0] == '\''); first = false) {
    const char quote = rest[0];
    if (!first) value += ',';
    std::size_t at = 1;
    for (; at < rest.size() && rest[at] != quote; ++at) value += rest[at] == '\\' && at + 1 < rest.size() ? rest[++at] : rest[at];
    rest.remove_prefix(std::min(at + 1, rest.size()));
    if (list && rest.starts_with(", ")) rest.remove_prefix(2);
    else break;
  }
  if (list && rest.starts_with('}')) rest.remove_prefix(1);
  text = rest;
  return " " + argument(value);
}

}  // namespace

std::string in_words_of_the_shell(std::string_view message) {
  constexpr std::string_view mark = "Options::";
  std::string result;
  for (std::size_t at = message.find(mark); at != std::string_view::npos; at = message.find(mark)) {
    const std::string_view before = message.substr(0, at);
    const auto name = std::find_if_not(before.rbegin(), before.rend(), is_word).base();  // of the structure
    result += before.substr(0, static_cast<std::size_t>(name - before.begin()));
    message.remove_prefix(at + mark.size());
    result += option(take_word(message));
    result += take_value(message);
  }
  result += message;
  for (const auto& [from, to] : advice)
    for (std::size_t at; (at = result.find(from)) != std::string::npos;) result.replace(at, from.size(), to);
  return result;
}

void warn_on_stderr(const std::string& message) { std::cerr << "warning: " << printable_lines(in_words_of_the_shell(message)) << "\n"; }

}  // namespace sinter::cli
