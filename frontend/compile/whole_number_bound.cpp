#include "frontend/compile/whole_number_bound.h"

#include <cmath>
#include <limits>

#include "frontend/compile/bound_parts.h"

namespace sinter {

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Unlimited where the error that reaches an element, `uncertain`, is not 0.
void carry_any_number(Bounded& result, const ir::Array& uncertain) {
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (uncertain.data[i] > 0) result.error[i] = unlimited;
}

}  // namespace

void carry_wrapped(Bounded& result, const Bounded& real) {
  const DType dtype = result.value.dtype;
  const auto leaves = [&](double x) { return !std::isfinite(x) || ir::wrap(dtype, x) != std::trunc(x); };
  for (std::size_t i = 0; i < result.error.size(); ++i) {
    const double value = real.value.data[i], e = real.error[i];
    const bool wraps = value != result.value.data[i] || leaves(value + e) || leaves(value - e);
    result.error[i] = e > 0 && wraps ? unlimited : e;
  }
}

void carry_whole_sum(Bounded& result, const ir::Op& op, const Type& type, const Bounded& in, Sizes sizes) {
  if (!has_error(in)) return;
  const Type reals{DType::f32, type.shape};
  ir::Array numbers = in.value;
  numbers.dtype = DType::f32;
  carry_wrapped(result, {evaluate(op, reals, {std::move(numbers)}, sizes), evaluate(op, reals, {errors_of(in)}, sizes).data});
}

void carry_whole_product(Bounded& result, const ir::Prod& op, const Type& type, const Bounded& in, Sizes sizes) {
  carry_any_number(result, evaluate(ir::Sum{op.first, op.last}, {DType::f32, type.shape}, {errors_of(in)}, sizes));
}

void carry_random_bits(Bounded& result, const Type& type, std::span<const Bounded* const> in, Sizes sizes) {
  carry_any_number(result, evaluate(ir::Add{}, {DType::f32, type.shape}, {errors_of(*in[0]), errors_of(*in[1])}, sizes));
}

}  // namespace sinter
