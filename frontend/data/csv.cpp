#include "frontend/data/csv.h"

#include <csv.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "frontend/core/counted.h"
#include "frontend/data/encoding.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

void check_delimiter(const std::string& where, char delimiter) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
    throw UserError(where, "the delimiter must not be a quote or an end of line");
}

bool is_utf8(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name == "utf-8" || name == "utf8";
}

/// Makes a table of the bytes of a file.
class Reader {
 public:
  Reader(std::string where, const CsvOptions& options)
      : where_(std::move(where)),
        encoding_(options.encoding),
        header_(options.header && options.names.empty()),
        quotes_(options.quotes),
        names_(options.names) {
    check_delimiter(where_, options.delimiter);
    if (!is_utf8(options.encoding)) decoder_.emplace(where_, options.encoding);
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw InternalError("csv", "the parser cannot be made");
    csv_set_delim(&parser_, static_cast<unsigned char>(options.delimiter));
    if (!quotes_) csv_set_quote(&parser_, '\0');  // which no text has
  }
  ~Reader() { csv_free(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Table& table() { return table_; }

  void take(std::span<const std::byte> bytes) {
    if (!decoder_) return take_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    std::string text;
    const bool valid = decoder_->decode(bytes, text);
    take_text(text);
    if (!valid) fail_to_decode();
  }

  Table finish() {
    if (decoder_ && !decoder_->complete()) fail_to_decode();
    if (csv_fini(&parser_, field, end_of_row, this) != 0) fail_to_parse();
    if (failure_) std::rethrow_exception(failure_);
    if (table_.rows() == 0) throw UserError(where_, header_ ? "has no rows after its header" : "has no rows");
    std::vector<std::string_view> names(table_.names.begin(), table_.names.end());
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      throw UserError(where_, str("two columns are called '", *twice, "'; does the file have a header?"));
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail_to_parse() {
    throw UserError(where_, str("line ", line_, ": a row cannot be read (", csv_strerror(csv_error(&parser_)),
                                "); is a quote missing? If quotes are characters like others, say that there are none, as in --quotes none"));
  }
  [[noreturn]] void fail_to_decode() {
    throw UserError(where_,
                    str("line ", line_, ", column ", fields_ + 1, ": the bytes are not of the encoding '", encoding_, "'; give that of the file"));
  }

  void take_text(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (!begun_ && text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    begun_ = begun_ || !text.empty();
    while (!text.empty()) {  // line by line, so that the parser's callbacks know the line
      const std::size_t end = std::min(text.find_first_of("\r\n"), text.size() - 1);
      const std::string_view part = text.substr(0, end + 1);
      if (!quotes_ && part.find('\0') != part.npos) throw UserError(where_, str("line ", line_, ": has byte 0x00, which no text has"));
      if (csv_parse(&parser_, part.data(), part.size(), field, end_of_row, this) != part.size()) fail_to_parse();
      if (failure_) std::rethrow_exception(failure_);
      const char last = part.back();
      const bool second_of_two = last == '\n' && part.size() == 1 && last_ == '\r';
      line_ += (last == '\n' || last == '\r') && !second_of_two;
      last_ = last;
      text.remove_prefix(part.size());
    }
  }

  // ---- called by the parser, which is C: errors wait until it has returned ----
  template <class F>
  static void guarded(void* reader, F&& f) {
    auto& self = *static_cast<Reader*>(reader);
    if (self.failure_) return;
    try {
      f(self);
    } catch (...) {
      self.failure_ = std::current_exception();
    }
  }
  static void field(void* text, std::size_t length, void* reader) {
    guarded(reader, [&](Reader& self) { self.add_field({static_cast<const char*>(text), length}); });
  }
  static void end_of_row(int, void* reader) {
    guarded(reader, [](Reader& self) { self.end_row(); });
  }

  void add_field(std::string_view text) {
    if (fields_++ == 0) row_line_ = line_ - static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    require_text(text);
    if (!reads_names()) return table_.add_field(text);
    if (text.empty()) table_.unnamed.push_back(numbered(fields_));
    table_.names.emplace_back(text.empty() ? numbered(fields_) : text);
  }

  void require_text(std::string_view text) const {
    const std::size_t wrong = std::min(first_not_utf8(text), text.find('\0'));
    if (wrong == std::string_view::npos) return;
    std::array<char, 2> digits{'0', '0'};
    const auto byte = static_cast<unsigned char>(text[wrong]);
    std::to_chars(digits.data() + (byte < 16), digits.data() + digits.size(), byte, 16);
    const std::string name = !reads_names() && fields_ <= table_.names.size() ? str(" (", table_.names[fields_ - 1], ")") : "";
    throw UserError(where_, str("line ", row_line_, ", column ", fields_, name, ": byte 0x", std::string_view(digits.data(), 2), " after '",
                                text.substr(0, wrong).substr(0, 40), "' is not UTF-8; name the encoding of the file, as in --encoding latin1"));
  }

  void end_row() {
    const std::size_t count = std::exchange(fields_, 0);
    const bool names = reads_names();
    ++number_;
    if (names) return;
    if (number_ == 1) {
      if (!names_.empty() && names_.size() != count)
        throw UserError(where_,
                        str("line ", row_line_, ": the first row has ", counted(count, "field"), ", but there are ", names_.size(), " names"));
      for (std::size_t i = 0; i < count; ++i) table_.names.push_back(names_.empty() ? numbered(i + 1) : names_[i]);
    }
    if (count != table_.names.size())
      throw UserError(where_, str("line ", row_line_, ": row ", number_, " has ", counted(count, "field"), ", but the first has ",
                                  table_.names.size(), "; is a delimiter missing, or a quote?"));
    table_.end_row(row_line_);
  }

  static std::string numbered(std::size_t column) { return str("column_", column); }
  bool reads_names() const { return header_ && number_ == 0; }

  std::string where_, encoding_;
  bool header_, quotes_, begun_ = false;
  std::vector<std::string> names_;  ///< given, in place of a header
  std::optional<Decoder> decoder_;
  csv_parser parser_;
  Table table_;
  std::size_t number_ = 0, fields_ = 0;  ///< complete rows; fields of the current row
  std::size_t line_ = 1, row_line_ = 1;  ///< the current line; the line in which the row began
  char last_ = '\0';
  std::exception_ptr failure_;
};

}  // namespace

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const runtime::InputFile file(path);
  Reader reader(path.string(), options);
  reader.table().reserve_text(file.size());
  std::array<std::byte, 1 << 16> block;
  for (std::uint64_t at = 0; at < file.size();) {
    const std::span<std::byte> part = std::span(block).first(std::min<std::uint64_t>(block.size(), file.size() - at));
    file.read(at, part);
    reader.take(part);
    at += part.size();
  }
  return reader.finish();
}

std::string csv_text(const Table& table, char delimiter) {
  check_delimiter("csv", delimiter);
  const std::string special = std::string("\"\r\n") + delimiter;
  std::string text;
  const auto add = [&](std::string_view value, std::size_t column) {
    const bool quoted = value.find_first_of(special) != std::string_view::npos || (!value.empty() && (value.front() == ' ' || value.back() == ' '));
    if (quoted) {
      std::string packed(2 * value.size() + 2, '\0');
      packed.resize(csv_write(packed.data(), packed.size(), value.data(), value.size()));
      text += packed;
    } else {
      text += value;
    }
    text += column + 1 == table.names.size() ? '\n' : delimiter;
  };
  for (std::size_t c = 0; c < table.names.size(); ++c) add(table.names[c], c);
  for (std::size_t r = 0; r < table.rows(); ++r)
    for (std::size_t c = 0; c < table.names.size(); ++c) add(table.field(r, c), c);
  return text;
}

void write_csv(const std::filesystem::path& path, const Table& table, char delimiter) { runtime::write_file(path, csv_text(table, delimiter)); }

}  // namespace sinter::data
