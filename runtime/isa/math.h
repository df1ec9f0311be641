// The elementary functions of ir/vector_math.h on blocks.
#pragma once

#include "ir/vector_math.h"
#include "runtime/isa/block.h"

namespace sinter::runtime::isa::SINTER_TARGET {

inline Block<float> sqrt(const Block<float>& x) {
  return each(x, [](Vector<float> v) {
#if defined(__AVX512F__)
    return (Vector<float>)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX__)
    return (Vector<float>)_mm256_sqrt_ps((__m256)v);
#else
    for (int i = 0; i < width; ++i) v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
  });
}

inline Block<float> exp(const Block<float>& x) { return ir::vector_math::exp(x); }
inline Block<float> log(const Block<float>& x) { return ir::vector_math::log(x); }
inline Block<float> tanh(const Block<float>& x) { return ir::vector_math::tanh(x); }
inline Block<float> exp2(const Block<float>& x) { return ir::vector_math::exp2(x); }
inline Block<float> expm1(const Block<float>& x) { return ir::vector_math::expm1(x); }
inline Block<float> log1p(const Block<float>& x) { return ir::vector_math::log1p(x); }
inline Block<float> floor(const Block<float>& x) { return ir::vector_math::floor(x); }
inline Block<float> rint(const Block<float>& x) { return ir::vector_math::rint(x); }
inline Block<float> erf(const Block<float>& x) { return ir::vector_math::erf(x); }
inline Block<float> sin(const Block<float>& x) { return ir::vector_math::sin(x); }
inline Block<float> cos(const Block<float>& x) { return ir::vector_math::cos(x); }
inline Block<float> pow(const Block<float>& x, const Block<float>& y) { return ir::vector_math::pow(x, y); }

}  // namespace sinter::runtime::isa::SINTER_TARGET
