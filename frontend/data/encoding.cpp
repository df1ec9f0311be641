#include "frontend/data/encoding.h"

#include <iconv.h>

#include <array>
#include <cerrno>

#include "ir/error.h"
#include "ir/utf8.h"

namespace sinter::data {

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const bool ascii = static_cast<unsigned char>(text[at]) < 0x80;  // most are
    const std::size_t bytes = ascii ? 1 : first_character(text.substr(at)).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

void require_utf8(std::string_view text, std::string_view where) {
  if (const std::size_t wrong = first_not_utf8(text); wrong != text.npos)
    throw UserError(where, str("the text is not UTF-8 at byte ", wrong, "; convert it, or name its encoding when it is read"));
}

Decoder::Decoder(std::string where, std::string encoding) : conversion_(iconv_open("UTF-8", encoding.c_str())) {
  if (conversion_ == reinterpret_cast<iconv_t>(-1))
    throw UserError(where, str("the encoding '", encoding, "' is not known; give one that iconv -l lists, as utf-8, latin1, cp1252 or utf-16"));
}

Decoder::~Decoder() { iconv_close(conversion_); }

bool Decoder::decode(std::span<const std::byte> bytes, std::string& text) {
  rest_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  char* in = rest_.data();
  std::size_t left = rest_.size();
  bool valid = true;
  for (bool more = true; more;) {
    std::array<char, 4096> buffer;
    char* out = buffer.data();
    std::size_t room = buffer.size();
    const bool whole = iconv(conversion_, &in, &left, &out, &room) != static_cast<std::size_t>(-1);
    const int error = errno;
    text.append(buffer.data(), out);
    more = !whole && error == E2BIG;
    valid = whole || error != EILSEQ;
  }
  rest_.erase(0, rest_.size() - left);
  return valid;
}

}  // namespace sinter::data
