#include "frontend/core/name.h"

#include <iomanip>

#include "ir/error.h"
#include "ir/utf8.h"

namespace sinter {

namespace {

constexpr std::size_t longest = 60000;  // a member of a zip archive has 65535 bytes for its name and extension

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

/// The start of a name with its control characters and broken bytes as \x7f.
std::string printable_start(std::string_view name) {
  constexpr std::size_t shown = 40;
  TextStream out;
  for (std::string_view rest = name.substr(0, shown); !rest.empty();) {
    const Character next = first_character(rest);
    const std::size_t bytes = next.bytes ? next.bytes : 1;
    for (const char c : rest.substr(0, bytes))
      if (next.bytes && !is_control(next.code)) out << c;
      else out << "\\x" << std::hex << std::setw(2) << std::setfill('0') << static_cast<int>(static_cast<unsigned char>(c)) << std::dec;
    rest.remove_prefix(bytes);
  }
  if (name.size() > shown) out << "...";
  return out.str();
}

}  // namespace

void require_name(std::string_view where, std::string_view name) {
  if (name.empty()) throw UserError(where, "a name must not be empty; give one");
  if (name.size() > longest)
    throw UserError(where, str("a name must have at most ", longest, " bytes, got ", name.size(), ": '", printable_start(name), "'"));
  for (std::string_view rest = name; !rest.empty();) {
    const Character next = first_character(rest);
    if (!next.bytes || is_control(next.code))
      throw UserError(where, str("a name must be UTF-8 without control characters, got '", printable_start(name), "'; choose another"));
    rest.remove_prefix(next.bytes);
  }
}

void require_name_in_path(std::string_view where, std::string_view name) {
  require_name(where, name);
  if (name.find_first_of("./") != name.npos)
    throw UserError(where, str("the name '", printable_start(name), "' must not contain '.' or '/', which separate the parts of a path; use '_'"));
}

}  // namespace sinter
