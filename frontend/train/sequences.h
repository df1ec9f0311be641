// Sequences of different lengths, as data sets have them: without padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// Where a batch, which is as long as the longest sequence in it, has padding.
enum class PaddingSide : std::uint8_t { behind, before };
/// Which steps of a sequence that is too long are kept.
enum class Keep : std::uint8_t { first, last };

/// Any number of sequences, one behind the other in one array. Copies share the values.
class Sequences {
 public:
  Sequences() = default;
  /// values [steps, features...] of all sequences; number i has those from offsets[i] to offsets[i + 1], or none. Throws UserError unless the offsets
  /// begin with 0, never descend and end with the number of steps.
  Sequences(Tensor values, std::vector<std::int64_t> offsets);
  /// Of word numbers or the like, i32. Throws UserError for none.
  explicit Sequences(const std::vector<std::vector<std::int32_t>>& lists);
  /// padded [n, T, features...], of which each sequence has so many steps, at the front or, with PaddingSide::before, at the back; all T of each, if
  /// no lengths are given. Throws UserError for a length outside [0, T] and another number of them.
  static Sequences from_padded(const Tensor& padded, std::span<const std::int64_t> lengths = {}, PaddingSide side = PaddingSide::behind);

  std::int64_t size() const { return offsets_ ? static_cast<std::int64_t>(offsets_->size()) - 1 : 0; }
  /// Of all sequences together.
  std::int64_t steps() const { return offsets_ ? offsets_->back() : 0; }
  std::int64_t length(std::int64_t sequence) const;
  std::int64_t longest() const;
  const Tensor& values() const { return values_; }
  std::span<const std::int64_t> offsets() const { return offsets_ ? std::span<const std::int64_t>(*offsets_) : std::span<const std::int64_t>(); }
  /// [n, T, features...]: T stands for lengths that differ.
  Type type() const;

  /// Sequences [begin, end), copied. Throws UserError if there are none.
  Sequences slice(std::int64_t begin, std::int64_t end) const;
  /// The sequences with these numbers, in this order, copied. Throws UserError for none, and for a number outside of [0, size()).
  Sequences select(std::span<const std::int32_t> numbers) const;
  /// At most so many steps of each. Throws UserError for less than 1.
  Sequences truncated(std::int64_t most, Keep keep) const;
  /// Padded with zeros to the longest one, or to so many steps: [n, T, features...]. Throws UserError for a longer sequence.
  Tensor padded(PaddingSide side = PaddingSide::behind, std::int64_t steps = 0) const;

 private:
  Tensor values_;
  std::shared_ptr<const std::vector<std::int64_t>> offsets_;
};

}  // namespace sinter
