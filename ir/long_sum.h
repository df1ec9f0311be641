// Sums of many terms: chains of bounded length, whose results are added with their rounding errors kept, so that the error of a sum does not grow
// with the number of its terms. The interpreter, compiled steps and the bounds of `verify` share these lengths.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sinter::ir {

/// The most terms of a chain of additions, and of one of multiply-adds.
inline constexpr std::int64_t chain_terms = 128, chain_products = 1024;

/// The sum of chains, and the error that rounding it made. V: numbers, or vectors of them that have `select`.
template <class V>
struct LongSum {
  V sum{}, error{};
};

inline float select(bool condition, float a, float b) { return condition ? a : b; }

/// s + x, of twice the precision of V: the error of a floating-point addition is a floating-point number itself (TwoSum; Knuth, The Art of Computer
/// Programming 2, 4.2.2), and the sum takes over what fits it of the errors so far, so that these stay small.
template <class V>
LongSum<V> add(const LongSum<V>& s, const V& x) {
  const V rounded = s.sum + x, added = rounded - s.sum;
  const V error = s.error + ((s.sum - (rounded - added)) + (x - added)), sum = rounded + error;
  const auto finite = sum - sum == V(0.0f);  // else the errors say nothing
  return {select(finite, sum, rounded), select(finite, error - (sum - rounded), error)};
}

/// A bound on the roundings that a term of a sum of so many meets: those of its chain (`chain`: one of the lengths above), of the lanes of vectors,
/// of a chain of partial sums, and of what adds chains.
constexpr double most_roundings(double terms, std::int64_t chain) { return std::min(terms, static_cast<double>(chain + chain_terms + 32)); }

}  // namespace sinter::ir
