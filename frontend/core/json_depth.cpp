#include "frontend/core/json_depth.h"

#include "ir/error.h"

namespace sinter {

void check_json_depth(std::string_view text, int deepest, std::string_view where) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > deepest)
      throw UserError(where, str("nests arrays and objects more than ", deepest, " deep (byte ", i, "); the text is damaged or of another kind"));
  }
}

}  // namespace sinter
