// Models of SentencePiece: .model files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/text_normalizer.h"

namespace sinter::data {

/// What a .model file says about making pieces of texts (sentencepiece_model.proto; numbers and defaults are those of the format).
struct SentencePieceModel {
  enum class Kind : std::uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum class Type : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };

  Kind kind = Kind::unigram;
  std::vector<Piece> pieces;  ///< by id
  bool byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  ///< what the unknown piece becomes in a text
  TextNormalization normalization, denormalization;
};

/// Reads the bytes of a .model file. Throws UserError `[where] …` for what is none, for a damaged one, and for one that breaks a rule: pieces are
/// UTF-8, differ and have finite scores, one is the unknown piece (with byte_fallback, at most one), and with byte_fallback, alone, each byte has
/// one; the rules of normalization are a Charsmap.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& where);

/// The byte that a piece of type byte stands for, as <0x0A>; -1 for another text.
int byte_of_piece(std::string_view piece);

}  // namespace sinter::data
