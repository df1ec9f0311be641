// Conversion of elements of files to the types that Sinter computes with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "ir/error.h"

namespace sinter::data {

/// Converts elements of a file, the first of which is number `first` of its array, into as many of another type. Throws UserError
/// `[where] element i is …, advice` for a value that does not fit.
using Narrow = void (*)(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into);

template <class From, class To, class Fits, class Convert>
void narrow(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into, const Fits& fits,
            std::string_view advice, const Convert& convert) {
  for (std::size_t i = 0; i < raw.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, raw.data() + i * sizeof(From), sizeof value);
    if (!fits(value)) throw UserError(where, str("element ", first + i, " is ", value, ", ", advice));
    const To converted = convert(value);
    std::memcpy(into.data() + i * sizeof(To), &converted, sizeof converted);
  }
}

/// IEEE numbers of 16 bits as f32, exactly.
void narrow_f16(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into);
/// The upper halves of f32 as f32.
void narrow_bf16(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into);
/// f64 as f32, rounded. Throws UserError for finite values beyond f32.
void narrow_f64(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into);
/// i64 as i32. Throws UserError for values beyond i32.
void narrow_i64(const std::string& where, std::uint64_t first, std::span<const std::byte> raw, std::span<std::byte> into);
/// Throws UserError if elements of an array of bool are anything but 0 and 1.
void require_truth_values(const std::string& where, std::span<const std::byte> elements);

}  // namespace sinter::data
