// Numbers as JSON writes them, read eight digits at a time.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace sinter::serve {

struct PlainNumber {
  double value = 0;
  bool is_long = false;  ///< whole, with more digits than a double is exact for
};

namespace detail {

inline constexpr std::array<std::uint64_t, 9> whole_powers{1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
inline constexpr std::array<double, 16> powers{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

static_assert(std::endian::native == std::endian::little);

/// Appends the digits from `at` on to a number, as long as it has at most 19; the place of the first other character.
inline const char* read_digits(const char* at, std::uint64_t& number, int& digits) {
  for (;;) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    bytes ^= 0x3030303030303030;  // digits become 0 … 9
    const std::uint64_t others =
        ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;  // a mark on the first byte that is none, and maybe on some behind it
    const int count = std::countr_zero(others) / 8;                   // 8 without one
    if (count == 0) return at;
    bytes <<= 64 - 8 * count;  // leading zeros in place of what is behind them
    bytes = bytes * 10 + (bytes >> 8);
    bytes = ((bytes & 0x000000ff000000ff) * 0x000f424000000064 + ((bytes >> 16) & 0x000000ff000000ff) * 0x0000271000000001) >> 32;
    number = number * whole_powers[static_cast<std::size_t>(count)] + static_cast<std::uint32_t>(bytes);
    digits += count;
    at += count;
    if (count < 8) return at;
  }
}

}  // namespace detail

/// Reads the number at this place, -0.5, 17 or 1e-3, but not +1, .5, 01 or 1. as JSON has none of these. The place behind it; null if there is none,
/// or one beyond double. Behind the text eight bytes must be readable, of which the first is no digit.
inline const char* read_plain_number(const char* const begin, PlainNumber& result) {
  constexpr int most_exact = 15;  // digits of a whole number that a double holds whatever they are
  const char* const unsigned_begin = begin + (*begin == '-');
  std::uint64_t number = 0;
  int digits = 0, fraction = 0;
  const char* at = detail::read_digits(unsigned_begin, number, digits);
  if (digits == 0 || (digits > 1 && *unsigned_begin == '0')) return nullptr;
  bool is_whole = true, has_exponent = false;
  if (*at == '.') {
    at = detail::read_digits(at + 1, number, fraction);
    if (fraction == 0) return nullptr;
    digits += fraction;
    is_whole = false;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    at += *at == '-' || *at == '+';
    int count = 0;
    std::uint64_t ignored = 0;
    at = detail::read_digits(at, ignored, count);
    if (count == 0) return nullptr;
    is_whole = false, has_exponent = true;
  }
  result.is_long = is_whole && digits > most_exact;
  if (digits <= most_exact && !has_exponent) {  // both are exact, so that the quotient is rounded once
    const double value = static_cast<double>(static_cast<std::int64_t>(number)) / detail::powers[static_cast<std::size_t>(fraction)];
    result.value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | static_cast<std::uint64_t>(unsigned_begin != begin) << 63);
    return at;
  }
  return std::from_chars(begin, at, result.value).ec == std::errc() ? at : nullptr;
}

}  // namespace sinter::serve
