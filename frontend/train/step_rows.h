// Batches of sequences, padded to one length.
#pragma once

#include <cstdint>
#include <span>

#include "frontend/train/sequences.h"

namespace sinter {

/// Where the steps of a batch lie.
struct StepRows {
  Tensor row;     ///< i32 [samples, T]: of the values of all sequences; 0 in padding
  Tensor exists;  ///< boolean [samples, T]
};

/// Of the sequences with these numbers, in a batch of so many steps. Throws UserError for a longer sequence.
StepRows step_rows(const Sequences& all, std::span<const std::int32_t> numbers, std::int64_t steps, PaddingSide side);

/// The values [steps, features...] at these rows, and 0 where none exists: [samples, T, features...].
Tensor padded_steps(const Tensor& values, const Tensor& row, const Tensor& exists);

}  // namespace sinter
