// Elementary functions of f32 vectors: each written once, for compiled steps and for eager execution, so that both give the same bits on every
// machine.
//
// V is a vector kind: blocks of an array (runtime/isa/block.h) or LLVM values (codegen/vec.h). Besides arithmetic, comparisons and select it has
//   fma(a, b, c)                     a · b + c, rounded once
//   as_int(x), as_float(i)           the bits of an f32 as i32 and back
//   i & j, shift_left(i, by), shift_right(i, by)   on i32; shift_right keeps the sign
//   widen(x), narrow(d)              f32 as f64 and back
//   lookup(table, i)                 table[i] of an array of f64
// No product feeds a sum but in fma: a compiler may not choose which of them are fused. Subnormal numbers count as 0, as everywhere in a step.
//
// Greatest errors, over all floats (`sinter_math` measures them): exp 1, log 1, tanh 3, sigmoid 3, erf 2, sin 2, cos 2 units in the last place;
// pow 2.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sinter::ir::vector_math {

inline constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
inline constexpr float least_normal = 1.17549435e-38f;
/// 1.5 · 2^23: the last bits of the sum of it and a number below 2^22 are the nearest whole number.
inline constexpr float rounder = 12582912.0f;

template <class V>
V absolute(const V& x) {
  return as_float(as_int(x) & decltype(as_int(x))(0x7fffffff));
}

/// The magnitude of x with the sign of `sign`.
template <class V>
V with_sign(const V& x, const V& sign) {
  using I = decltype(as_int(x));
  return as_float((as_int(x) & I(0x7fffffff)) + (as_int(sign) & I(std::numeric_limits<std::int32_t>::min())));
}

/// A whole number of less than 2^22 as i32.
template <class V>
auto whole(const V& n) {
  using I = decltype(as_int(n));
  return as_int(n + V(rounder)) - I(0x4b400000);
}
/// 2^n for whole n in [-126, 127]; of the bits of rounder + n as well.
template <class I>
auto power_of_two(const I& n) {
  return as_float(shift_left(n, 23) + I(0x3f800000));
}
/// p 2^n for n in [-252, 254], in two steps, so that neither power overflows.
template <class V, class I>
V scaled(const V& p, const I& n) {
  const I half = shift_right(n, 1);
  return p * power_of_two(half) * power_of_two(n - half);
}

/// exp's series: exp(r) - 1 for |r| <= ln 2 / 2. Coefficients: least maximum of the relative error, by Lawson's iteration.
template <class V>
V expm1_series(const V& r) {
  V p = fma(V(0.0013882521307095885f), r, V(0.008366523310542107f));
  p = fma(p, r, V(0.04166720062494278f));
  p = fma(p, r, V(0.1666654348373413f));
  p = fma(p, r, V(0.4999999701976776f));
  return fma(p, r * r, r);
}

/// p 2^n, rounded = rounder + n: its exponent grows by n. For p in (1/2, 2) and results that are normal numbers; others are any number.
template <class V>
V with_exponent(const V& p, const V& rounded) {
  return as_float(as_int(p) + shift_left(as_int(rounded), 23));
}

/// x = n ln 2 + r, |r| <= ln 2 / 2; exp(x) = 2^n exp(r). Below the least x whose result is a normal number it is 0.
template <class V>
V exp(const V& x) {
  const V rounded = fma(x, V(1.44269504088896341f), V(rounder)), n = rounded - V(rounder);
  V r = fma(n, V(-0.693359375f), x);
  r = fma(n, V(2.12194440e-4f), r);
  const V result = with_exponent(expm1_series(r) + V(1.0f), rounded);
  return select(x <= V(88.7228317f), select(x < V(-87.3365402f), V(0.0f), result), x + V(infinity));
}

/// x = n + r; 2^x = 2^n exp(r ln 2).
template <class V>
V exp2(const V& x) {
  const V rounded = x + V(rounder);
  const V result = with_exponent(expm1_series((x - (rounded - V(rounder))) * V(0.69314718055994530942f)) + V(1.0f), rounded);
  return select(x < V(128.0f), select(x < V(-126.0f), V(0.0f), result), x + V(infinity));
}

