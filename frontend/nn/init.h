// Initial values of weights, seeded.
#pragma once

#include <cstdint>

#include "frontend/core/tensor.h"

namespace sinter {

/// Starts the stream of initial values and shuffles anew: the same seed and the same order of construction give the same numbers on every machine.
void seed(std::uint64_t value);

namespace init {

enum class Scheme { zeros, ones, glorot_uniform, glorot_normal };

/// Glorot and Bengio 2010: uniform in ±sqrt(6 / (fan_in + fan_out)), or normal with variance 2 / (fan_in + fan_out); for [in, out] matrices the fans
/// are the two dimensions. Draws from the process's stream.
Tensor make(Scheme scheme, const Shape& shape);

}  // namespace init
}  // namespace sinter
