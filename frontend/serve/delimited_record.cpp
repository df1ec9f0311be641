#include "frontend/serve/delimited_record.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "frontend/core/counted.h"
#include "frontend/data/encoding.h"
#include "frontend/serve/plain_number.h"
#include "ir/error.h"

namespace sinter::serve {

namespace {

[[noreturn]] void refuse_csv(const std::string& why) { throw UserError("csv", why); }

/// Whether all bytes are ASCII but 0.
bool is_plain(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
  std::uint64_t marks = 0;
  for (; text.size() >= sizeof marks; text.remove_prefix(sizeof marks)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    marks |= (bytes | (bytes - ones)) & high;  // the difference has a high bit for a byte of 0
  }
  return marks == 0 && std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
}

void require_text(std::string_view text) {
  if (is_plain(text)) return;
  const std::size_t wrong = std::min(data::first_not_utf8(text), text.find('\0'));
  if (wrong != std::string_view::npos) refuse_csv(str("byte ", wrong + 1, " of the record is no text in UTF-8; convert what is in another encoding"));
}

/// Takes a record apart, and calls `add` with each field, in order: a part of the record or of `unquoted`, which is filled with what was in quotes.
/// Before that `number` may take a field itself: it gets the record and the place of the field, which it moves to the delimiter behind it.
class Splitter {
 public:
  explicit Splitter(char delimiter) : delimiter_(delimiter) {
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
      refuse_csv("fields must not be separated by a quote or an end of line; give another delimiter");
  }

  template <class Add, class Number>
  void split(std::string_view record, std::string& unquoted, const Add& add, const Number& number) const {
    require_text(record);
    if (record.ends_with('\n')) record.remove_suffix(1);
    if (record.ends_with('\r')) record.remove_suffix(1);
    unquoted.clear();
    unquoted.reserve(record.size());  // so that fields stay where they are
    const bool has_special = record.find('"') != record.npos || record.find('\n') != record.npos || record.find('\r') != record.npos;
    for (std::size_t at = 0;; ++at) {
      while (at < record.size() && is_space(record[at])) ++at;
      const bool is_quoted = at < record.size() && record[at] == '"';
      if (!number(record, at)) add(is_quoted ? quoted(record, at, unquoted) : plain(record, at, has_special));
      if (at == record.size()) return;
    }
  }

  bool is_space(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }
  bool is_delimiter(char c) const { return c == delimiter_; }

 private:
  /// The field that begins at `at`, which becomes the place behind it.
  std::string_view plain(std::string_view record, std::size_t& at, bool has_special) const {
    const std::size_t end = std::min(record.find(delimiter_, at), record.size());
    std::string_view field = record.substr(at, end - at);
    at = end;
    if (has_special && field.find_first_of("\"\r\n") != field.npos)
      refuse_csv(str("a field holds a quote or an end of line, '", field.substr(0, 40),
                     "', but is not in quotes; write it as \"…\", with \"\" for a quote"));
    while (!field.empty() && is_space(field.back())) field.remove_suffix(1);
    return field;
  }

  /// The same of one in quotes.
  std::string_view quoted(std::string_view record, std::size_t& at, std::string& unquoted) const {
    const std::size_t begin = unquoted.size();
    for (++at;; ++at) {
      const std::size_t end = record.find('"', at);
      if (end == std::string_view::npos) refuse_csv("a quote is not closed before the end of the record");
      unquoted += record.substr(at, end - at);
      at = end + 1;
      if (at == record.size() || record[at] != '"') break;
      unquoted += '"';
    }
    while (at < record.size() && is_space(record[at])) ++at;
    if (at < record.size() && record[at] != delimiter_)
      refuse_csv(str("there is '", record.substr(at, 40), "' behind a closing quote; a quote in quotes is written twice"));
    return std::string_view(unquoted).substr(begin);
  }

  char delimiter_;
};

class DelimitedReader : public RecordReader {
 public:
  DelimitedReader(std::vector<bool> numbers, char delimiter) : splitter_(delimiter), numbers_(std::move(numbers)), fields_(numbers_.size()) {
    if (std::string_view("0123456789-+.eE").find(delimiter) != std::string_view::npos) numbers_.assign(numbers_.size(), false);
  }

  std::span<const data::Field> read(std::string_view record) override {
    constexpr std::size_t readable = 8;  // read_plain_number
    text_.assign(record);
    text_.append(readable, '\0');
    count_ = 0;
    const auto add = [this](std::string_view field) {
      if (count_ < fields_.size()) fields_[count_] = field;
      ++count_;
    };
    splitter_.split(std::string_view(text_).substr(0, record.size()), unquoted_, add,
                    [this](std::string_view text, std::size_t& at) { return take_number(text, at); });
    if (count_ != fields_.size())
      refuse_csv(
          str("the record has ", counted(count_, "field"), ", but there are ", counted(fields_.size(), "column"), "; is a delimiter missing?"));
    return fields_;
  }

 private:
  bool take_number(std::string_view record, std::size_t& at) {
    if (count_ >= fields_.size() || !numbers_[count_]) return false;
    PlainNumber number;
    const char* end = read_plain_number(record.data() + at, number);
    if (!end) return false;
    while (splitter_.is_space(*end)) ++end;
    const auto next = static_cast<std::size_t>(end - record.data());
    if (next != record.size() && !splitter_.is_delimiter(*end)) return false;
    fields_[count_++] = number.value;
    at = next;
    return true;
  }

  Splitter splitter_;
  std::vector<bool> numbers_;  ///< the columns in which what is written as JSON writes numbers is one
  std::string text_, unquoted_;
  std::vector<data::Field> fields_;
  std::size_t count_ = 0;  ///< of the fields so far
};

}  // namespace

std::unique_ptr<RecordReader> delimited_reader(std::vector<bool> numbers, char delimiter) {
  return std::make_unique<DelimitedReader>(std::move(numbers), delimiter);
}

std::vector<std::string> delimited_fields(std::string_view record, char delimiter) {
  std::vector<std::string> result;
  std::string unquoted;
  const auto no_number = [](std::string_view, std::size_t&) { return false; };
  Splitter(delimiter).split(record, unquoted, [&](std::string_view field) { result.emplace_back(field); }, no_number);
  return result;
}

}  // namespace sinter::serve
