#include "frontend/core/ops.h"

#include <algorithm>
#include <limits>

#include "frontend/core/apply.h"
#include "frontend/core/origin.h"

namespace sinter {

namespace {

Tensor number(double value, DType dtype, const std::source_location& where) {
  const double exact = is_float(dtype) ? static_cast<double>(static_cast<float>(value)) : value;
  if (ir::wrap(dtype, exact) != exact && exact == exact)
    throw UserError(Origin::from(where, current_layer()).text(), str("the number ", value, " is not exact in ", dtype));
  if (Trace* trace = Trace::current()) return trace->apply(ir::Constant{exact, dtype}, {}, where);
  return Tensor::filled({dtype, {}}, exact);
}

Tensor unary(const ir::Op& op, const Arg& x) {
  const Tensor a = x.as(DType::f32);
  return apply(op, {&a}, x.where());
}

Tensor binary(const ir::Op& op, const Arg& a, const Arg& b) {
  const DType dtype = a.is_number() ? (b.is_number() ? DType::f32 : b.tensor().dtype()) : a.tensor().dtype();
  const Tensor x = a.as(dtype), y = b.as(dtype);
  return apply(op, {&x, &y}, a.where());
}

/// Reduces runs of adjacent axes from the last to the first, so that the axes still to come keep their numbers.
template <class Op>
Tensor reduce(const Arg& arg, const Axes& axes, bool keepdims) {
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
    x = apply(op, {&x}, arg.where());
    last = first;
  }
  return keepdims ? reshape({x, arg.where()}, kept) : x;
}

/// The operand, which must be bool.
Arg truth(const Arg& x, const char* op) {
  const Tensor t = x.as(DType::boolean);
  if (t.dtype() != DType::boolean)
    throw UserError(Origin::from(x.where(), current_layer()).text(), str(op, " needs bool operands, got ", t.type(), "; compare first, as in x > 0"));
  return {t, x.where()};
}
}  // namespace

Tensor Arg::as(DType dtype) const { return number_ ? number(*number_, dtype, where_) : tensor_; }

Tensor operator+(const Arg& a, const Arg& b) { return binary(ir::Add{}, a, b); }
Tensor operator-(const Arg& a, const Arg& b) { return binary(ir::Sub{}, a, b); }
Tensor operator*(const Arg& a, const Arg& b) { return binary(ir::Mul{}, a, b); }
Tensor operator/(const Arg& a, const Arg& b) { return binary(ir::Div{}, a, b); }
Tensor operator-(const Arg& x) { return unary(ir::Neg{}, x); }
Tensor exp(const Arg& x) { return unary(ir::Exp{}, x); }
Tensor log(const Arg& x) { return unary(ir::Log{}, x); }
Tensor sqrt(const Arg& x) { return unary(ir::Sqrt{}, x); }
Tensor square(const Arg& x) { return unary(ir::Square{}, x); }
Tensor abs(const Arg& x) { return unary(ir::Abs{}, x); }
Tensor sign(const Arg& x) { return unary(ir::Sign{}, x); }
Tensor floor(const Arg& x) { return unary(ir::Floor{}, x); }
Tensor ceil(const Arg& x) { return unary(ir::Ceil{}, x); }
Tensor round(const Arg& x) { return unary(ir::Round{}, x); }
Tensor minimum(const Arg& a, const Arg& b) { return binary(ir::Minimum{}, a, b); }
Tensor maximum(const Arg& a, const Arg& b) { return binary(ir::Maximum{}, a, b); }
Tensor exp2(const Arg& x) { return unary(ir::Exp2{}, x); }
Tensor expm1(const Arg& x) { return unary(ir::Expm1{}, x); }
Tensor log1p(const Arg& x) { return unary(ir::Log1p{}, x); }
Tensor rsqrt(const Arg& x) { return unary(ir::Rsqrt{}, x); }
Tensor pow(const Arg& x, const Arg& y) { return binary(ir::Pow{}, x, y); }
Tensor sin(const Arg& x) { return unary(ir::Sin{}, x); }
Tensor cos(const Arg& x) { return unary(ir::Cos{}, x); }
Tensor erf(const Arg& x) { return unary(ir::Erf{}, x); }

Tensor clip(const Arg& x, float low, float high) {
  if (!(low <= high)) throw UserError(Origin::from(x.where(), current_layer()).text(), str("clip needs low <= high, got ", low, " and ", high));
  return unary(ir::Clip{{}, low, high}, x);
}

Tensor operator<(const Arg& a, const Arg& b) { return binary(ir::Less{}, a, b); }
Tensor operator<=(const Arg& a, const Arg& b) { return binary(ir::LessEqual{}, a, b); }
Tensor operator>(const Arg& a, const Arg& b) { return binary(ir::Less{}, b, a); }
Tensor operator>=(const Arg& a, const Arg& b) { return binary(ir::LessEqual{}, b, a); }
Tensor equal(const Arg& a, const Arg& b) { return binary(ir::Equal{}, a, b); }
Tensor not_equal(const Arg& a, const Arg& b) { return binary(ir::NotEqual{}, a, b); }

