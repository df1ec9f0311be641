#include "frontend/core/ops/comparison.h"

#include "frontend/core/operands.h"

namespace sinter {

namespace {

/// The operand, which must be bool.
Arg truth(const Arg& x, const char* op) {
  const Tensor t = x.as(DType::boolean);
  if (t.dtype() != DType::boolean) fail(x.where(), str(op, " needs bool operands, got ", t.type(), "; compare first, as in x > 0"));
  return {t, x.where()};
}

}  // namespace

Tensor operator<(const Arg& a, const Arg& b) { return binary(ir::Less{}, a, b); }
Tensor operator<=(const Arg& a, const Arg& b) { return binary(ir::LessEqual{}, a, b); }
Tensor operator>(const Arg& a, const Arg& b) { return binary(ir::Less{}, b, a); }
Tensor operator>=(const Arg& a, const Arg& b) { return binary(ir::LessEqual{}, b, a); }
Tensor operator==(const Arg& a, const Arg& b) { return equal(a, b); }
Tensor operator!=(const Arg& a, const Arg& b) { return not_equal(a, b); }
Tensor equal(const Arg& a, const Arg& b) { return binary(ir::Equal{}, a, b); }
Tensor not_equal(const Arg& a, const Arg& b) { return binary(ir::NotEqual{}, a, b); }

Tensor logical_and(const Arg& a, const Arg& b) { return where(a, truth(b, "logical_and"), {0.0, a.where()}); }
Tensor logical_or(const Arg& a, const Arg& b) { return where(a, {1.0, a.where()}, truth(b, "logical_or")); }
Tensor logical_not(const Arg& x) { return equal(truth(x, "logical_not"), {0.0, x.where()}); }

Tensor where(const Arg& condition, const Arg& a, const Arg& b) {
  const DType dtype = common_dtype(a, b);
  const Tensor c = condition.as(DType::boolean), x = a.as(dtype), y = b.as(dtype);
  return apply(ir::Select{}, {&c, &x, &y}, condition.where());
}

Tensor cast(const Arg& x, DType dtype) {
  const Tensor a = x.as(dtype);
  if (a.dtype() == dtype) return a;
  ir::Cast op;
  op.dtype = dtype;
  return apply(op, {&a}, x.where());
}

}  // namespace sinter
