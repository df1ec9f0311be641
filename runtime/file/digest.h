// XXH128 of bytes that come in pieces: distinguishes contents, does not authenticate them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace sinter::runtime {

class Digest {
 public:
  Digest();
  void add(std::span<const std::byte> bytes);
  /// Of all bytes so far: the high half first.
  std::array<std::uint64_t, 2> value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace sinter::runtime
