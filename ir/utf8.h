// Characters of a UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

namespace sinter {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< that it takes; 0 if the text does not begin with a character
};

/// The first character of a text (Unicode 15, table 3-7: neither overlong forms nor surrogates, nothing above U+10FFFF). None in an empty text.
Character first_character(std::string_view text);

}  // namespace sinter
