#include "frontend/core/ops/random.h"

#include "frontend/core/operands.h"
#include "frontend/core/ops.h"

namespace sinter {

Tensor random_bits(const Shape& shape, const Arg& draw, std::uint64_t stream) {
  const Tensor index = iota(shape, draw.where()), number = draw.as(DType::u32);
  if (number.type() != Type{DType::u32, {}})
    fail(draw.where(), str("random numbers: draw must be a u32 scalar, as a counter that each step increments is, got ", number.type()));
  const auto key = static_cast<std::uint32_t>(stream ^ (stream >> 32));
  return apply(ir::Philox{{}, key}, {&index, &number}, draw.where());
}

Tensor random_uniform(const Shape& shape, const Arg& draw, std::uint64_t stream) {
  // 2^32 - 1 rounds up to 2^32.
  return minimum(cast(random_bits(shape, draw, stream), DType::f32) * 0x1p-32, 1 - 0x1p-24);
}

Tensor random_normal(const Shape& shape, const Arg& draw, std::uint64_t stream) {
  constexpr double turn = 6.283185307179586;
  const Tensor length = random_uniform(shape, draw, stream), angle = random_uniform(shape, draw, stream ^ 0x5bd1e995);
  return sqrt(log(1 - length) * -2) * cos(angle * double{static_cast<float>(turn)});
}

}  // namespace sinter