Tensor select(const Arg& condition, const Arg& a, const Arg& b) {
  const DType dtype = a.is_number() ? (b.is_number() ? DType::f32 : b.tensor().dtype()) : a.tensor().dtype();
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

Tensor logical_and(const Arg& a, const Arg& b) { return select(a, truth(b, "logical_and"), {0.0, a.where()}); }
Tensor logical_or(const Arg& a, const Arg& b) { return select(a, {1.0, a.where()}, truth(b, "logical_or")); }
Tensor logical_not(const Arg& x) { return equal(truth(x, "logical_not"), {0.0, x.where()}); }

Tensor sigmoid(const Arg& x) { return unary(ir::Sigmoid{}, x); }
Tensor tanh(const Arg& x) { return unary(ir::Tanh{}, x); }
Tensor relu(const Arg& x) { return unary(ir::Relu{}, x); }
Tensor softmax(const Arg& x) { return unary(ir::Softmax{}, x); }
Tensor log_softmax(const Arg& x) { return unary(ir::LogSoftmax{}, x); }

Tensor reshape(const Arg& x, const std::vector<Dim>& dims) {
  const Tensor a = x.as(DType::f32);
  const auto fail = [&](const std::string& rule) { throw UserError(Origin::from(x.where(), current_layer()).text(), "reshape: " + rule); };
  std::vector<Dim> wanted = dims;
  const auto open = std::find(wanted.begin(), wanted.end(), Dim(-1));
  if (open != wanted.end()) {
    *open = 1;
    if (std::find(wanted.begin(), wanted.end(), Dim(-1)) != wanted.end()) fail("only one dimension may be -1");
    const Dim rest = Shape(std::span<const Dim>(wanted)).elements(), all = a.shape().elements();
    if (rest.factor() == 0 || all.factor() % rest.factor() || (rest.is_batch() && !all.is_batch()))
      fail(str("cannot fit ", a.shape(), " with what is left to -1"));
    const std::int64_t factor = all.factor() / rest.factor();
    *open = all.is_batch() && !rest.is_batch() ? Dim::batch(factor) : Dim(factor);
  }
  const Shape shape{std::span<const Dim>(wanted)};
  return a.shape() == shape ? a : apply(ir::Reshape{shape}, {&a}, x.where());
}

Tensor broadcast_to(const Arg& x, const Shape& shape) {
  const Tensor a = x.as(DType::f32);
  return a.shape() == shape ? a : apply(ir::Broadcast{shape}, {&a}, x.where());
}

Tensor transpose(const Arg& x) { return unary(ir::Transpose{}, x); }

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

/// `axis` from 0, of `rank` dimensions. Throws UserError.
std::size_t resolved_axis(std::int64_t axis, std::size_t rank, const std::source_location& where) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    throw UserError(Origin::from(where, current_layer()).text(), str("axis ", axis, " does not exist in a tensor of ", rank, " dimensions"));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

/// The size of an axis, which must be fixed.
std::int64_t fixed_size(const Tensor& x, std::size_t axis, const char* op, const std::source_location& where) {
  if (!x.shape()[axis].is_fixed())
    throw UserError(Origin::from(where, current_layer()).text(),
                    str(op, " cannot take a fixed part of the batch, got axis ", axis, " of ", x.type(), "; do it before the compiled step"));
  return x.shape()[axis].factor();
}

}  // namespace

Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis, std::source_location where) {
  if (parts.empty()) throw UserError(Origin::from(where, current_layer()).text(), "concat needs at least 1 tensor, got none");
  std::vector<const Tensor*> in;
  for (const Tensor& part : parts) in.push_back(&part);
  return apply(ir::Concat{static_cast<std::int64_t>(resolved_axis(axis, parts[0].rank(), where))}, in, where);
}

Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis, std::source_location where) {
  if (parts.empty()) throw UserError(Origin::from(where, current_layer()).text(), "stack needs at least 1 tensor, got none");
  const std::size_t at = resolved_axis(axis, parts[0].rank() + 1, where);
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    const Shape shape = part.shape().insert(std::min(at, part.rank()), 1);
    rows.push_back(reshape({part, where}, {shape.begin(), shape.end()}));
  }
  return concat(rows, static_cast<std::int64_t>(at), where);
}

Tensor slice(const Arg& arg, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  const std::int64_t size = fixed_size(x, at, "slice", arg.where());
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  if (begin < 0 || begin >= end || end > size)
    throw UserError(Origin::from(arg.where(), current_layer()).text(),
                    str("slice [", begin, ", ", end, ") of axis ", at, " of ", x.type(), " is empty or outside"));
  return apply(ir::Slice{static_cast<std::int64_t>(at), begin, end - begin}, {&x}, arg.where());
}

std::vector<Tensor> split(const Arg& arg, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  const std::int64_t size = fixed_size(x, at, "split", arg.where());
  std::int64_t total = 0;
  for (const std::int64_t part : sizes) total += part;
  if (total != size)
    throw UserError(Origin::from(arg.where(), current_layer()).text(),
                    str("the sizes must add up to ", size, ", axis ", at, " of ", x.type(), ", got ", total));
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t part : sizes) {
    parts.push_back(slice({x, arg.where()}, static_cast<std::int64_t>(at), begin, begin + part));
    begin += part;
  }
  return parts;
}

