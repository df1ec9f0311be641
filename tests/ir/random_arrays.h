// Arrays of random numbers for tests: the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace sinter::test {

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform(double low = 0, double high = 1) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

 private:
  std::uint64_t state_;
};

inline ir::Array random_array(Random& random, const Type& type, Sizes sizes, double low = -1, double high = 1) {
  ir::Array array(type.dtype, type.shape.extents(sizes));
  for (double& x : array.data) {
    x = random.uniform(low, high);
    if (!is_float(type.dtype)) x = ir::wrap(type.dtype, std::floor(x));
  }
  return array;
}

}  // namespace sinter::test
