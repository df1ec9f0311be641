// Walks the top level of a Protobuf message field by field, so that a reader can refuse one before allocating anything for it.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// How deep messages may nest below the records that FieldReader reads: a node, its attribute.
inline constexpr int max_depth = 2;

/// Reads a message whose fields are all length-delimited and in ascending order. Throws UserError naming `where` and the byte.
class FieldReader {
 public:
  /// Bytes are counted from `start`: the message's offset in its file.
  FieldReader(std::string_view bytes, std::string where, std::uint64_t start = 0) : bytes_(bytes), where_(std::move(where)), start_(start) {}

  /// Takes the next field; false at the end.
  bool next();
  std::uint32_t field() const { return field_; }
  std::string_view payload() const { return payload_; }
  /// The byte that the present field begins at.
  std::uint64_t at() const { return start_ + field_at_; }
  /// The payload as a message: of at most `most` bytes, well-formed, max_depth deep and without unknown fields. `part` stands for it in errors.
  void parse(google::protobuf::Message& into, std::string_view part, std::size_t most) const;
  /// The payload as packed 32-bit numbers, at most `most` of them.
  std::vector<std::uint32_t> numbers(std::size_t most) const;
  [[noreturn]] void fail(std::string_view message) const;

 private:
  std::string_view bytes_;
  std::string where_;
  std::uint64_t start_;
  std::size_t at_ = 0, field_at_ = 0;
  std::uint32_t field_ = 0;
  std::string_view payload_;
};

}  // namespace sinter::runtime
