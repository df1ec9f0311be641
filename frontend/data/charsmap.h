// Rules of normalization, as SentencePiece compiles them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

/// Rules that replace the beginning of a text: the `precompiled_charsmap` of a model. It is a trie in a double array (Aoe 1989, laid out as by
/// Darts-clone): 4 bytes, the size of the array; the array; then the replacements, with a 0 behind each.
class Charsmap {
 public:
  /// Of no rules.
  Charsmap() = default;
  /// Throws UserError `[where] …` for bytes that are no such map: every step and every value is checked.
  Charsmap(std::string_view bytes, const std::string& where);

  bool empty() const { return units_.empty(); }

  struct Match {
    std::size_t length = 0;  ///< bytes that are replaced; 0 if no rule holds
    std::string_view replacement;
  };
  /// The longest rule for the beginning of a text.
  Match longest(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace sinter::data
