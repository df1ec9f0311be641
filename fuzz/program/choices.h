// Decisions made of bytes: what a fuzzer varies becomes a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter::fuzz {

class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// A number below `count`, which takes a byte, or two above 256. 0 once the bytes are used up.
  std::size_t below(std::size_t count) {
    if (count <= 1) return 0;
    std::size_t number = take();
    if (count > 256) number = number << 8 | take();
    return number % count;
  }
  /// Never once the bytes are used up.
  bool one_in(std::size_t count) { return below(count) == count - 1; }
  template <class List>
  const auto& among(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }
  bool used_up() const { return at_ >= bytes_.size(); }

 private:
  std::size_t take() { return used_up() ? 0 : bytes_[at_++]; }
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

/// The bytes that stand for a seed, where nobody fuzzes.
std::vector<std::uint8_t> bytes_of_seed(std::uint64_t seed);

}  // namespace sinter::fuzz
