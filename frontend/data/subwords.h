// Texts in pieces, as SentencePiece divides them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/prefix_tree.h"
#include "frontend/data/sentencepiece_model.h"
#include "frontend/data/text_normalizer.h"

namespace sinter::data {

/// A model of SentencePiece (Kudo and Richardson 2018), with the results of version 0.2.3. Its pieces are counted from 0 in the order of their ids,
/// without the unknown one.
class Subwords {
 public:
  static constexpr std::int32_t unknown = PrefixTree::none;

  /// Of the bytes of a .model file. Throws UserError `[where] …` as parse_sentencepiece_model does.
  Subwords(std::string file, const std::string& where);

  const std::string& file() const { return file_; }
  std::vector<std::string> texts() const;  ///< of the pieces
  /// Throws UserError for a text that is not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::string decode(std::span<const std::int32_t> pieces) const;

 private:
  using Type = SentencePieceModel::Type;
  /// A part of a normalized text, and the piece that it is.
  struct Segment {
    std::string_view text;
    std::int32_t piece = unknown;
  };
  using Segments = std::vector<Segment>;

  const SentencePieceModel::Piece& piece(std::int32_t number) const { return model_.pieces[static_cast<std::size_t>(number)]; }
  /// The piece with this text; unknown for one that is unused.
  std::int32_t used(std::string_view text) const;
  /// What a text begins with: a user-defined piece, or else a character.
  std::string_view first_symbol(std::string_view text) const;
  Segments segment(std::string_view text) const;
  Segments segment_unigram(std::string_view text) const;
  Segments segment_bpe(std::string_view text) const;
  Segments segment_words(std::string_view text) const;
  Segments segment_characters(std::string_view text) const;

  std::string file_;
  SentencePieceModel model_;         ///< without the unknown piece
  std::vector<std::int32_t> bytes_;  ///< with byte_fallback, the piece of each byte
  float unknown_score_;              ///< of a character in a Unigram model
  PrefixTree pieces_;                ///< those that texts may have: normal, user-defined and unused
  TextNormalizer normalizer_;        ///< which keeps the user-defined ones
  std::optional<TextNormalizer> denormalizer_;
};

}  // namespace sinter::data
