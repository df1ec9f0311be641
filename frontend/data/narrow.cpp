#include "frontend/data/narrow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace sinter::data {

namespace {

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                     : std::ldexp(fraction, -24);
  return static_cast<float>(bits & 0x8000 ? -size : size);
}

}  // namespace

std::vector<std::byte> narrow_f16(const std::string& where, std::span<const std::byte> raw) {
  return narrow<std::uint16_t, float>(where, raw, [](auto) { return true; }, "", from_half);
}

std::vector<std::byte> narrow_f64(const std::string& where, std::span<const std::byte> raw) {
  return narrow<double, float>(
      where, raw, [](double v) { return !std::isfinite(v) || std::isfinite(static_cast<float>(v)); }, "which is too large for f32; scale the data",
      [](double v) { return static_cast<float>(v); });
}

std::vector<std::byte> narrow_i64(const std::string& where, std::span<const std::byte> raw) {
  return narrow<std::int64_t, std::int32_t>(
      where, raw, [](std::int64_t v) { return std::in_range<std::int32_t>(v); }, "which does not fit i32; store smaller numbers",
      [](std::int64_t v) { return static_cast<std::int32_t>(v); });
}

void require_truth_values(const std::string& where, const HostArray& array) {
  if (array.dtype == DType::boolean && std::any_of(array.bytes.begin(), array.bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    throw UserError(where, "holds a bool that is neither 0 nor 1; the file is damaged");
}

}  // namespace sinter::data
