// Text encodings: checks UTF-8, and converts others to it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sinter::data {

/// The index of the first byte that is not valid UTF-8; npos if there is none.
std::size_t first_not_utf8(std::string_view text);
/// Throws UserError `[where] …` that names it.
void require_utf8(std::string_view text, std::string_view where);

/// Converts text to UTF-8 piece by piece, with iconv of the C library.
class Decoder {
 public:
  /// Throws UserError `[where] …` for an encoding that iconv does not know.
  Decoder(std::string where, std::string encoding);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Appends the text of the bytes that follow; a character may begin in one piece and end in the next. False at bytes invalid in the encoding,
  /// after appending the text before them.
  bool decode(std::span<const std::byte> bytes, std::string& text);
  /// Whether the last character is whole.
  bool complete() const { return rest_.empty(); }

 private:
  void* conversion_;
  std::string rest_;  ///< the beginning of a character
};

}  // namespace sinter::data