/// As exp, but 2^n is taken off 1 before the series is added: 2^n (s + 1) - 1 = 2^n s + (2^n - 1).
template <class V>
V expm1(const V& x) {
  const V clamped = select(x > V(89.0f), V(89.0f), select(x < V(-20.0f), V(-20.0f), x));
  const V n = fma(clamped, V(1.44269504088896341f), V(rounder)) - V(rounder);
  V r = fma(n, V(-0.693359375f), clamped);
  r = fma(n, V(2.12194440e-4f), r);
  // Halved, so that 2^n is finite for every n.
  const V half = power_of_two(whole(n) - decltype(as_int(n))(1));
  const V result = fma(half, expm1_series(r), half - V(0.5f));
  return select(x != x, x, select(n == V(0.0f), expm1_series(r), result + result));
}

/// A positive normal x as m 2^e with m in [sqrt(1/2), sqrt(2)).
template <class V>
struct Split {
  V m, e;
};
template <class V>
Split<V> split(const V& x) {
  using I = decltype(as_int(x));
  constexpr std::int32_t half_root = 0x3f3504f3;  // sqrt(1/2)
  const I offset = as_int(x) - I(half_root);
  // e as a float by its bits: 1.5 · 2^23 + e, less that.
  return {as_float((offset & I(0x007fffff)) + I(half_root)), as_float(shift_right(offset, 23) + I(0x4b400000)) - V(rounder)};
}

/// log(x) = log(m) + e ln 2. Coefficients: Cephes (Moshier), single precision.
template <class V>
V log(const V& x) {
  const auto [mantissa, e] = split(select(x < V(least_normal), V(least_normal), x));
  const V m = mantissa - V(1.0f), z = m * m;
  V p = fma(V(7.0376836292e-2f), m, V(-1.1514610310e-1f));
  p = fma(p, m, V(1.1676998740e-1f));
  p = fma(p, m, V(-1.2420140846e-1f));
  p = fma(p, m, V(1.4249322787e-1f));
  p = fma(p, m, V(-1.6668057665e-1f));
  p = fma(p, m, V(2.0000714765e-1f));
  p = fma(p, m, V(-2.4999993993e-1f));
  p = fma(p, m, V(3.3333331174e-1f));
  V y = p * m * z;
  y = fma(e, V(-2.12194440e-4f), y);
  y = fma(z, V(-0.5f), y);
  const V result = fma(e, V(0.693359375f), m + y);
  const V low = select(x > V(-least_normal), V(-infinity), V(not_a_number));
  return select(x < V(least_normal), low, select(x < V(infinity), result, x));
}

/// log(u) of u = 1 + x rounded, and what the rounding left out: (x - (u - 1)) / u.
template <class V>
V log1p(const V& x) {
  const V u = x + V(1.0f), left = (x - (u - V(1.0f))) / u;
  const V finite = select(u < V(least_normal), log(u), log(u) + left);
  const V large = select(x < V(infinity), finite, x);
  // Below 2^-24, 1 + x is 1; and the sign of 0 stays.
  return select(absolute(x) < V(5.9604645e-8f), x, large);
}

/// The whole number nearest to x, ties to even; from 2^23 on all floats are whole. The sign comes last: LLVM 19 makes a wrong vpternlog of a choice
/// between a number with the sign of x and x itself.
template <class V>
V rint(const V& x) {
  const V a = absolute(x);
  return with_sign(select(a < V(8388608.0f), (a + V(8388608.0f)) - V(8388608.0f), a), x);
}
template <class V>
V floor(const V& x) {
  const V n = rint(x);
  return select(n > x, n - V(1.0f), n);
}

