// exp, log, sqrt and tanh of blocks, from the packet functions that Eigen has for all targets alike (its own ones for AVX-512 are less exact). exp
// stops short at the ends of its range: there the exact answer is put in. Eigen itself is in a namespace of the target's own (-DEigen=Eigen_v4).
#pragma once

#include <Eigen/Core>
#include <limits>

#include "runtime/isa/block.h"

namespace sinter::runtime::isa::SINTER_TARGET {

using Packet = Eigen::internal::packet_traits<float>::type;
static_assert(sizeof(Packet) == width * sizeof(float));

template <class F>
inline Block<float> each_packet(const Block<float>& x, F&& f) {
  return each(x, [&](Vector<float> v) { return (Vector<float>)(f((Packet)(v))); });
}

inline Block<float> exp(const Block<float>& x) {
  const Block<float> y = each_packet(x, [](Packet v) { return Eigen::internal::pexp_float(v); });
  // Above log(greatest float) infinity, below log(least normal float) 0, NaN stays.
  const Block<float> above = select(x > Block<float>(88.7228317f), Block<float>(std::numeric_limits<float>::infinity()), y);
  return select(x != x, x, select(x < Block<float>(-87.3365402f), Block<float>(0.0f), above));
}

inline Block<float> log(const Block<float>& x) {
  return each_packet(x, [](Packet v) { return Eigen::internal::plog_float(v); });
}

inline Block<float> sqrt(const Block<float>& x) {
  return each_packet(x, [](Packet v) { return Eigen::internal::psqrt(v); });
}

/// Near 0 the polynomial of Cephes' tanhf, else 1 - 2 / (exp(2|x|) + 1) with x's sign.
inline Block<float> tanh(const Block<float>& x) {
  using B = Block<float>;
  const B size = select(x < B(0.0f), -x, x), z = x * x;
  const B series =
      ((((B(-5.70498872745e-3f) * z + B(2.06390887954e-2f)) * z + B(-5.37397155531e-2f)) * z + B(1.33314422036e-1f)) * z + B(-3.33332819422e-1f)) *
          z * x +
      x;
  const B far = B(1.0f) - B(2.0f) / (exp(size + size) + B(1.0f));
  return select(size < B(0.625f), series, select(x < B(0.0f), -far, far));
}

}  // namespace sinter::runtime::isa::SINTER_TARGET
