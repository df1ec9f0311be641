// What the rules of error bounds share.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/compile/bounds.h"
#include "ir/reference.h"

namespace sinter {

/// x with each element replaced by f(value, error).
template <class F>
ir::Array mapped(const Bounded& x, F&& f) {
  ir::Array result = x.value;
  for (std::size_t i = 0; i < result.data.size(); ++i) result.data[i] = f(x.value.data[i], x.error[i]);
  return result;
}

/// The errors as an f32 array of x's shape.
inline ir::Array errors_of(const Bounded& x) {
  ir::Array result = mapped(x, [](double, double e) { return e; });
  result.dtype = DType::f32;
  return result;
}

inline bool has_error(const Bounded& x) {
  return std::any_of(x.error.begin(), x.error.end(), [](double e) { return e != 0; });
}

inline ir::Array evaluate(const ir::Op& op, const Type& type, std::vector<ir::Array> in, Sizes sizes) {
  std::vector<const ir::Array*> pointers;
  for (const ir::Array& a : in) pointers.push_back(&a);
  return ir::evaluate(op, type, pointers, sizes);
}

/// Whether two values may be equal, or in another order, within the sum of their errors; an error without limit may hide a NaN.
inline bool may_be_equal(double apart, double slack) { return std::isinf(slack) || (slack > 0 && apart <= slack); }

}  // namespace sinter
