#include "frontend/core/finite.h"

#include <algorithm>
#include <cstring>

namespace sinter {

std::optional<NonFinite> first_non_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32) return std::nullopt;
  constexpr std::uint32_t exponent = 0x7f800000;  // all ones in NaN and infinity
  constexpr std::int64_t block = 256;             // judged as a whole, so that the loop is vectorized
  const Layout at = tensor.view().layout();
  const float* data = tensor.view().as<float>();
  const auto is_bad = [&](std::int64_t i) {
    std::uint32_t bits;
    std::memcpy(&bits, data + i, sizeof bits);
    return (bits & exponent) == exponent;
  };
  for (std::int64_t begin = 0; begin < at.padded_elements(); begin += block) {
    const std::int64_t end = std::min(begin + block, at.padded_elements());
    unsigned any = 0;
    for (std::int64_t i = begin; i < end; ++i) any |= is_bad(i);
    if (!any) continue;
    for (std::int64_t i = begin; i < end; ++i)  // pad lanes are 0
      if (is_bad(i)) return NonFinite{i / at.stride * at.cols + i % at.stride, data[i]};
  }
  return std::nullopt;
}

std::string place_text(const Shape& shape, std::int64_t place) {
  std::string text;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const std::int64_t extent = shape[axis].factor();
    text = std::to_string(place % extent) + (text.empty() ? "" : ", ") + text;
    place /= extent;
  }
  return "[" + text + "]";
}

}  // namespace sinter
