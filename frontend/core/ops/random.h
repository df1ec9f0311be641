// Random numbers: functions only of the element's index, of `draw` (u32 scalar) and of the stream.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

/// 32 random bits per element (u32). Another `draw` gives new ones: use a counter that each step increments.
Tensor random_bits(const Shape& shape, const Arg& draw, std::uint64_t stream);
/// In [0, 1).
Tensor random_uniform(const Shape& shape, const Arg& draw, std::uint64_t stream);
/// Mean 0, variance 1 (Box and Muller 1958).
Tensor random_normal(const Shape& shape, const Arg& draw, std::uint64_t stream);

}  // namespace sinter