Tensor pad(const Arg& arg, std::int64_t axis, std::int64_t before, std::int64_t after, float value) {
  const Tensor x = arg.as(DType::f32);
  const std::size_t at = resolved_axis(axis, x.rank(), arg.where());
  fixed_size(x, at, "pad", arg.where());
  return apply(ir::Pad{static_cast<std::int64_t>(at), before, after, value}, {&x}, arg.where());
}

Tensor iota(const Shape& shape, std::source_location where) { return apply(ir::Iota{shape}, {}, where); }

Tensor sum(const Arg& x, const Axes& axes, bool keepdims) { return reduce<ir::Sum>(x, axes, keepdims); }
Tensor max(const Arg& x, const Axes& axes, bool keepdims) { return reduce<ir::Max>(x, axes, keepdims); }

Tensor mean(const Arg& x, const Axes& axes, bool keepdims) {
  const Shape shape = x.as(DType::f32).shape();
  Dim count = 1;
  for (const std::size_t axis : with_origin(x, [&] { return axes.resolve(shape); })) count = count * shape[axis];
  const Tensor total = reduce<ir::Sum>(x, axes, keepdims);
  if (count.is_fixed()) return Arg(total, x.where()) / Arg(static_cast<double>(count.factor()), x.where());
  return Arg(total, x.where()) / Arg(apply(ir::Extent{count}, {}, x.where()), x.where());
}

Tensor min(const Arg& x, const Axes& axes, bool keepdims) {
  const auto at = [&](const Tensor& t) { return Arg(t, x.where()); };
  return -at(max(at(-x), axes, keepdims));
}

Tensor prod(const Arg& x, const Axes& axes, bool keepdims) { return reduce<ir::Prod>(x, axes, keepdims); }

Tensor logsumexp(const Arg& x, const Axes& axes, bool keepdims) {
  const auto at = [&](const Tensor& t) { return Arg(t, x.where()); };
  // Without the greatest, which would make infinity minus infinity where it is infinite.
  const Tensor greatest = max(x, axes, true).detach();
  const Tensor shift = select(at(abs(at(greatest)) <= at(Tensor(std::numeric_limits<float>::max()))), at(greatest), Arg(0.0, x.where()));
  const Tensor kept = at(log(at(sum(at(exp(at(x - at(shift)))), axes, true)))) + at(shift);
  return keepdims ? kept : sum(at(kept), axes);
}

Tensor variance(const Arg& x, const Axes& axes, bool keepdims) {
  const auto at = [&](const Tensor& t) { return Arg(t, x.where()); };
  return mean(at(square(at(x - at(mean(x, axes, true))))), axes, keepdims);
}

Tensor cumsum(const Arg& arg, std::int64_t axis) {
  const Tensor x = arg.as(DType::f32);
  return apply(ir::Cumsum{static_cast<std::int64_t>(resolved_axis(axis, x.rank(), arg.where())), false}, {&x}, arg.where());
}

Tensor argmax(const Arg& x) { return unary(ir::Argmax{}, x); }

Tensor matmul(const Arg& a, const Arg& b, bool transpose_a, bool transpose_b) {
  if (!a.is_number() && a.tensor().rank() > 2) return binary(ir::BatchMatmul{transpose_a, transpose_b}, a, b);
  return binary(ir::Matmul{transpose_a, transpose_b}, a, b);
}

Tensor gather_rows(const Arg& table, const Arg& index) {
  const Tensor t = table.as(DType::f32), i = index.as(DType::i32);
  return apply(ir::GatherRows{}, {&t, &i}, table.where());
}

Tensor scatter_add_rows(const Arg& index, const Arg& updates, std::int64_t rows) {
  const Tensor i = index.as(DType::i32), u = updates.as(DType::f32);
  return apply(ir::ScatterAddRows{rows}, {&i, &u}, index.where());
}

Tensor take_along(const Arg& x, const Arg& index) {
  const Tensor a = x.as(DType::f32), i = index.as(DType::i32);
  return apply(ir::TakeAlong{}, {&a, &i}, x.where());
}

Tensor scatter_add_along(const Arg& index, const Arg& updates, std::int64_t cols) {
  const Tensor i = index.as(DType::i32), u = updates.as(DType::f32);
  return apply(ir::ScatterAddAlong{cols}, {&i, &u}, index.where());
}

TopK top_k(const Arg& arg, std::int64_t k) {
  const Tensor x = arg.as(DType::f32);
  const Tensor indices = apply(ir::TopK{k}, {&x}, arg.where());
  return {take_along({x, arg.where()}, {indices, arg.where()}), indices};
}

Tensor one_hot(const Arg& index, std::int64_t depth) {
  const Tensor i = index.as(DType::i32);
  return apply(ir::OneHot{depth}, {&i}, index.where());
}

Tensor random_bits(const Shape& shape, const Arg& draw, std::uint64_t stream) {
  const Tensor index = iota(shape, draw.where()), number = draw.as(DType::u32);
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
