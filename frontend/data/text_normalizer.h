// The normalization of texts before SentencePiece divides them.
#pragma once

#include <string>
#include <string_view>

#include "frontend/data/charsmap.h"
#include "frontend/data/prefix_tree.h"

namespace sinter::data {

/// U+2581, which stands for a space in pieces.
inline constexpr std::string_view space_symbol = "\u2581";

/// Options as a model of SentencePiece has them, with its defaults.
struct TextNormalization {
  Charsmap rules;
  bool add_dummy_prefix = true;             ///< a space before the text
  bool treat_whitespace_as_suffix = false;  ///< behind it, rather
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;  ///< spaces become space_symbol
};

class TextNormalizer {
 public:
  /// `kept`: texts that no rule changes.
  TextNormalizer(TextNormalization options, PrefixTree kept);

  const TextNormalization& options() const { return options_; }
  const PrefixTree& kept() const { return kept_; }
  std::string normalize(std::string_view text) const;

 private:
  Charsmap::Match first(std::string_view text) const;

  TextNormalization options_;
  PrefixTree kept_;
};

}  // namespace sinter::data
