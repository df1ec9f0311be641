// Walks the top level of a Protobuf message field by field, so that a reader can refuse one before anything is allocated for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// Reads a message whose fields are all length-delimited and in ascending order. Throws UserError naming `where` and the byte.
class FieldReader {
 public:
  FieldReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  /// Takes the next field; false at the end.
  bool next();
  std::uint32_t field() const { return field_; }
  std::string_view payload() const { return payload_; }
  /// The payload as packed 32-bit numbers, at most `most` of them.
  std::vector<std::uint32_t> numbers(std::size_t most) const;
  [[noreturn]] void fail(std::string_view message) const;

 private:
  std::string_view bytes_;
  std::string where_;
  std::size_t at_ = 0;
  std::uint32_t field_ = 0;
  std::string_view payload_;
};

}  // namespace sinter::runtime
