#include "frontend/data/narrow.h"

#include <algorithm>
#include <bit>
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

void narrow_f16(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into) {
  narrow<std::uint16_t, float>(where, first, raw, into, [](auto) { return true; }, "", from_half);
}

void narrow_bf16(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into) {
  const auto from_bfloat = [](std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); };
  narrow<std::uint16_t, float>(where, first, raw, into, [](auto) { return true; }, "", from_bfloat);
}

void narrow_f64(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into) {
  narrow<double, float>(
      where, first, raw, into, [](double v) { return !std::isfinite(v) || std::isfinite(static_cast<float>(v)); },
      "which is too large for f32; scale the data", [](double v) { return static_cast<float>(v); });
}

void narrow_i64(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into) {
  narrow<std::int64_t, std::int32_t>(
      where, first, raw, into, [](std::int64_t v) { return std::in_range<std::int32_t>(v); }, "which does not fit i32; store smaller numbers",
      [](std::int64_t v) { return static_cast<std::int32_t>(v); });
}

void require_truth_values(const std::string& where, std::span<const std::byte> elements) {
  if (std::any_of(elements.begin(), elements.end(), [](std::byte b) { return b > std::byte{1}; }))
    throw UserError(where, "holds a bool that is neither 0 nor 1; the file is damaged");
}

}  // namespace sinter::data
