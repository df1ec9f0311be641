#include "frontend/data/charsmap.h"

#include "frontend/data/encoding.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

// The units of the double array. A node's children are in the block of 256 units that its offset leads to, each at its byte, with that as its label;
// the value of the text that ends at a node is in the unit without a byte.
constexpr std::size_t block = 256;
constexpr std::size_t longest_replacement = 1000;  // bytes: a text grows by no more than that for each of its own
std::uint32_t label(std::uint32_t unit) { return unit & (1u << 31 | 0xff); }
bool is_value(std::uint32_t unit) { return unit >> 31; }
bool has_value(std::uint32_t unit) { return unit >> 8 & 1; }
std::uint32_t value(std::uint32_t unit) { return unit & ~(1u << 31); }
std::uint32_t offset(std::uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

[[noreturn]] void fail_charsmap(const std::string& where, const std::string& rule) {
  throw UserError(where, str("the rules of normalization are damaged: ", rule, "; give the .model file that spm_train wrote"));
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t result = 0;
  for (std::size_t i = 4; i-- > 0;) result = result << 8 | static_cast<unsigned char>(bytes[i]);
  return result;
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& where) {
  const std::uint32_t size = bytes.size() < 4 ? 0 : little_endian(bytes);
  if (size == 0 || size % (4 * block) != 0 || size > bytes.size() - 4)
    fail_charsmap(where, str("a trie of ", size, " bytes is no part of ", bytes.size(), " in blocks of 1024"));
  for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(little_endian(bytes.substr(at, 4)));
  replacements_ = bytes.substr(4 + size);
  if (replacements_.empty() || replacements_.back() != '\0' || first_not_utf8(replacements_) != std::string::npos)
    fail_charsmap(where, "the replacements are not UTF-8, each with a 0 behind it");
  for (std::size_t begin = 0, end; begin < replacements_.size(); begin = end + 1) {
    end = replacements_.find('\0', begin);
    if (end - begin > longest_replacement) fail_charsmap(where, str("a replacement has ", end - begin, " bytes, more than ", longest_replacement));
  }
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const std::uint32_t unit = units_[i];
    if (i > 0 && is_value(unit)) {
      const std::uint32_t begin = value(unit);
      if (begin >= replacements_.size() || (begin > 0 && replacements_[begin - 1] != '\0'))
        fail_charsmap(where, str("no replacement begins at ", begin, " of ", replacements_.size()));
    } else {
      const std::size_t children = i ^ offset(unit);
      if (is_value(unit) || (children | (block - 1)) >= units_.size() || (has_value(unit) && !is_value(units_[children])))
        fail_charsmap(where, str("unit ", i, " of ", units_.size(), " leads to ", children, ", where nothing follows"));
    }
  }
}

Charsmap::Match Charsmap::longest(std::string_view text) const {
  if (units_.empty()) return {};
  Match match;
  std::size_t at = offset(units_[0]);
  for (std::size_t length = 1; length <= text.size(); ++length) {
    const auto byte = static_cast<unsigned char>(text[length - 1]);
    at ^= byte;
    const std::uint32_t unit = units_[at];
    if (label(unit) != byte) break;
    at ^= offset(unit);
    if (has_value(unit)) match = {length, replacements_.data() + value(units_[at])};
  }
  return match;
}

}  // namespace sinter::data
