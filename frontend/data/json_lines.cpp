#include "frontend/data/json_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "frontend/data/byte_stream.h"
#include "ir/error.h"
#include "ir/printable.h"

namespace sinter::data {

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;  // names and texts of an object

/// Takes the members of one object as its parser meets them, so that nothing nests.
class ObjectReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Fields fields;
  std::string fault;

  bool start_object(std::size_t) override { return depth_++ == 0 || refuse("an object"); }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return refuse("an array"); }
  bool end_array() override { return true; }
  bool key(string_t& name) override {
    name_ = std::move(name);
    return true;
  }
  bool null() override { return add(""); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return add(text); }
  bool string(string_t& text) override {
    if (text.find('\0') == text.npos) return add(std::move(text));
    fault = str("'", printable(name_), "' has the character 0, which no text has");
    return false;
  }
  bool binary(binary_t&) override { return refuse("binary"); }
  bool parse_error(std::size_t place, const std::string&, const nlohmann::json::exception&) override {
    fault = str("is no JSON object at byte ", place);
    return false;
  }

 private:
  bool add(std::string text) {
    if (depth_ == 0) {
      fault = "is no JSON object";
      return false;
    }
    fields.emplace_back(std::move(name_), std::move(text));
    return true;
  }
  bool refuse(const char* what) {
    fault = depth_ ? str("'", printable(name_), "' is ", what, "; values are texts, numbers, true, false or null") : std::string("is no JSON object");
    return false;
  }

  std::string name_;
  int depth_ = 0;
};

/// The lines of a file, without their ends.
template <class F>
void for_each_line(const std::filesystem::path& path, const F& f) {
  ByteStream bytes(path);
  std::string rest;
  std::vector<std::byte> block(1 << 16);
  for (std::size_t number = 1;;) {
    const std::size_t count = bytes.read(block);
    rest.append(reinterpret_cast<const char*>(block.data()), count);
    std::size_t begin = 0;
    for (std::size_t end; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1)
      f(number++, std::string_view(rest).substr(begin, end - begin));
    rest.erase(0, begin);
    if (count < block.size()) {
      if (!rest.empty()) f(number, std::string_view(rest));
      return;
    }
  }
}

}  // namespace

Table read_json_lines(const std::filesystem::path& path) {
  const std::string where = path.string();
  std::vector<std::string> names;
  std::unordered_map<std::string, std::size_t> columns;
  struct Row {
    std::size_t line;
    std::vector<std::pair<std::size_t, std::string>> fields;  // by column
  };
  std::vector<Row> rows;
  for_each_line(path, [&](std::size_t number, std::string_view line) {
    constexpr std::string_view space = " \t\r", byte_order_mark = "\xef\xbb\xbf";
    if (number == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    if (line.find_first_not_of(space) == line.npos) return;
    ObjectReader reader;
    if (!nlohmann::json::sax_parse(line, &reader)) throw UserError(where, str("line ", number, ": ", reader.fault));
    Row row{number, {}};
    for (auto& [name, text] : reader.fields) {
      const auto [found, is_new] = columns.emplace(name, names.size());
      if (is_new) names.push_back(name);
      const std::size_t column = found->second;
      if (std::any_of(row.fields.begin(), row.fields.end(), [&](const auto& field) { return field.first == column; }))
        throw UserError(where, str("line ", number, ": has '", printable(name), "' twice"));
      row.fields.emplace_back(column, std::move(text));
    }
    rows.push_back(std::move(row));
  });
  if (names.empty()) throw UserError(where, "has no JSON objects with members");
  Table table(std::move(names));
  for (Row& row : rows) {
    std::sort(row.fields.begin(), row.fields.end());
    auto next = row.fields.begin();
    for (std::size_t column = 0; column < table.names.size(); ++column) {
      const bool is_given = next != row.fields.end() && next->first == column;
      table.add_field(is_given ? std::string_view(next->second) : std::string_view());
      if (is_given) ++next;
    }
    table.end_row(row.line);
  }
  return table;
}

}  // namespace sinter::data
