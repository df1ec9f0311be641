#include "frontend/core/finite.h"

#include <algorithm>
#include <atomic>

#include "runtime/isa/kernels.h"
#include "runtime/team.h"

namespace sinter {

namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000, sign_bit = 0x80000000;  // NaN is above infinity

bool is_finite(std::uint32_t bits) { return (bits & ~sign_bit) < infinity_bits; }

/// As integers, what is not finite and positive is above all other numbers, and what is not finite and negative above all others that are unsigned.
bool all_finite(const std::uint32_t* bits, std::int64_t count) {
  const runtime::isa::Kernels& kernels = runtime::isa::kernels();
  return kernels.signed_max.rows(reinterpret_cast<const std::int32_t*>(bits), 1, count, count) < static_cast<std::int32_t>(infinity_bits) &&
         kernels.whole_max.rows(bits, 1, count, count) < (infinity_bits | sign_bit);
}

}  // namespace

std::optional<NonFinite> first_non_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32) return std::nullopt;
  constexpr std::int64_t block = 16384;
  const Layout at = tensor.view().layout();
  const std::int64_t all = at.padded_elements();
  const std::size_t bytes = static_cast<std::size_t>(all) * sizeof(float);
  if (tensor.buffer().finite_bytes() >= bytes) return std::nullopt;
  const auto* bits = tensor.view().as<std::uint32_t>();
  std::atomic<std::int64_t> first{all};
  runtime::parallel_for(divide_up(all, block), runtime::threads_for(0, static_cast<double>(bytes)), [&](std::int64_t chunk) {
    const std::int64_t begin = chunk * block, end = std::min(begin + block, all);
    if (begin > first.load(std::memory_order_relaxed) || all_finite(bits + begin, end - begin)) return;
    const std::int64_t place = std::find_if_not(bits + begin, bits + end, is_finite) - bits;
    for (std::int64_t before = first.load(); place < before && !first.compare_exchange_weak(before, place);) {
    }
  });
  const std::int64_t i = first.load();
  if (i < all) return NonFinite{i / at.stride * at.cols + i % at.stride, tensor.view().as<float>()[i]};  // pad lanes are 0
  tensor.buffer().note_finite(bytes);
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
