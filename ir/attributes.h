// Attributes of ops: an op lists its members once in `fields`; printing, equality, hashing and files come from that.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "ir/body.h"
#include "ir/error.h"
#include "ir/type.h"

namespace sinter::ir {

/// What an attribute may be. Floats are widened to double, which is exact.
using Attribute = std::variant<bool, std::int64_t, double, DType, Dim, Shape, Body>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// A named member of an op.
template <class Op, class T>
struct Field {
  std::string_view name;
  T Op::* member;
};
template <class Op, class T>
constexpr Field<Op, T> field(std::string_view name, T Op::* member) {
  return {name, member};
}

template <class T>
Attribute to_attribute(const T& value) {
  if constexpr (std::is_same_v<T, float>) return static_cast<double>(value);
  else return value;
}

/// Throws UserError if the attribute has another type than the member.
template <class T>
T from_attribute(std::string_view op, std::string_view name, const Attribute& attribute) {
  using Stored = std::conditional_t<std::is_same_v<T, float>, double, T>;
  if (const auto* value = std::get_if<Stored>(&attribute)) return static_cast<T>(*value);
  throw UserError(op, str("attribute '", name, "' has the wrong type"));
}

template <class Op>
Attributes attributes_of(const Op& op) {
  Attributes result;
  std::apply([&](const auto&... f) { (result.emplace_back(std::string(f.name), to_attribute(op.*(f.member))), ...); }, Op::fields);
  return result;
}

/// The op with these attributes; each field exactly once. Throws UserError naming the op and the attribute.
template <class Op>
Op with_attributes(const Attributes& attributes) {
  Op op;
  std::size_t used = 0;
  const auto read = [&](const auto& f) {
    for (const auto& [name, value] : attributes)
      if (name == f.name) {
        using T = std::remove_reference_t<decltype(op.*(f.member))>;
        op.*(f.member) = from_attribute<T>(Op::name, name, value);
        ++used;
        return;
      }
    throw UserError(Op::name, str("attribute '", f.name, "' is missing"));
  };
  std::apply([&](const auto&... f) { (read(f), ...); }, Op::fields);
  if (used != attributes.size())
    throw UserError(Op::name, str("expected ", used, " attributes, got ", attributes.size(), "; the file is from another version or damaged"));
  return op;
}

template <class Op>
bool same_attributes(const Op& a, const Op& b) {
  return std::apply([&](const auto&... f) { return ((a.*(f.member) == b.*(f.member)) && ...); }, Op::fields);
}

std::string to_string(const Attribute& attribute);
/// The shortest text that reads back as the same number, of a float or (if not exact in one) a double.
std::string number_text(double value);

}  // namespace sinter::ir
