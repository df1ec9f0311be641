// Sums of many terms: chains of bounded length, whose results are added with their rounding errors kept, so that the error of a sum does not grow
// with the number of its terms. The interpreter, compiled steps and the bounds of `verify` share these lengths.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sinter::ir {

/// The most terms of a chain of additions, and of one of multiply-adds.
inline constexpr std::int64_t chain_terms = 128, chain_products = 1024;

/// The sum of chains, and the sum of the errors that rounding it made. V: numbers, or vectors of them that have `select`.
template <class V>
struct LongSum {
  V sum{}, error{};
};

/// s + x. The error of a floating-point addition is a floating-point number itself: TwoSum (Knuth, The Art of Computer Programming 2, 4.2.2).
template <class V>
LongSum<V> add(const LongSum<V>& s, const V& x) {
  const V sum = s.sum + x, added = sum - s.sum;
  return {sum, s.error + ((s.sum - (sum - added)) + (x - added))};
}

inline float select(bool condition, float a, float b) { return condition ? a : b; }

/// What s stands for. Of a sum that is not finite the errors say nothing.
template <class V>
V total(const LongSum<V>& s) {
  return select(s.sum - s.sum == V(0.0f), s.sum + s.error, s.sum);
}

/// A bound on the roundings that a term of a sum of so many meets: those of its chain (`chain`: one of the lengths above), of the lanes of vectors,
/// of a chain of partial sums, and of what adds chains.
constexpr double most_roundings(double terms, std::int64_t chain) { return std::min(terms, static_cast<double>(chain + chain_terms + 32)); }

}  // namespace sinter::ir
