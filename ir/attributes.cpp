#include "ir/attributes.h"

#include <charconv>
#include <cmath>

namespace sinter::ir {

std::string number_text(double value) {
  char buffer[40];
  const bool single = static_cast<double>(static_cast<float>(value)) == value || std::isnan(value);
  const auto end = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr
                          : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string to_string(const Attribute& attribute) {
  return std::visit(
      []<class T>(const T& value) -> std::string {
        if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
        else if constexpr (std::is_same_v<T, std::int64_t>) return std::to_string(value);
        else if constexpr (std::is_same_v<T, double>) return number_text(value);
        else if constexpr (std::is_same_v<T, DType>) return std::string(name(value));
        else if constexpr (std::is_same_v<T, Body>) return value.text();
        else return sinter::to_string(value);
      },
      attribute);
}

}  // namespace sinter::ir
