#include "frontend/data/subwords.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "frontend/data/encoding.h"
#include "ir/utf8.h"

namespace sinter::data {

namespace {

using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::Type;

SentencePieceModel without_unknown(SentencePieceModel model) {
  std::erase_if(model.pieces, [](const Piece& piece) { return piece.type == PieceType::unknown; });
  return model;
}

PrefixTree tree_of(const std::vector<Piece>& pieces, std::initializer_list<PieceType> types) {
  std::vector<std::pair<std::string_view, std::int32_t>> texts;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (std::find(types.begin(), types.end(), pieces[i].type) != types.end()) texts.emplace_back(pieces[i].text, static_cast<std::int32_t>(i));
  return PrefixTree(std::move(texts));
}

std::vector<std::int32_t> pieces_of_bytes(const std::vector<Piece>& pieces) {
  std::vector<std::int32_t> result(256);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].type == PieceType::byte) result[static_cast<std::size_t>(byte_of_piece(pieces[i].text))] = static_cast<std::int32_t>(i);
  return result;
}

float score_of_unknown(const std::vector<Piece>& pieces) {
  float least = std::numeric_limits<float>::max();
  for (const Piece& piece : pieces)
    if (piece.type == PieceType::normal) least = std::min(least, piece.score);
  return least - 10;
}

/// The characters of these bytes, U+FFFD for each byte that is no part of one.
void append_characters(std::string& text, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t count = first_character(bytes).bytes;
    text += count ? bytes.substr(0, count) : "\ufffd";
    bytes.remove_prefix(std::max<std::size_t>(1, count));
  }
}

void append_with_spaces(std::string& text, std::string_view piece) {
  for (std::size_t at; (at = piece.find(space_symbol)) != piece.npos; piece.remove_prefix(at + space_symbol.size()))
    text.append(piece.substr(0, at)) += ' ';
  text += piece;
}

}  // namespace

Subwords::Subwords(std::string file, const std::string& where)
    : file_(std::move(file)),
      model_(without_unknown(parse_sentencepiece_model(file_, where))),
      bytes_(pieces_of_bytes(model_.pieces)),
      unknown_score_(score_of_unknown(model_.pieces)),
      pieces_(tree_of(model_.pieces, {PieceType::normal, PieceType::user_defined, PieceType::unused})),
      normalizer_(std::move(model_.normalization), tree_of(model_.pieces, {PieceType::user_defined})) {
  if (!model_.denormalization.rules.empty()) denormalizer_.emplace(std::move(model_.denormalization), PrefixTree());
}

std::vector<std::string> Subwords::texts() const {
  std::vector<std::string> result;
  for (const Piece& piece : model_.pieces) result.push_back(piece.text);
  return result;
}

std::vector<std::int32_t> Subwords::encode(std::string_view text) const {
  require_utf8(text, "subwords");
  const std::string normalized = normalizer_.normalize(text);
  std::vector<std::int32_t> pieces;
  bool after_unknown = false;
  for (const auto& [part, piece] : segment(normalized)) {
    const bool is_unknown = piece == unknown;
    if (is_unknown && model_.byte_fallback)
      for (const char c : part) pieces.push_back(bytes_[static_cast<unsigned char>(c)]);
    else if (!is_unknown || !after_unknown) pieces.push_back(piece);
    after_unknown = is_unknown;
  }
  return pieces;
}

std::string Subwords::decode(std::span<const std::int32_t> pieces) const {
  const TextNormalization& options = normalizer_.options();
  std::string text, bytes;
  bool begins = options.add_dummy_prefix || options.remove_extra_whitespaces;  // a space that normalization added or removed
  for (const std::int32_t number : pieces) {
    if (number != unknown && piece(number).type == PieceType::byte) {
      bytes += static_cast<char>(byte_of_piece(piece(number).text));
      continue;
    }
    append_characters(text, std::exchange(bytes, {}));
    begins = begins && text.empty();
    if (number == unknown) text += model_.unknown_surface;
    if (number == unknown || piece(number).type == PieceType::control) continue;
    std::string_view part = piece(number).text;
    if (begins && part.starts_with(space_symbol)) {
      part.remove_prefix(space_symbol.size());
      begins = options.remove_extra_whitespaces;
    }
    append_with_spaces(text, part);
  }
  append_characters(text, bytes);
  return denormalizer_ ? denormalizer_->normalize(text) : text;
}

std::int32_t Subwords::used(std::string_view text) const {
  const std::int32_t number = pieces_.number(text);
  return number == unknown || piece(number).type == PieceType::unused ? unknown : number;
}

std::string_view Subwords::first_symbol(std::string_view text) const {
  const std::size_t kept = normalizer_.kept().longest_prefix(text);
  return text.substr(0, kept ? kept : first_character(text).bytes);
}

Subwords::Segments Subwords::segment(std::string_view text) const {
  switch (model_.kind) {
    case SentencePieceModel::Kind::unigram:
      return segment_unigram(text);
    case SentencePieceModel::Kind::bpe:
      return segment_bpe(text);
    case SentencePieceModel::Kind::word:
      return segment_words(text);
    case SentencePieceModel::Kind::character:
      return segment_characters(text);
  }
  return {};
}

Subwords::Segments Subwords::segment_words(std::string_view text) const {
  Segments segments;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(space_symbol, 1));
    segments.push_back({word, used(word)});
    text.remove_prefix(word.size());
  }
  return segments;
}

Subwords::Segments Subwords::segment_characters(std::string_view text) const {
  Segments segments;
  while (!text.empty()) {
    const std::string_view symbol = first_symbol(text);
    segments.push_back({symbol, used(symbol)});
    text.remove_prefix(symbol.size());
  }
  return segments;
}

}  // namespace sinter::data
