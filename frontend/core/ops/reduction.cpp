#include "frontend/core/ops/reduction.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

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

Tensor combined(const ir::Sum&, const Arg& a, const Arg& b) { return a + b; }
Tensor combined(const ir::Prod&, const Arg& a, const Arg& b) { return a * b; }
Tensor combined(const ir::Max&, const Arg& a, const Arg& b) { return maximum(a, b); }

/// A reduction of x as another type. Of known values that are wider then, only a piece is converted at a time.
template <class Op>
Tensor reduced_as(DType type, const Op& op, const Tensor& x, const std::source_location& where) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const auto at = [&](const Tensor& t) { return Arg(t, where); };
  const bool widens = !x.is_traced() && size_of(type) > size_of(x.dtype());
  if (!widens || x.shape().elements().factor() <= most) {
    const Tensor converted = cast(at(x), type);
    return apply(op, {&converted}, where);
  }
  const Shape& shape = x.shape();
  const auto axis = std::find_if(shape.begin(), shape.end(), [](Dim dim) { return dim != Dim(1); }) - shape.begin();
  const std::int64_t count = shape[static_cast<std::size_t>(axis)].factor(),
                     each = std::max<std::int64_t>(1, most / (x.shape().elements().factor() / count));
  const bool is_reduced = op.first <= axis && axis < op.last;
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < count; begin += each) {
    const Tensor part = reduced_as(type, op, slice(at(x), axis, begin, std::min(count, begin + each)), where);
    if (is_reduced && begin) parts[0] = combined(op, at(parts[0]), at(part));
    else parts.push_back(part);
  }
  return is_reduced ? parts[0] : concat(parts, axis < op.first ? axis : axis - (op.last - op.first), where);
}

/// The type in which numbers of a type are reduced, if the function does not choose another.
DType type_of_numbers(DType dtype) { return dtype == DType::u8 || dtype == DType::boolean ? DType::i32 : dtype; }

/// Totals, which `in` makes in a type; of integers `summed`, the name of the function, they fit that of the result, or that is an error: at once
/// where the values are known, else where they are computed, which the f32 totals tell.
Tensor totals(const IntegerSum& sum, DType type, const char* summed, const std::source_location& where, const std::function<Tensor(DType)>& in) {
  const Tensor total = in(type);
  if (!summed || always_fits(sum)) return total;
  if (!sum.x.is_traced()) {
    require_exact(sum, summed, where);
    return total;
  }
  const Tensor rough = in(DType::f32);
  return apply(ir::ExactTotal{}, {&total, &rough}, where);
}

/// Reduces runs of adjacent axes from the last to the first, so that the remaining axes keep their numbers, in the type of numbers() or this one.
/// `summed` names the function whose totals must be exact.
template <class Op>
Tensor reduce(const Arg& arg, const Axes& axes, bool keepdims, const char* summed = nullptr, std::optional<DType> as = {}) {
  const std::source_location& where = arg.where();
  Tensor x = arg.as(DType::f32);
  const DType type = as.value_or(type_of_numbers(x.dtype()));
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
    x = totals({x, first, last}, type, summed, where, [&](DType as_type) { return reduced_as(as_type, op, x, where); });
    last = first;
  }
  x = cast({x, where}, type);
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
  const Tensor rough = reduce<ir::Sum>(x, axes, keepdims, nullptr, DType::f32);
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
  const Tensor total = plain ? reduce<ir::Sum>(x, axes, keepdims, nullptr, DType::f32) : rounded_sum(x, axes, keepdims);
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
  return totals({x, at, at + 1, true}, type_of_numbers(x.dtype()), "cumsum", arg.where(), [&](DType type) {
    const Tensor converted = cast({x, arg.where()}, type);
    return apply(ir::Cumsum{static_cast<std::int64_t>(at), false}, {&converted}, arg.where());
  });
}

}  // namespace sinter
