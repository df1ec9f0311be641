// Each function returns the place behind what it has read, or null.
#include "frontend/serve/flat_record.h"

#include <algorithm>
#include <cstring>

#include "frontend/serve/plain_number.h"

namespace sinter::serve {

namespace {

const char* skip_space(const char* at) {
  while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') ++at;
  return at;
}

bool is_plain_character(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

void FlatRecord::add_name(std::string_view name, std::size_t column) {
  if (std::all_of(name.begin(), name.end(), is_plain_character)) learnt_.push_back({'"' + std::string(name) + '"', column});
  else learnt_.push_back({{}, column});  // matches nothing
}

bool FlatRecord::read(const char* begin, const char* end, std::span<data::Field> fields) const {
  const char* at = skip_space(begin);
  if (*at == '{') at = read_object(at + 1, fields);
  else if (*at == '[') at = read_array(at + 1, fields);
  else return false;
  return at && skip_space(at) == end;
}

const char* FlatRecord::read_object(const char* at, std::span<data::Field> fields) const {
  std::fill(fields.begin(), fields.end(), data::Field(std::string_view()));
  for (const auto& [name, column] : names_) {
    at = skip_space(at);
    if (name.empty() || std::strncmp(at, name.data(), name.size()) != 0) return nullptr;
    at = skip_space(at + name.size());
    if (*at != ':') return nullptr;
    at = read_value(skip_space(at + 1), column, fields);
    if (!at) return nullptr;
    at = skip_space(at);
    if (*at != (&name == &names_.back().text ? '}' : ',')) return nullptr;
    ++at;
  }
  return names_.empty() ? nullptr : at;
}

const char* FlatRecord::read_array(const char* at, std::span<data::Field> fields) const {
  for (std::size_t column = 0; column < fields.size(); ++column) {
    at = read_value(skip_space(at), column, fields);
    if (!at) return nullptr;
    at = skip_space(at);
    if (*at != (column + 1 == fields.size() ? ']' : ',')) return nullptr;
    ++at;
  }
  return fields.empty() ? nullptr : at;
}

const char* FlatRecord::read_value(const char* at, std::size_t column, std::span<data::Field> fields) const {
  if (*at == '"') {
    const char* end = ++at;
    while (is_plain_character(*end)) ++end;
    if (*end != '"') return nullptr;
    if (column != no_column) fields[column] = std::string_view(at, end);
    return end + 1;
  }
  if (*at >= 'a') return read_word(at, column, fields);
  PlainNumber number;
  at = read_plain_number(at, number);
  if (!at || column == no_column) return at;
  if (number.is_long && has_texts_[column]) return nullptr;
  fields[column] = number.value;
  return at;
}

const char* FlatRecord::read_word(const char* at, std::size_t column, std::span<data::Field> fields) const {
  const bool has_texts = column != no_column && has_texts_[column];
  const auto take = [&](std::string_view word, data::Field value) -> const char* {
    if (std::strncmp(at, word.data(), word.size()) != 0) return nullptr;
    if (column != no_column) fields[column] = value;
    return at + word.size();
  };
  if (*at == 'n') return take("null", std::string_view());
  if (*at == 't') return take("true", has_texts ? data::Field(std::string_view("true")) : data::Field(1.0));
  return take("false", has_texts ? data::Field(std::string_view("false")) : data::Field(0.0));
}

}  // namespace sinter::serve
