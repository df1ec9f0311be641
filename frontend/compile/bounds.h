// The double reference with a bound on the error that correct float code may have: what verify() judges by.
#pragma once

#include <span>
#include <vector>

#include "frontend/core/tensor.h"
#include "ir/graph.h"

namespace sinter {

/// Values in double, and for each by how much a float path may differ.
struct Bounded {
  ir::Array value;
  std::vector<double> error;
};

/// One op: operand errors are carried through (products and sums by their absolute values, others by moving the operand by its error both ways, so
/// that ties of comparisons, relu and argmax are judged by value), and the op's own rounding is added: its `ulps` for pointwise ops,
/// 2·K·2^-24·sum|ab| for sums and products over K terms, K being at most what ir/long_sum.h says of long ones.
Bounded evaluate_bounded(const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes);

/// A tensor's values, exact.
Bounded exact(const Tensor& tensor);
/// Index of the first element of `got` that is off by more than its error allows, or -1. NaN agrees with NaN. `worst` becomes at least the greatest
/// error over its tolerance.
std::int64_t first_difference(const ir::Array& got, const Bounded& wanted, double& worst);

/// How far `got` is from `wanted`, in units in the last place of an f32 of wanted's magnitude; infinite if one is infinite or NaN and the other not.
double ulps_apart(double got, double wanted);

}  // namespace sinter
