#include "frontend/data/npy_header.h"

#include <charconv>
#include <set>

#include "ir/error.h"

namespace sinter::data {

namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader dictionary() {
    NpyHeader header;
    std::set<std::string> keys;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      if (!keys.insert(key).second) fail(str("'", key, "' is given twice"));
      expect(':');
      if (key == "descr") header.descr = quoted();
      else if (key == "fortran_order") header.fortran_order = truth();
      else if (key == "shape") header.shape = tuple();
      else fail(str("'", key, "' is unknown"));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (keys.size() != 3) fail("'descr', 'fortran_order' and 'shape' are needed");
    skip();
    if (at_ != text_.size()) fail("more text follows the dictionary");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    throw UserError(where_, str("the .npy header is damaged at its byte ", at_, ": ", rule, "; write the file with numpy.save, plain types only"));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(str("expected '", c, "'"));
  }
  std::string quoted() {
    const char quote = accept('\'') ? '\'' : accept('"') ? '"' : '\0';
    if (!quote) fail("expected a quoted text");
    const auto end = text_.find(quote, at_);
    if (end == text_.npos) fail("a quote is not closed");
    const std::string result(text_.substr(at_, end - at_));
    at_ = end + 1;
    return result;
  }
  bool truth() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail("expected True or False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc{} || value < 0) fail("expected an extent");
      at_ = static_cast<std::size_t>(end - text_.data());
      result.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& where) { return Parser(text, where).dictionary(); }

std::string npy_header_text(const NpyHeader& header) {
  std::string extents;
  for (const std::int64_t extent : header.shape) extents += str(extent, ", ");
  if (header.shape.size() > 1) extents.resize(extents.size() - 2);
  if (header.shape.size() == 1) extents.pop_back();
  return str("{'descr': '", header.descr, "', 'fortran_order': ", header.fortran_order ? "True" : "False", ", 'shape': (", extents, "), }");
}

}  // namespace sinter::data
