// Random numbers: functions of the element's number, of `draw` (u32 scalar) and of the stream, and of nothing else.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

/// 32 random bits an element (u32). Draw again with another number: a counter that each step adds 1 to.
Tensor random_bits(const Shape& shape, const Arg& draw, std::uint64_t stream);
/// In [0, 1).
Tensor random_uniform(const Shape& shape, const Arg& draw, std::uint64_t stream);
/// Mean 0, variance 1 (Box and Muller 1958).
Tensor random_normal(const Shape& shape, const Arg& draw, std::uint64_t stream);

}  // namespace sinter
