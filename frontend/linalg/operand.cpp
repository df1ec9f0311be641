#include "frontend/linalg/operand.h"

#include <algorithm>
#include <cmath>

#include "frontend/core/finite.h"
#include "frontend/core/trace.h"

namespace sinter::linalg {

namespace {

constexpr double symmetric_to = 1e-4;  // relative to the greatest element: rounding of sums in f32 is below it, mistakes are above

/// Throws UserError inside a trace, for other element types than f32, no element, and numbers that are not finite.
void require_values(const Call& call, const Tensor& x) {
  if (Trace::current() || x.is_traced())
    throw NoTracedValue(
        Origin::from(call.where, current_layer()).text(),
        str(call.name, " is computed immediately and cannot be traced; call it outside of the compiled function, and pass the result in"));
  if (!x.defined()) call.fail("of a tensor that was never set");
  if (!is_float(x.dtype())) call.fail(str("needs f32, got ", x.type(), "; cast it"));
  if (x.elements() == 0) call.fail(str("needs at least one element, got ", x.type()));
  if (const auto found = first_non_finite(x))
    call.fail(str("needs finite numbers, got ", found->value, " at ", place_text(x.shape(), found->place), " of ", x.type()));
}

}  // namespace

void Call::fail(const std::string& message) const { throw UserError(Origin::from(where, current_layer()).text(), str(name, " ", message)); }

void require_matrix(const Call& call, const Tensor& a) {
  require_values(call, a);
  if (a.rank() != 2) call.fail(str("needs a matrix, got ", a.type(), "; one matrix per call"));
}

void require_square(const Call& call, const Tensor& a, const char* otherwise) {
  require_matrix(call, a);
  if (a.dim(0) != a.dim(1)) call.fail(str("needs a square matrix, got ", a.type(), otherwise));
}

void require_symmetric(const Call& call, const Tensor& a) {
  require_square(call, a);
  const Layout at = a.view().layout();
  const auto element = [&](std::int64_t r, std::int64_t c) { return a.view().as<float>()[r * at.stride + c]; };
  float greatest = 0;
  for (std::int64_t r = 0; r < at.rows; ++r)
    for (std::int64_t c = 0; c < at.cols; ++c) greatest = std::max(greatest, std::abs(element(r, c)));
  for (std::int64_t r = 0; r < at.rows; ++r)
    for (std::int64_t c = 0; c < r; ++c)
      if (std::abs(static_cast<double>(element(r, c)) - element(c, r)) > symmetric_to * greatest)
        call.fail(str("needs a symmetric matrix, got ", element(r, c), " at [", r, ", ", c, "] and ", element(c, r), " at [", c, ", ", r,
                      "]; pass (a + transpose(a)) / 2 if that is meant"));
}

void require_right_side(const Call& call, const Tensor& a, const Tensor& b) {
  require_matrix(call, a);
  require_values(call, b);
  if (b.rank() < 1 || b.rank() > 2 || b.dim(0) != a.dim(0))
    call.fail(str("needs a right-hand side of shape [", a.dim(0), "] or [", a.dim(0), ", k] beside a matrix ", a.type(), ", got ", b.type()));
}

}  // namespace sinter::linalg
