#include "frontend/data/cell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace sinter::data {

namespace {

constexpr std::array<std::string_view, 9> always_missing{"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};

/// A number of any size, including infinity and NaN.
std::optional<double> parsed(std::string_view field, char decimal) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  std::string point;
  if (decimal != '.') {
    point = field;
    for (char& c : point) c = c == decimal ? '.' : c == '.' ? decimal : c;
    field = point;
  }
  const char* last = field.data() + field.size();
  double value = 0;
  auto [end, error] = std::from_chars(field.data(), last, value);
  if (error == std::errc::result_out_of_range) {  // too large or too small: a wider type decides
    long double wide = 0;
    const auto again = std::from_chars(field.data(), last, wide);
    end = again.ptr;
    value = again.ec == std::errc{} ? static_cast<double>(wide) : std::numeric_limits<double>::infinity();
    error = {};
  }
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

}  // namespace

bool CellRules::is_missing(std::string_view field) const {
  return std::find(always_missing.begin(), always_missing.end(), field) != always_missing.end() ||
         std::find(missing.begin(), missing.end(), field) != missing.end();
}

std::optional<double> CellRules::number(std::string_view field) const {
  const std::optional<double> value = parsed(field, decimal);
  return value && std::abs(*value) <= static_cast<double>(std::numeric_limits<float>::max()) ? value : std::nullopt;
}

bool CellRules::resembles_number(std::string_view field) const {
  return parsed(field, decimal).has_value() || parsed(field, decimal == '.' ? ',' : '.').has_value();
}

}  // namespace sinter::data
