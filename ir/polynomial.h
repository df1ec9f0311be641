// Counts that depend on a call: sums of multiples of 1, N, T and N·T.
#pragma once

#include <array>
#include <cstddef>

#include "ir/type.h"

namespace sinter {

/// a + b·N + c·T + d·N·T.
template <class Number>
struct Polynomial {
  std::array<Number, 4> factors{};

  Polynomial() = default;
  Polynomial(Number fixed) : factors{fixed} {}  // NOLINT: a number is one
  /// `factor` times the symbols of a dimension.
  static Polynomial of(Dim symbols, Number factor) {
    Polynomial result;
    result.factors[index(symbols)] = factor;
    return result;
  }
  static Polynomial of(Dim dim) { return of(dim, static_cast<Number>(dim.factor())); }

  Number fixed() const { return factors[0]; }
  /// The factor of these symbols.
  Number operator[](Dim symbols) const { return factors[index(symbols)]; }
  bool is_fixed() const { return factors == Polynomial(factors[0]).factors; }
  Number at(Sizes sizes) const {
    const auto n = static_cast<Number>(sizes.n), t = static_cast<Number>(sizes.t);
    return factors[0] + factors[1] * n + factors[2] * t + factors[3] * n * t;
  }
  Polynomial& operator+=(const Polynomial& other) {
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] += other.factors[i];
    return *this;
  }
  Polynomial& operator*=(Number by) {
    for (Number& factor : factors) factor *= by;
    return *this;
  }
  /// Whether it is less for all N and T from 1 on.
  bool always_less(const Polynomial& other) const {
    Number difference = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (i > 0 && factors[i] > other.factors[i]) return false;
      difference += other.factors[i] - factors[i];
    }
    return difference > 0;
  }
  bool operator==(const Polynomial&) const = default;

 private:
  static std::size_t index(Dim symbols) { return (symbols.is_batch() ? 1 : 0) + (symbols.is_length() ? 2 : 0); }
};

}  // namespace sinter
