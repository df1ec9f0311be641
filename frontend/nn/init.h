// Initial values of weights, seeded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "frontend/core/tensor.h"

namespace sinter {

/// Restarts this thread's stream of initial values and of random layers: the same seed and the same order of construction give the same numbers on
/// every machine, whatever other threads do. A thread that never calls it draws from the stream of the last seed() of any; when a second thread
/// does so too, their order would decide the numbers, and drawing throws UserError.
void seed(std::uint64_t value);

/// Makes the initial value of a weight of this shape.
using Initializer = std::function<Tensor(const Shape&)>;

/// Initializers. Random ones draw from the stream of seed(). The fans of a weight [..., in, out] are `in` and `out` times the product of
/// the dimensions before them; they need at least 2 dimensions and throw UserError otherwise.
namespace init {

Initializer constant(float value);
Initializer zeros();
Initializer ones();
/// In [low, high).
Initializer uniform(float low = -0.05f, float high = 0.05f);
Initializer normal(float mean = 0, float deviation = 0.05f);
/// Normal, drawn again where it is more than two deviations from the mean.
Initializer truncated_normal(float mean = 0, float deviation = 0.05f);
/// Glorot and Bengio 2010: uniform in ±sqrt(6 / (in + out)), or normal with variance 2 / (in + out).
Initializer glorot_uniform();
Initializer glorot_normal();
/// He et al. 2015: uniform in ±sqrt(6 / in), or normal with variance 2 / in.
Initializer he_uniform();
Initializer he_normal();
/// LeCun et al. 1998: uniform in ±sqrt(3 / in), or normal with variance 1 / in.
Initializer lecun_uniform();
Initializer lecun_normal();
/// Orthonormal rows or columns, whichever are fewer, times a gain (Saxe et al. 2014).
Initializer orthogonal(float gain = 1);

/// Of one of these, `glorot_uniform` or `uniform(-0.05, 0.05)`; "own" for any other.
std::string name_of(const Initializer& initializer);

/// The next number of the stream of seed(): identifies a stream of random numbers.
std::uint64_t next_stream();

}  // namespace init
}  // namespace sinter
