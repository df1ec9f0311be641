// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sinter {

/// The 128 random bits at a counter of the stream that a key names. Any element of any stream costs the same, in any order.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter, std::uint64_t stream = 0);

/// A sequence of numbers from one stream.
class RandomStream {
 public:
  RandomStream(std::uint64_t key, std::uint64_t stream) : key_(key), stream_(stream) {}
  std::uint32_t next();
  double uniform();                          ///< in [0, 1), 32 bits
  double normal();                           ///< mean 0, variance 1 (Box and Muller 1958)
  std::uint32_t below(std::uint32_t bound);  ///< in [0, bound), without bias (Lemire 2019)

  /// How many numbers next() has returned; go_to() continues from any position of the stream at the same cost.
  std::uint64_t place() const { return counter_ * 4 - static_cast<std::uint64_t>(left_); }
  void go_to(std::uint64_t place);

 private:
  std::uint64_t key_, stream_, counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int left_ = 0;
};

/// A random order of these (Durstenfeld 1964); less than 2^32.
template <class T>
void shuffle(std::span<T> values, RandomStream& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(static_cast<std::uint32_t>(i))]);
}

}  // namespace sinter
