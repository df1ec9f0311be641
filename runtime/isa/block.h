// Blocks of 16 numbers, which the pointwise ops are instantiated for: as many of the target's vectors as that takes.
//
// SINTER_TARGET is the namespace of the target that is compiled (v1: the baseline, v3, v4). Everything here is in it, so that the linker never
// replaces a baseline function by one that needs a newer CPU.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ir/op.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace sinter::runtime::isa::SINTER_TARGET {

#if defined(__AVX512F__)
inline constexpr int width = 16;
#elif defined(__AVX__)
inline constexpr int width = 8;
#else
inline constexpr int width = 4;
#endif
inline constexpr int lanes = 16;
inline constexpr int parts = lanes / width;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(width * sizeof(float))));
};
/// One vector register of the target.
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T> splat(T x) {
  return x - Vector<T>{};
}  // x - 0 keeps the sign of -0
template <class T>
inline Vector<T> load_vector(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
inline void store_vector(T* to, Vector<T> v) {
  std::memcpy(to, &v, sizeof v);
}

/// a · b + c, rounded once if the target has an instruction for it.
inline Vector<float> multiply_add(Vector<float> a, Vector<float> b, Vector<float> c) {
#if defined(__AVX512F__)
  return (Vector<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vector<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

/// 16 truth values: all bits of a lane, or none.
struct Mask {
  Vector<std::int32_t> v[parts];
};

/// Registers of a block: `parts` of 4-byte elements.
template <class T>
inline constexpr int parts_of = lanes / width * static_cast<int>(sizeof(T)) / 4;

template <class T>
struct Block {
  using mask_type = Mask;
  Vector<T> v[parts_of<T>];

  Block() = default;
  explicit Block(T x) {
    for (Vector<T>& part : v) part = splat(x);
  }
};

template <class T, class F>
inline Block<T> each(const Block<T>& a, F&& f) {
  Block<T> r;
  for (int i = 0; i < parts_of<T>; ++i) r.v[i] = f(a.v[i]);
  return r;
}
template <class T, class F>
inline Block<T> each(const Block<T>& a, const Block<T>& b, F&& f) {
  Block<T> r;
  for (int i = 0; i < parts_of<T>; ++i) r.v[i] = f(a.v[i], b.v[i]);
  return r;
}
template <class T, class F>
inline Mask compare(const Block<T>& a, const Block<T>& b, F&& f) {
  Mask r;
  for (int i = 0; i < parts; ++i) r.v[i] = f(a.v[i], b.v[i]);
  return r;
}

/// Signed integers are added as unsigned ones, which wrap.
template <class T>
using Wrapping = Vector<std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t, T>>;

template <class T>
inline Block<T> operator+(const Block<T>& a, const Block<T>& b) {
  return each(a, b, [](auto x, auto y) { return (Vector<T>)((Wrapping<T>)x + (Wrapping<T>)y); });
}
template <class T>
inline Block<T> operator-(const Block<T>& a, const Block<T>& b) {
  return each(a, b, [](auto x, auto y) { return (Vector<T>)((Wrapping<T>)x - (Wrapping<T>)y); });
}
template <class T>
inline Block<T> operator*(const Block<T>& a, const Block<T>& b) {
  return each(a, b, [](auto x, auto y) { return (Vector<T>)((Wrapping<T>)x * (Wrapping<T>)y); });
}
template <class T>
inline Block<T> operator/(const Block<T>& a, const Block<T>& b) {
  return each(a, b, [](auto x, auto y) { return x / y; });
}
template <class T>
inline Block<T> operator-(const Block<T>& a) {
  return each(a, [](auto x) { return (Vector<T>)(-(Wrapping<T>)x); });
}
template <class T>
inline Mask operator<(const Block<T>& a, const Block<T>& b) {
  return compare(a, b, [](auto x, auto y) { return x < y; });
}
template <class T>
inline Mask operator<=(const Block<T>& a, const Block<T>& b) {
  return compare(a, b, [](auto x, auto y) { return x <= y; });
}
template <class T>
inline Mask operator>(const Block<T>& a, const Block<T>& b) {
  return b < a;
}
template <class T>
inline Mask operator>=(const Block<T>& a, const Block<T>& b) {
  return b <= a;
}
template <class T>
inline Mask operator==(const Block<T>& a, const Block<T>& b) {
  return compare(a, b, [](auto x, auto y) { return x == y; });
}
template <class T>
inline Mask operator!=(const Block<T>& a, const Block<T>& b) {
  return compare(a, b, [](auto x, auto y) { return x != y; });
}
template <class T>
inline Block<T> select(const Mask& condition, const Block<T>& a, const Block<T>& b) {
  Block<T> r;
  for (int i = 0; i < parts; ++i) r.v[i] = condition.v[i] ? a.v[i] : b.v[i];
  return r;
}
inline Mask operator|(const Mask& a, const Mask& b) {
  Mask r;
  for (int i = 0; i < parts; ++i) r.v[i] = a.v[i] | b.v[i];
  return r;
}
inline Mask operator&(const Mask& a, const Mask& b) {
  Mask r;
  for (int i = 0; i < parts; ++i) r.v[i] = a.v[i] & b.v[i];
  return r;
}
template <class To, class From>
inline Block<To> convert(const Block<From>& a) {
  Block<To> r;
  for (int i = 0; i < parts; ++i) r.v[i] = __builtin_convertvector(a.v[i], Vector<To>);
  return r;
}
template <class To, class From>
inline Block<To> bits(const Block<From>& a) {
  Block<To> r;
  for (int i = 0; i < parts; ++i) r.v[i] = reinterpret_cast<Vector<To>>(a.v[i]);
  return r;
}

// ---- what ir/vector_math.h needs in addition ----
inline Block<float> fma(const Block<float>& a, const Block<float>& b, const Block<float>& c) {
  Block<float> r;
  for (int i = 0; i < parts; ++i) {
#if defined(__FMA__)
    r.v[i] = multiply_add(a.v[i], b.v[i], c.v[i]);
#else
    for (int j = 0; j < width; ++j) r.v[i][j] = std::fma(a.v[i][j], b.v[i][j], c.v[i][j]);
#endif
  }
  return r;
}
inline Block<double> fma(const Block<double>& a, const Block<double>& b, const Block<double>& c) {
  Block<double> r;
  for (int i = 0; i < parts_of<double>; ++i) {
#if defined(__AVX512F__)
    r.v[i] = (Vector<double>)_mm512_fmadd_pd((__m512d)a.v[i], (__m512d)b.v[i], (__m512d)c.v[i]);
#elif defined(__FMA__)
    r.v[i] = (Vector<double>)_mm256_fmadd_pd((__m256d)a.v[i], (__m256d)b.v[i], (__m256d)c.v[i]);
#else
    for (int j = 0; j < width / 2; ++j) r.v[i][j] = std::fma(a.v[i][j], b.v[i][j], c.v[i][j]);
#endif
  }
  return r;
}
inline Block<std::int32_t> as_int(const Block<float>& x) { return bits<std::int32_t>(x); }
inline Block<float> as_float(const Block<std::int32_t>& x) { return bits<float>(x); }
inline Block<std::int32_t> operator&(const Block<std::int32_t>& a, const Block<std::int32_t>& b) {
  return each(a, b, [](auto x, auto y) { return x & y; });
}
inline Block<std::uint32_t> operator^(const Block<std::uint32_t>& a, const Block<std::uint32_t>& b) {
  return each(a, b, [](auto x, auto y) { return x ^ y; });
}
/// The upper halves of the 64-bit products.
inline Block<std::uint32_t> multiply_high(const Block<std::uint32_t>& a, const Block<std::uint32_t>& b) {
  typedef std::uint64_t Wide __attribute__((vector_size(width * 8)));
  return each(a, b, [](auto x, auto y) {
    return __builtin_convertvector((__builtin_convertvector(x, Wide) * __builtin_convertvector(y, Wide)) >> 32, Vector<std::uint32_t>);
  });
}
inline Block<std::int32_t> shift_left(const Block<std::int32_t>& x, int by) {
  return each(x, [by](auto v) { return (Vector<std::int32_t>)((Vector<std::uint32_t>)v << by); });
}
inline Block<std::int32_t> shift_right(const Block<std::int32_t>& x, int by) {
  return each(x, [by](auto v) { return v >> by; });
}
/// Half a register of f32: as many as a register has of f64.
typedef float HalfVector __attribute__((vector_size(width * sizeof(float) / 2)));
inline Block<double> widen(const Block<float>& x) {
  HalfVector halves[parts_of<double>];
  std::memcpy(halves, x.v, sizeof halves);
  Block<double> r;
  for (int i = 0; i < parts_of<double>; ++i) r.v[i] = __builtin_convertvector(halves[i], Vector<double>);
  return r;
}
inline Block<float> narrow(const Block<double>& x) {
  HalfVector halves[parts_of<double>];
  for (int i = 0; i < parts_of<double>; ++i) halves[i] = __builtin_convertvector(x.v[i], HalfVector);
  Block<float> r;
  std::memcpy(r.v, halves, sizeof halves);
  return r;
}
inline Block<double> lookup(const std::array<double, 256>& table, const Block<std::int32_t>& index) {
  Block<double> r;
  for (int i = 0; i < lanes; ++i) r.v[i / (width / 2)][i % (width / 2)] = table[static_cast<std::size_t>(index.v[i / width][i % width])];
  return r;
}
/// Truth values of f64.
struct WideMask {
  Vector<std::int64_t> v[parts_of<double>];
};
inline WideMask operator<(const Block<double>& a, const Block<double>& b) {
  WideMask r;
  for (int i = 0; i < parts_of<double>; ++i) r.v[i] = a.v[i] < b.v[i];
  return r;
}
inline WideMask operator>(const Block<double>& a, const Block<double>& b) { return b < a; }
inline Block<double> select(const WideMask& condition, const Block<double>& a, const Block<double>& b) {
  Block<double> r;
  for (int i = 0; i < parts_of<double>; ++i) r.v[i] = condition.v[i] ? a.v[i] : b.v[i];
  return r;
}

// ---- memory ----
// E is the element type in memory: float, std::int32_t, std::uint32_t, or std::uint8_t, which is computed with as std::uint32_t.
typedef std::uint8_t Bytes __attribute__((vector_size(width)));

template <class E>
struct ComputedAs {
  using type = E;
};
template <>
struct ComputedAs<std::uint8_t> {
  using type = std::uint32_t;
};
template <class E>
using BlockOf = Block<typename ComputedAs<E>::type>;

template <class E>
inline BlockOf<E> load(const E* from) {
  BlockOf<E> r;
  for (int i = 0; i < parts; ++i)
    if constexpr (sizeof(E) == 1) {
      Bytes bytes;
      std::memcpy(&bytes, from + i * width, width);
      r.v[i] = __builtin_convertvector(bytes, Vector<std::uint32_t>);
    } else {
      r.v[i] = load_vector(from + i * width);
    }
  return r;
}
template <class E>
inline void store(E* to, const BlockOf<E>& block) {
  for (int i = 0; i < parts; ++i)
    if constexpr (sizeof(E) == 1) {
      const Bytes bytes = __builtin_convertvector(block.v[i], Bytes);
      std::memcpy(to + i * width, &bytes, width);
    } else {
      store_vector(to + i * width, block.v[i]);
    }
}
/// Booleans: bytes of 0 and 1.
inline Mask load_mask(const std::uint8_t* from) { return load(from) != Block<std::uint32_t>(0u); }
inline void store(std::uint8_t* to, const Mask& mask) {
  Block<std::uint32_t> block;
  for (int i = 0; i < parts; ++i) block.v[i] = reinterpret_cast<Vector<std::uint32_t>>(mask.v[i]) & 1u;
  store(to, block);
}

/// The first `count` < 16 elements, the others `fill`. Most rows end with half a block: strides are multiples of 8.
template <class E>
inline BlockOf<E> load(const E* from, std::int64_t count, E fill = E{}) {
#if defined(__AVX512F__)
  if constexpr (sizeof(E) == 4) {
    BlockOf<E> r(fill);
    r.v[0] = (Vector<E>)_mm512_mask_loadu_epi32((__m512i)r.v[0], static_cast<__mmask16>((1u << count) - 1), from);
    return r;
  }
#endif
  if constexpr (sizeof(E) == 4 && width <= 8)
    if (count == 8) {
      BlockOf<E> r(fill);
      for (int i = 0; i < 8 / width; ++i) r.v[i] = load_vector(from + i * width);
      return r;
    }
  alignas(64) E memory[lanes];
  for (E& x : memory) x = fill;
  for (std::int64_t i = 0; i < count; ++i) memory[i] = from[i];
  return load(memory);
}
template <class E, class B>
inline void store(E* to, const B& block, std::int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(E) == 4) return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << count) - 1), (__m512i)block.v[0]);
#endif
  if constexpr (sizeof(E) == 4 && width <= 8)
    if (count == 8) {
      for (int i = 0; i < 8 / width; ++i) store_vector(to + i * width, block.v[i]);
      return;
    }
  alignas(64) E memory[lanes];
  store(memory, block);
  for (std::int64_t i = 0; i < count; ++i) to[i] = memory[i];
}

/// Lanes i and i + Count/2 of a vector, down to one.
template <class T, int Count, class V, class F>
inline T fold(V v, F f) {
  if constexpr (Count == 2) {
    return f(static_cast<T>(v[0]), static_cast<T>(v[1]));
  } else {
    typedef T Half __attribute__((vector_size(Count / 2 * sizeof(T))));
    const auto half = [&]<int... I>(std::integer_sequence<int, I...>, auto from) -> Half { return __builtin_shufflevector(v, v, I + from.value...); };
    constexpr std::make_integer_sequence<int, Count / 2> all;
    return fold<T, Count / 2>(f(half(all, std::integral_constant<int, 0>{}), half(all, std::integral_constant<int, Count / 2>{})), f);
  }
}

/// Lane i with lane i + 8, then + 4, + 2, + 1: the same tree on every target. f takes vectors of any size, and numbers.
template <class T, class F>
inline T reduce_lanes(Block<T> block, F f) {
  for (int half = parts / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) block.v[i] = f(block.v[i], block.v[i + half]);
  return fold<T, width>(block.v[0], f);
}

}  // namespace sinter::runtime::isa::SINTER_TARGET
