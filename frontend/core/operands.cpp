#include "frontend/core/operands.h"

#include "frontend/core/number.h"
#include "frontend/core/ops/arithmetic.h"
#include "frontend/core/ops/comparison.h"

namespace sinter {

namespace {

Tensor number(double value, DType dtype, const std::source_location& where) {
  if (const std::string wrong = misfit(value, dtype); !wrong.empty()) fail(where, wrong);
  const double exact = is_float(dtype) ? static_cast<double>(static_cast<float>(value)) : value;
  if (Trace* trace = Trace::current()) return trace->apply(ir::Constant{exact, dtype}, {}, where);
  return Tensor::filled({dtype, {}}, exact);
}

}  // namespace

Tensor Arg::as(DType dtype) const { return number_ ? number(*number_, dtype, where_) : tensor_; }

Tensor unary(const ir::Op& op, const Arg& x) {
  const Tensor a = x.as(DType::f32);
  return apply(op, {&a}, x.where());
}

Tensor binary(const ir::Op& op, const Arg& a, const Arg& b) {
  const DType dtype = common_dtype(a, b);
  const Tensor x = a.as(dtype), y = b.as(dtype);
  return apply(op, {&x, &y}, a.where());
}

DType common_dtype(const Arg& a, const Arg& b) {
  if (!a.is_number()) return a.tensor().dtype();
  return b.is_number() ? DType::f32 : b.tensor().dtype();
}

Tensor numbers(const Arg& x) {
  const Tensor a = x.as(DType::f32);
  return a.dtype() == DType::u8 || a.dtype() == DType::boolean ? cast({a, x.where()}, DType::i32) : a;
}

Tensor backwards(const Arg& x) {
  const Arg a(numbers(x), x.where());
  if (is_float(a.tensor().dtype())) return -a;
  return Arg(a.tensor().dtype() == DType::u32 ? 4294967295.0 : -1.0, x.where()) - a;
}

void fail(const std::source_location& where, const std::string& rule) { throw UserError(Origin::from(where, current_layer()).text(), rule); }

std::size_t resolved_axis(std::int64_t axis, std::size_t rank, const std::source_location& where) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) fail(where, str("axis ", axis, " does not exist in a tensor of ", rank, " dimensions"));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::int64_t fixed_size(const Tensor& x, std::size_t axis, const char* what, const std::source_location& where) {
  if (!x.shape()[axis].is_fixed())
    fail(where, str(what, " needs an axis of fixed size, got axis ", axis, " of ", x.type(), "; do it before the compiled step"));
  return x.shape()[axis].factor();
}

}  // namespace sinter
