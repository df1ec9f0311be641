#include "frontend/core/ops/reduction.h"

#include <limits>

#include "frontend/core/exact_sum.h"
#include "frontend/core/operands.h"
#include "frontend/core/ops.h"

namespace sinter {

std::vector<std::size_t> Axes::resolve(const Shape& shape) const {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::vector<char> chosen(shape.rank(), !list_);
  if (list_)
    for (const std::int64_t axis : *list_) {
      const std::int64_t at = axis < 0 ? axis + rank : axis;
      if (at < 0 || at >= rank) throw UserError(str("axis ", axis, " does not exist in ", shape, ", which has ", rank, " dimensions"));
      if (chosen[static_cast<std::size_t>(at)]) throw UserError(str("axis ", axis, " is listed twice"));
      chosen[static_cast<std::size_t>(at)] = 1;
    }
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) result.push_back(i);
  return result;
}

namespace {

/// The op's totals; of integers `summed`, the name of the function, they fit the type of the result, or that is an error: at once where the values
/// are known, else where they are computed, which the f32 totals tell.
template <class Op>
Tensor totals(const Op& op, const IntegerSum& sum, const char* summed, const std::source_location& where) {
  const Tensor x = numbers({sum.x, where}), total = apply(op, {&x}, where);
  if (!summed || always_fits(sum)) return total;
  if (!sum.x.is_traced()) {
    require_exact(sum, summed, where);
    return total;
  }
  const Tensor reals = cast({x, where}, DType::f32), rough = apply(op, {&reals}, where);
  return apply(ir::ExactTotal{}, {&total, &rough}, where);
}

/// Reduces runs of adjacent axes from the last to the first, so that the remaining axes keep their numbers. Integers are those of numbers();
/// `summed` names the function whose totals must be exact.
template <class Op>
Tensor reduce(const Arg& arg, const Axes& axes, bool keepdims, const char* summed = nullptr) {
  const std::source_location& where = arg.where();
  Tensor x = arg.as(DType::f32);
  const Shape shape = x.shape();
  std::vector<char> reduced(shape.rank());
  for (const std::size_t axis : with_origin(arg, [&] { return axes.resolve(shape); })) reduced[axis] = 1;
  std::vector<Dim> kept(shape.begin(), shape.end());
  for (std::size_t last = shape.rank(); last > 0;) {
    std::size_t first = last;
    while (first > 0 && reduced[first - 1]) kept[--first] = 1;
    if (first == last) {
      --last;
      continue;
    }
    Op op;
    op.first = static_cast<std::int64_t>(first);
    op.last = static_cast<std::int64_t>(last);
    x = totals(op, {x, first, last}, summed, where);
    last = first;
  }
  x = numbers({x, where});
  return keepdims ? reshape({x, where}, kept) : x;
}

/// Whether f32 holds every sum of so many elements exactly.
bool is_exact_in_f32(DType dtype, Dim count) {
  const std::int64_t most = dtype == DType::boolean ? 1 : dtype == DType::u8 ? 255 : 0;
  return most && count.is_fixed() && count.factor() <= (std::int64_t{1} << 24) / most;
}

/// The sum of integers in f32, rounded once even where it cancels: their wrapping sum is exact but for multiples of 2^32, which the f32 sum tells.
Tensor rounded_sum(const Arg& x, const Axes& axes, bool keepdims) {
  const auto at = [&](const Tensor& t) { return Arg(t, x.where()); };
  const Tensor wrapped = cast(at(reduce<ir::Sum>(x, axes, keepdims)), DType::f32);
  const Tensor rough = reduce<ir::Sum>(at(cast(x, DType::f32)), axes, keepdims);
  const Tensor turns = round(at(at(at(rough) - at(wrapped)) * Arg(0x1p-32, x.where())));
  return at(wrapped) + at(at(turns) * Arg(0x1p32, x.where()));
}

}  // namespace

Tensor sum(const Arg& x, const Axes& axes, bool keepdims) { return reduce<ir::Sum>(x, axes, keepdims, "sum"); }
Tensor prod(const Arg& x, const Axes& axes, bool keepdims) { return reduce<ir::Prod>(x, axes, keepdims); }

Tensor max(const Arg& x, const Axes& axes, bool keepdims) {
  const Tensor greatest = reduce<ir::Max>(x, axes, keepdims);
  return cast({greatest, x.where()}, x.as(DType::f32).dtype());
}

Tensor min(const Arg& x, const Axes& axes, bool keepdims) {
  const Tensor least = backwards({reduce<ir::Max>({backwards(x), x.where()}, axes, keepdims), x.where()});
  return cast({least, x.where()}, x.as(DType::f32).dtype());
}

Tensor mean(const Arg& x, const Axes& axes, bool keepdims) {
  const Shape shape = x.as(DType::f32).shape();
  Dim count = 1;
  for (const std::size_t axis : with_origin(x, [&] { return axes.resolve(shape); })) count = count * shape[axis];
  const DType dtype = x.as(DType::f32).dtype();
  const bool plain = is_float(dtype) || is_exact_in_f32(dtype, count);
  const Tensor total = plain ? reduce<ir::Sum>({cast(x, DType::f32), x.where()}, axes, keepdims) : rounded_sum(x, axes, keepdims);
  if (count.is_fixed()) return Arg(total, x.where()) / Arg(static_cast<double>(count.factor()), x.where());
  return Arg(total, x.where()) / Arg(apply(ir::Extent{count}, {}, x.where()), x.where());
}

Tensor logsumexp(const Arg& x, const Axes& axes, bool keepdims) {
  const auto at = [&](const Tensor& t) { return Arg(t, x.where()); };
  // Subtracts the greatest element only where it is finite: infinity minus infinity is NaN.
  const Tensor greatest = max(x, axes, true).detach();
  const Tensor shift = where(at(abs(at(greatest)) <= at(Tensor(std::numeric_limits<float>::max()))), at(greatest), Arg(0.0, x.where()));
  const Tensor kept = at(log(at(sum(at(exp(at(x - at(shift)))), axes, true)))) + at(shift);
  return keepdims ? kept : sum(at(kept), axes);
}

Tensor variance(const Arg& x, const Axes& axes, bool keepdims) {
  const auto at = [&](const Tensor& t) { return Arg(t, x.where()); };
  return mean(at(square(at(x - at(mean(x, axes, true))))), axes, keepdims);
}

Tensor cumsum(const Arg& arg, std::int64_t axis) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  return totals(ir::Cumsum{static_cast<std::int64_t>(at), false}, {x, at, at + 1, true}, "cumsum", arg.where());
}

}  // namespace sinter
