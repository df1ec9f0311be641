#include "frontend/serve/answer_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "frontend/serve/record_scorer.h"
#include "ir/error.h"

namespace sinter::serve {

namespace {

constexpr std::size_t longest_number = 32;

/// What prediction_text gives, at `at`; its end.
char* write_number(double value, double unit, char* at) {
  const float rounded = static_cast<float>(value);
  char* end = std::to_chars(at, at + longest_number, rounded).ptr;
  double printed = static_cast<double>(rounded);
  for (int digits = 9; std::abs(printed - value) > unit / 65536 && digits <= 17; ++digits) {
    end = std::to_chars(at, at + longest_number, value, std::chars_format::general, digits).ptr;
    std::from_chars(at, end, printed);
  }
  return end;
}

/// A text in JSON, with its quotes.
void append_quoted(std::string_view value, std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  text += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') text += '\\';
    if (byte >= 0x20) text += c;
    else ((text += "\\u00") += digits[byte >> 4]) += digits[byte & 15];
  }
  text += '"';
}

/// A field of delimited text, in quotes where it must be.
void append_field(std::string_view value, char delimiter, std::string& text) {
  const std::array<char, 4> special{delimiter, '"', '\r', '\n'};
  const bool is_quoted = value.find_first_of(std::string_view(special.data(), special.size())) != std::string_view::npos || value.starts_with(' ') ||
                         value.ends_with(' ');
  if (!is_quoted) {
    text += value;
    return;
  }
  text += '"';
  for (const char c : value) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

std::string json_text(std::string_view value) {
  std::string text;
  append_quoted(value, text);
  return text;
}

std::string delimited_text(std::string_view value, char delimiter) {
  std::string text;
  append_field(value, delimiter, text);
  return text;
}

}  // namespace

std::string prediction_text(double value, double unit) {
  std::array<char, longest_number> text;
  return {text.data(), write_number(value, unit, text.data())};
}

std::size_t greatest(std::span<const float> probabilities) {
  return static_cast<std::size_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
}

AnswerWriter::AnswerWriter(const ServedModel& model, Format format, char delimiter)
    : format_(format), delimiter_(delimiter), outputs_(static_cast<std::size_t>(model.outputs())), unit_(model.unit()), offset_(model.offset()) {
  const std::vector<std::string>& classes = model.classes();
  for (const std::string& name : classes) {
    if (format_ == Format::json) {
      before_class_.push_back(R"({"prediction":)" + json_text(name));
      before_number_.push_back((before_number_.empty() ? R"(,"probabilities":{)" : ",") + json_text(name) + ":");
    }
    classes_.push_back(delimited_text(name, delimiter));
  }
  if (classes.empty() && outputs_ > 1)
    for (std::size_t i = 1; i <= outputs_; ++i) (columns_ += str("prediction ", i)) += delimiter;
  else (columns_ += "prediction") += delimiter;
  for (const std::string& name : classes) (columns_ += delimited_text("p(" + name + ")", delimiter)) += delimiter;
  columns_ += "error";
}

std::string AnswerWriter::header() const { return columns_; }

void AnswerWriter::append_number(float number, std::string& text) const {
  std::array<char, longest_number> digits;
  text.append(digits.data(), classes_.empty() ? write_number(in_unit(number), unit_, digits.data()) : write_number(number, 1, digits.data()));
}

void AnswerWriter::write(std::span<const float> result, std::string& text) const {
  if (format_ == Format::json) write_json(result, text);
  else if (format_ == Format::delimited) write_delimited(result, text);
  else write_raw(result, text);
}

void AnswerWriter::write_json(std::span<const float> result, std::string& text) const {
  if (!classes_.empty()) {
    text += before_class_[greatest(result)];
    for (std::size_t i = 0; i < result.size(); ++i) {
      text += before_number_[i];
      append_number(result[i], text);
    }
    text += "}}";
    return;
  }
  text += R"({"prediction":)";
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result.size() > 1) text += i == 0 ? '[' : ',';
    append_number(result[i], text);
  }
  text += result.size() > 1 ? "]}" : "}";
}

void AnswerWriter::write_delimited(std::span<const float> result, std::string& text) const {
  if (!classes_.empty()) (text += classes_[greatest(result)]) += delimiter_;
  for (const float number : result) {
    append_number(number, text);
    text += delimiter_;
  }
}

void AnswerWriter::write_raw(std::span<const float> result, std::string& text) const {
  for (const float number : result) {
    const float value = classes_.empty() ? static_cast<float>(in_unit(number)) : number;
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

void AnswerWriter::write_none(std::string_view key, std::string_view why, std::string& text) const {
  if (format_ == Format::json) {
    append_quoted(key, text += '{');
    append_quoted(why, text += ':');
    text += '}';
  } else if (format_ == Format::delimited) {
    text.append(outputs_ + !classes_.empty(), delimiter_);
    append_field(why, delimiter_, text);
  } else {
    const float none = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < outputs_; ++i) text.append(reinterpret_cast<const char*>(&none), sizeof none);
  }
}

void AnswerWriter::write_skipped(std::string_view why, std::string& text) const {
  write_none("skipped", format_ == Format::delimited ? str("skipped: ", why) : std::string(why), text);
}

void AnswerWriter::write_error(std::string_view why, std::string& text) const { write_none("error", why, text); }

}  // namespace sinter::serve