/// |x| = n ln 2 / 2 + r, |r| <= ln 2 / 4; tanh of the first is (2^n - 1) / (2^n + 1), and t = tanh(r) an odd polynomial (least maximum of the
/// relative error, by Lawson's iteration). Of their sum: ((2^n - 1) + (2^n + 1) t) / ((2^n + 1) + (2^n - 1) t), with the sign of x. Beyond 10 it is 1
/// or -1.
template <class V>
V tanh(const V& x) {
  const V size = absolute(x), a = select(size > V(10.0f), V(10.0f), size);
  const V rounded = fma(a, V(2.88539008177792681f), V(rounder));
  const V r = fma(rounded - V(rounder), V(-0.34657359027997265f), a), z = r * r;
  V p = fma(V(-0.05272680148482323f), z, V(0.13331182301044464f));
  p = fma(p, z, V(-0.33333322405815125f));
  const V t = fma(p * z, r, r), power = power_of_two(as_int(rounded)), more = power + V(1.0f), less = power - V(1.0f);
  return with_sign(fma(more, t, less) / fma(less, t, more), x);
}

/// 1 - exp(-g(|x|)) with the sign of x and g = -log(erfc), for which g(t) = t + t q(t); q: least maximum of the relative error of erf, by Lawson's
/// iteration. -g = n ln 2 + r, |r| <= ln 2 / 2; 1 - exp(-g) = (1 - 2^n) - 2^n (exp(r) - 1). Beyond 4 it is 1 or -1.
template <class V>
V erf(const V& x) {
  const V a = absolute(x), t = select(a > V(4.0f), V(4.0f), a);
  V q = fma(V(-9.261005288863089e-06f), t, V(0.00011768538388423622f));
  q = fma(q, t, V(-0.0006330015603452921f));
  q = fma(q, t, V(0.001667344942688942f));
  q = fma(q, t, V(-0.00016073486767709255f));
  q = fma(q, t, V(-0.019152864813804626f));
  q = fma(q, t, V(0.10277777165174484f));
  q = fma(q, t, V(0.6366193890571594f));
  q = fma(q, t, V(0.12837916612625122f));
  const V minus_g = -fma(q, t, t), rounded = fma(minus_g, V(1.44269504088896341f), V(rounder));
  const V r = fma(rounded - V(rounder), V(-0.69314718055994531f), minus_g), power = power_of_two(as_int(rounded));
  return with_sign(fma(-power, expm1_series(r), V(1.0f) - power), x);
}

