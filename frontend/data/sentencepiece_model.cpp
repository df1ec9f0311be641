#include "frontend/data/sentencepiece_model.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <unordered_set>

#include "frontend/data/encoding.h"
#include "ir/error.h"
#include "ir/printable.h"

namespace sinter::data {

namespace {

using Model = SentencePieceModel;

constexpr std::size_t longest_piece = 7999;  // bytes, as in the library

[[noreturn]] void fail_model(const std::string& where, const std::string& rule) {
  throw UserError(where, str("no SentencePiece model, or a damaged one: ", rule, "; give the .model file that spm_train wrote"));
}

/// The fields of a message in Protobuf's wire format, one after the other.
class ProtobufFields {
 public:
  ProtobufFields(std::string_view message, const std::string& where) : rest_(message), where_(where) {}

  /// Goes to the next field; false behind the last.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = take_varint();
    number_ = tag >> 3;
    type_ = tag & 7;
    if (type_ == varint_type) value_ = take_varint();
    else if (type_ == bytes_type) bytes_ = take(take_varint());
    else if (type_ == fixed64_type) take(8);
    else if (type_ == fixed32_type) bytes_ = take(4);
    else fail_model(where_, str("a field has the type ", type_, " of Protobuf"));
    return true;
  }
  std::uint64_t number() const { return number_; }

  /// The value of the field, which must be of this type.
  std::uint64_t integer() const {
    require(varint_type);
    return value_;
  }
  bool boolean() const { return integer() != 0; }
  std::string_view bytes() const {
    require(bytes_type);
    return bytes_;
  }
  float number_f32() const {
    require(fixed32_type);
    std::uint32_t bits = 0;
    for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<unsigned char>(bytes_[static_cast<std::size_t>(i)]);
    return std::bit_cast<float>(bits);
  }
  Charsmap charsmap() const { return bytes().empty() ? Charsmap() : Charsmap(bytes(), where_); }
  ProtobufFields message() const { return ProtobufFields(bytes(), where_); }
  /// One of an enumeration's values from 1 to `last`.
  template <class Enum>
  Enum one_of(Enum last, const char* what) const {
    const std::uint64_t value = integer();
    if (value < 1 || value > static_cast<std::uint64_t>(last)) fail_model(where_, str(what, " is ", value, ", which is not known"));
    return static_cast<Enum>(value);
  }

 private:
  static constexpr std::uint64_t varint_type = 0, fixed64_type = 1, bytes_type = 2, fixed32_type = 5;

  std::uint64_t take_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail_model(where_, "a number has more than 64 bits");
  }
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) fail_model(where_, str("a field of ", count, " bytes is cut off after ", rest_.size()));
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  void require(std::uint64_t type) const {
    if (type_ != type) fail_model(where_, str("field ", number_, " has the type ", type_, " of Protobuf, not ", type));
  }

  std::string_view rest_;
  const std::string& where_;
  std::uint64_t number_ = 0, type_ = 0, value_ = 0;
  std::string_view bytes_;
};

Model::Piece read_piece(ProtobufFields fields) {
  Model::Piece piece;
  while (fields.next()) {
    if (fields.number() == 1) piece.text = fields.bytes();
    else if (fields.number() == 2) piece.score = fields.number_f32();
    else if (fields.number() == 3) piece.type = fields.one_of(Model::Type::byte, "the type of a piece");
  }
  return piece;
}

void read_trainer(ProtobufFields fields, Model& model) {
  while (fields.next()) {
    if (fields.number() == 3) model.kind = fields.one_of(Model::Kind::character, "its kind");
    else if (fields.number() == 24) model.normalization.treat_whitespace_as_suffix = fields.boolean();
    else if (fields.number() == 35) model.byte_fallback = fields.boolean();
    else if (fields.number() == 44) model.unknown_surface = fields.bytes();
  }
}

void read_normalization(ProtobufFields fields, TextNormalization& normalization) {
  while (fields.next()) {
    if (fields.number() == 2) normalization.rules = fields.charsmap();
    else if (fields.number() == 3) normalization.add_dummy_prefix = fields.boolean();
    else if (fields.number() == 4) normalization.remove_extra_whitespaces = fields.boolean();
    else if (fields.number() == 5) normalization.escape_whitespaces = fields.boolean();
  }
}

void check_pieces(const Model& model, const std::string& where) {
  std::unordered_set<std::string_view> texts;
  std::bitset<256> bytes;
  std::size_t unknown = 0;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, score, type] = model.pieces[id];
    if (text.empty() || text.size() > longest_piece)
      fail_model(where, str("piece ", id, " has ", text.size(), " bytes, which must be from 1 to ", longest_piece));
    if (const std::size_t wrong = first_not_utf8(text); wrong != text.npos) fail_model(where, str("piece ", id, " is not UTF-8 at byte ", wrong));
    if (!texts.insert(text).second) fail_model(where, str("the piece '", printable(text), "' is there twice"));
    if (!std::isfinite(score)) fail_model(where, str("the score of the piece '", printable(text), "' is ", score));
    if (type == Model::Type::unknown) ++unknown;
    if (type != Model::Type::byte) continue;
    const int byte = byte_of_piece(text);
    if (byte < 0) fail_model(where, str("the piece '", printable(text), "' is of a byte, but is not written as one, as <0x0A>"));
    bytes.set(static_cast<std::size_t>(byte));
  }
  if (model.pieces.size() <= unknown) fail_model(where, "it has no pieces");
  if (unknown > 1 || (unknown == 0 && !model.byte_fallback)) fail_model(where, str("it has ", unknown, " pieces of the type unknown, not one"));
  if (bytes.count() != (model.byte_fallback ? 256u : 0u))
    fail_model(where, str("it has pieces for ", bytes.count(), " of 256 bytes, ", model.byte_fallback ? "with" : "without", " byte_fallback"));
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& where) {
  Model model;
  bool has_trainer = false, has_normalization = false;
  for (ProtobufFields fields(bytes, where); fields.next();) {
    if (fields.number() == 1) {
      model.pieces.push_back(read_piece(fields.message()));
    } else if (fields.number() == 2) {
      has_trainer = true;
      read_trainer(fields.message(), model);
    } else if (fields.number() == 3) {
      has_normalization = true;
      read_normalization(fields.message(), model.normalization);
    } else if (fields.number() == 5) {
      read_normalization(fields.message(), model.denormalization);
    }
  }
  check_pieces(model, where);
  if (!has_trainer || !has_normalization) fail_model(where, "it ends before its options");  // which spm_train writes behind the pieces
  if (first_not_utf8(model.unknown_surface) != std::string::npos) fail_model(where, "the surface of the unknown piece is not UTF-8");
  return model;
}

int byte_of_piece(std::string_view piece) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return -1;
  const std::size_t high = digits.find(piece[3]), low = digits.find(piece[4]);
  return high == digits.npos || low == digits.npos ? -1 : static_cast<int>(16 * high + low);
}

}  // namespace sinter::data
