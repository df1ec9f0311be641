// Counter-based random numbers: the same element of the same draw has the same bits eagerly, compiled, and on any number of threads.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// Element i in row-major order is i (u32; wraps).
struct Iota {
  static constexpr std::string_view name = "iota";
  Shape shape;
  static constexpr auto fields = std::tuple{field("shape", &Iota::shape)};
  Type infer(std::span<const Type> in) const {
    require_inputs(in, 0);
    return {DType::u32, shape};
  }
  Access access(std::span<const Type>, const Shape& result) const { return Access::over(result); }
  void reference(Reference& r) const {
    for (std::size_t i = 0; i < r.out.data.size(); ++i) r.out.data[i] = wrap(DType::u32, static_cast<double>(i));
  }
  using no_gradient = void;
  static std::vector<Sample<Iota>> samples() {
    const Dim n = Dim::batch();
    return {{{{n, 70}}, {}}, {{{n}}, {}}, {{{3, n, 5}}, {}}, {{{n, 4, 3}}, {}}, {{{7}}, {}}, {{{6, 21}}, {}}, {{{n, 1}}, {}}};
  }
};

/// Philox2x32 with 7 rounds (Salmon et al. 2011, which passes BigCrush): the first word of the block with counter (index, draw) and key `stream`.
struct Philox : Elementwise<2, Words> {
  static constexpr std::string_view name = "philox";
  std::int64_t stream = 0;  ///< its low 32 bits
  static constexpr auto fields = std::tuple{field("stream", &Philox::stream)};
  template <class S>
  S eval(const S& index, const S& draw) const {
    constexpr std::uint32_t multiplier = 0xD256D193, weyl = 0x9E3779B9;
    auto key = static_cast<std::uint32_t>(stream);
    S left = index, right = draw;
    for (int round = 0; round < 7; ++round, key += weyl) {
      const S high = multiply_high(left, S(multiplier)), low = left * S(multiplier);
      left = high ^ right ^ S(key);
      right = low;
    }
    return left;
  }
  using no_gradient = void;
  static auto samples() {
    auto samples = elementwise_samples<Philox>({{0, 1e9}, {0, 1e9}}, {{}, 12345}, DType::u32);
    samples[0].op.stream = 0xDEADBEEF;
    return samples;
  }
};

}  // namespace sinter::ir