// ---- sine and cosine ----
/// 2/π · 2^E modulo 4 as high + low, each of 53 bits, for E = i - 150: of floats with the exponent bits i, as whole numbers times 2^E.
struct TwoOverPi {
  std::array<double, 256> high{}, low{};
};
constexpr TwoOverPi make_two_over_pi() {
  constexpr std::array<std::uint32_t, 8> words{0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  // Bit i >= 1 of 2/π, of weight 2^-i.
  const auto sum = [&](int from, int e) {
    double number = 0, weight = 1;
    for (int k = 0; k < (e < from ? from - e : e - from); ++k) weight *= e < from ? 0.5 : 2.0;
    for (int i = from; i < from + 53; ++i, weight *= 0.5)
      if (i <= 256 && (words[static_cast<std::size_t>((i - 1) / 32)] >> (31 - (i - 1) % 32) & 1)) number += weight;
    return number;
  };
  TwoOverPi table;
  for (int i = 1; i < 255; ++i) {
    const int e = i - 150, first = e - 1 > 1 ? e - 1 : 1;  // the bits before count whole turns
    table.high[static_cast<std::size_t>(i)] = sum(first, e);
    table.low[static_cast<std::size_t>(i)] = sum(first + 53, e);
  }
  table.high[255] = std::numeric_limits<double>::quiet_NaN();  // infinity and NaN
  return table;
}
inline constexpr TwoOverPi two_over_pi = make_two_over_pi();

/// sin(x + quarters π/2): x · 2/π modulo 4 from the whole significand and the bits of 2/π that matter for the exponent (Payne and Hanek 1983), exact
/// to 2^-80; then polynomials on [-π/4, π/4] (Cephes).
template <class V>
V sine(const V& x, std::int32_t quarters) {
  using I = decltype(as_int(x));
  const I raw = as_int(x), exponent = shift_right(raw, 23) & I(255);
  const auto unit = widen(as_float((raw & I(static_cast<std::int32_t>(0x807fffffu))) + I(0x3f800000)));
  using D = std::remove_const_t<decltype(unit)>;
  const D m = unit * D(8388608.0), magic(6755399441055744.0);  // 2^23; 1.5 · 2^52, beside which no fraction fits
  const D high = lookup(two_over_pi.high, exponent), low = lookup(two_over_pi.low, exponent);
  const D turns = m * high, rest = fma(m, low, fma(m, high, -turns));
  const D n = (turns + magic) - magic, fours = fma(n, D(0.25), magic) - magic;
  const V r = narrow(((turns - n) + rest) * D(1.57079632679489661923));
  const I quarter = whole(narrow(fma(fours, D(-4.0), n))) + I(quarters);

  const V z = r * r;
  V s = fma(V(-1.9515295891e-4f), z, V(8.3321608736e-3f));
  s = fma(s, z, V(-1.6666654611e-1f));
  s = fma(s * z, r, r);
  V c = fma(V(2.443315711809948e-5f), z, V(-1.388731625493765e-3f));
  c = fma(c, z, V(4.166664568298827e-2f));
  c = fma(c * z, z, fma(z, V(-0.5f), V(1.0f)));
  const V size = select((quarter & I(1)) == I(0), s, c);
  return select((quarter & I(2)) == I(0), size, -size);
}
template <class V>
V sin(const V& x) {
  return sine(x, 0);
}
template <class V>
V cos(const V& x) {
  return sine(x, 1);
}

/// 2^(y log2 |x|) in double precision, and the special cases of IEEE 754-2019 (9.2.1).
template <class V>
V pow(const V& x, const V& y) {
  const V a = absolute(x);
  const auto [m, e] = split(select(a < V(least_normal), V(1.0f), a));
  const auto mantissa = widen(m);
  using D = std::remove_const_t<decltype(mantissa)>;
  // log(m) = 2 atanh(f), f = (m - 1) / (m + 1), |f| < 0.172.
  const D f = (mantissa - D(1.0)) / (mantissa + D(1.0)), z = f * f;
  D log2 = fma(z, D(1.0 / 15), D(1.0 / 13));
  for (const double term : {1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0}) log2 = fma(log2, z, D(term));
  log2 = fma(log2 * f, D(2.88539008177792681472), widen(e));
  // Beyond the range of floats, the exponent is clamped; infinite where x is 0 or infinite.
  const D power = widen(y) * log2;
  const D clamped = select(power > D(200.0), D(200.0), select(power < D(-200.0), D(-200.0), power));
  const D n = (clamped + D(6755399441055744.0)) - D(6755399441055744.0);
  const D r = (clamped - n) * D(0.69314718055994530942);
  D p = fma(r, D(1.0 / 362880), D(1.0 / 40320));
  for (const double term : {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) p = fma(p, r, D(term));
  V result = scaled(narrow(p), whole(narrow(n)));

  const V size_y = absolute(y);
  const auto is_whole = [](const V& v) {  // beyond 2^23 all floats are
    const V size = absolute(v);
    return select(size < V(8388608.0f), (size + V(8388608.0f)) - V(8388608.0f), size) == size;
  };
  const V one(1.0f), zero(0.0f), y_or_zero = select(y == y, y, zero);
  // |x| of 0, or infinite: as the sign of y says.
  const V at_zero = select(y_or_zero < zero, V(infinity), zero), at_infinity = select(y_or_zero < zero, zero, V(infinity));
  result = select(a < V(least_normal), at_zero, select(a == V(infinity), at_infinity, result));
  // y infinite.
  const V growing = select(a < one, select(y_or_zero < zero, V(infinity), zero), select(y_or_zero < zero, zero, V(infinity)));
  result = select(size_y == V(infinity), select(a == one, one, growing), result);
  // x negative: odd y keeps the sign, other whole y loses it, all others have no answer; but for 0 and infinity, which are positive there.
  const V odd = select(is_whole(y), select(is_whole(y * V(0.5f)), zero, one), zero);
  const V no_answer = select(a < V(least_normal), result, select(a == V(infinity), result, V(not_a_number)));
  const V negative = select(odd == one, -result, select(is_whole(y), result, no_answer));
  result = select(as_int(x) < decltype(as_int(x))(0), negative, result);
  result = select(x == x, select(y == y, result, y), x);
  return select(y == zero, one, select(x == one, one, result));
}

}  // namespace sinter::ir::vector_math
