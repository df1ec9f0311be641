// Conversion of elements of files to the types that Sinter computes with.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/array.h"
#include "ir/error.h"

namespace sinter::data {

/// Elements of From become To; throws UserError `[where] element i is …, advice` for a value that does not fit.
template <class From, class To, class Fits, class Convert>
std::vector<std::byte> narrow(const std::string& where, std::span<const std::byte> raw, const Fits& fits, std::string_view advice,
                              const Convert& convert) {
  std::vector<std::byte> result(raw.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i < raw.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, raw.data() + i * sizeof(From), sizeof value);
    if (!fits(value)) throw UserError(where, str("element ", i, " is ", value, ", ", advice));
    const To converted = convert(value);
    std::memcpy(result.data() + i * sizeof(To), &converted, sizeof converted);
  }
  return result;
}

/// IEEE numbers of 16 bits as f32, exactly.
std::vector<std::byte> narrow_f16(const std::string& where, std::span<const std::byte> raw);
/// f64 as f32, rounded. Throws UserError for finite values beyond f32.
std::vector<std::byte> narrow_f64(const std::string& where, std::span<const std::byte> raw);
/// i64 as i32. Throws UserError for values beyond i32.
std::vector<std::byte> narrow_i64(const std::string& where, std::span<const std::byte> raw);
/// Throws UserError if an array of bool holds anything but 0 and 1.
void require_truth_values(const std::string& where, const HostArray& array);

}  // namespace sinter::data
