// Reads what a FlatRecord does not with simdjson, on demand: no tree is built. All of a record is checked, also what is skipped.
#include "frontend/serve/json_record.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "frontend/core/counted.h"
#include "frontend/serve/flat_record.h"
#include "ir/error.h"

namespace sinter::serve {

namespace {

namespace json = simdjson::ondemand;

constexpr int deepest = 64;                    // nesting of what is skipped
constexpr std::size_t most_exact_digits = 15;  // of a whole number as a double

[[noreturn]] void refuse_json(const std::string& why) { throw UserError("json", why); }

/// The value, or an error of the record.
template <class T>
T value_of(simdjson::simdjson_result<T> result) {
  T value{};
  if (const simdjson::error_code error = std::move(result).get(value)) refuse_json(str("the record is no JSON: ", simdjson::error_message(error)));
  return value;
}

/// Reads a value that nobody wants, and all in it.
void skip(json::value value, int depth) {
  switch (value_of(value.type())) {
    case json::json_type::number:
      (void)value_of(value.get_double());
      return;
    case json::json_type::string:
      (void)value_of(value.get_string());
      return;
    case json::json_type::boolean:
      (void)value_of(value.get_bool());
      return;
    case json::json_type::null:
      (void)value_of(value.is_null());
      return;
    default:
      break;
  }
  if (depth == deepest) refuse_json(str("the record nests deeper than ", deepest, " levels"));
  if (value_of(value.type()) == json::json_type::array) {
    for (auto element : value_of(value.get_array())) skip(value_of(std::move(element)), depth + 1);
    return;
  }
  for (auto field : value_of(value.get_object())) {
    json::field its = value_of(std::move(field));
    (void)value_of(its.unescaped_key());
    skip(its.value(), depth + 1);
  }
}

/// Whether a number is whole and has more digits than a double is exact for.
bool is_long_whole(std::string_view token) {
  if (token.size() <= most_exact_digits) return false;
  return std::all_of(token.begin() + (token.front() == '-'), token.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class JsonReader : public RecordReader {
 public:
  JsonReader(std::vector<std::string> columns, std::vector<bool> has_texts)
      : columns_(std::move(columns)), has_texts_(std::move(has_texts)), fields_(columns_.size()), read_in_(columns_.size()), flat_(has_texts_) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      numbers_.emplace(columns_[c], c);
      flat_.add_name(columns_[c], c);
    }
    flat_.end_names();
  }

  std::span<const data::Field> read(std::string_view record) override {
    ++record_;
    if (text_.size() < record.size() + simdjson::SIMDJSON_PADDING) text_.resize(record.size() + simdjson::SIMDJSON_PADDING);
    std::memcpy(text_.data(), record.data(), record.size());
    std::memset(text_.data() + record.size(), 0, simdjson::SIMDJSON_PADDING);
    if (flat_.read(text_.data(), text_.data() + record.size(), fields_)) return fields_;
    json::document document;
    if (const auto error = parser_.iterate(text_.data(), record.size(), text_.size()).get(document))
      refuse_json(str("the record is no JSON: ", simdjson::error_message(error)));
    switch (value_of(document.type())) {
      case json::json_type::object:
        read_object(value_of(document.get_object()));
        break;
      case json::json_type::array:
        read_array(value_of(document.get_array()));
        break;
      default:
        refuse_json("a record is an object by the names of the columns, or an array in their order");
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) refuse_json("there is something behind the end of the record");
    return fields_;
  }

 private:
  void read_object(json::object object) {
    std::fill(fields_.begin(), fields_.end(), data::Field(std::string_view()));
    const bool is_learnt = std::has_single_bit(objects_ + 1);  // now and then: if all differ, there is nothing to learn
    if (is_learnt) flat_.begin_names();
    for (auto member : object) {
      json::field field = value_of(std::move(member));
      const std::string_view name = value_of(field.unescaped_key());
      const auto found = numbers_.find(name);
      const std::size_t column = found == numbers_.end() ? FlatRecord::no_column : found->second;
      if (column != FlatRecord::no_column && std::exchange(read_in_[column], record_) == record_)
        refuse_json(str("the record has '", columns_[column], "' twice"));
      if (is_learnt) flat_.add_name(name, column);
      if (column == FlatRecord::no_column) skip(field.value(), 1);
      else read_value(column, field.value());
    }
    ++objects_;
    if (is_learnt) flat_.end_names();
  }

  void read_array(json::array array) {
    std::size_t count = 0;
    for (auto element : array) {
      json::value value = value_of(std::move(element));
      if (count < columns_.size()) read_value(count, value);
      else skip(value, 1);
      ++count;
    }
    if (count != columns_.size())
      refuse_json(str("the record has ", counted(count, "value"), ", but there are ", counted(columns_.size(), "column")));
  }

  void read_value(std::size_t column, json::value value) {
    data::Field& field = fields_[column];
    switch (value_of(value.type())) {
      case json::json_type::number: {
        const std::string_view token = has_texts_[column] ? trimmed(value.raw_json_token()) : std::string_view();
        field = value_of(value.get_double());
        if (!token.empty() && is_long_whole(token)) field = token;
        return;
      }
      case json::json_type::string:
        field = value_of(value.get_string());
        return;
      case json::json_type::boolean: {
        const bool is_true = value_of(value.get_bool());
        if (has_texts_[column]) field = std::string_view(is_true ? "true" : "false");
        else field = is_true ? 1.0 : 0.0;
        return;
      }
      case json::json_type::null:
        (void)value_of(value.is_null());
        field = std::string_view();
        return;
      default:
        refuse_json(str("'", columns_[column], "' holds an array or an object; fields are numbers, texts, true, false or null"));
    }
  }

  static std::string_view trimmed(std::string_view token) { return token.substr(0, token.find_last_not_of(" \t\r\n") + 1); }

  std::vector<std::string> columns_;
  std::unordered_map<std::string_view, std::size_t> numbers_;  ///< of columns, by their names
  std::vector<bool> has_texts_;                                ///< by column
  std::vector<data::Field> fields_;
  std::vector<std::uint64_t> read_in_;  ///< the last record that had this column
  std::uint64_t record_ = 0;
  std::vector<char> text_;  ///< the record, with as many bytes behind it as simdjson may read
  FlatRecord flat_;
  std::uint64_t objects_ = 0;  ///< that the parser has read, and it was right
  json::parser parser_;
};

}  // namespace

std::unique_ptr<RecordReader> json_reader(std::vector<std::string> columns, std::vector<bool> has_texts) {
  return std::make_unique<JsonReader>(std::move(columns), std::move(has_texts));
}

}  // namespace sinter::serve
