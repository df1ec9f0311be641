#include "fuzz/program/recipes.h"

#include <algorithm>

namespace sinter::fuzz {

using ir::Value;

// ---- leaves, and what has no operands ----

Value make(Builder& b, const ir::Input&) {
  Shape shape = b.shape(1 + b.choose.below(4)).at(1).with(0, Dim::batch());
  if (shape.rank() > 1 && b.choose.below(2)) shape = shape.with(1 + b.choose.below(shape.rank() - 1), b.length());
  return b.leaf({b.dtype(), shape});
}

Value make(Builder& b, const ir::State&) { return b.leaf({b.dtype(), b.shape().at(1)}); }

Value make(Builder& b, const ir::Constant&) {
  constexpr double floats[] = {0.5, 0, 1, -1, 2, 0.1f, -0.75, 3, 1e-3f, 100}, whole[] = {1, 0, 2, 3, 7, 31};
  const DType dtype = b.choose.one_in(4) ? b.dtype() : DType::f32;
  const double value = is_float(dtype)           ? b.choose.among(floats)
                       : dtype == DType::boolean ? static_cast<double>(b.choose.below(2))
                                                 : b.choose.among(whole);
  return b.add(ir::Constant{value, dtype}, {});
}

Value make(Builder& b, const ir::Extent&) { return b.add(ir::Extent{b.choose.below(2) ? b.length() : b.batch()}, {}); }

Value make(Builder& b, const ir::Iota&) { return b.add(ir::Iota{b.shape()}, {}); }

namespace {

// ---- pointwise ops ----

template <class T>
void choose_attribute(Builder& b, T& attribute) {
  constexpr float floats[] = {0.5f, -0.5f, 0, 1, -1.25f, 2};
  if constexpr (std::is_same_v<T, float>) attribute = b.choose.among(floats);
  else if constexpr (std::is_same_v<T, DType>) attribute = b.dtype();
  else if constexpr (std::is_same_v<T, std::int64_t>) attribute = static_cast<std::int64_t>(b.choose.below(1000));
  else static_assert(!sizeof(T), "say how this attribute of a pointwise op is chosen");
}

/// What all operands are of, but a condition.
template <class O>
DType operand_dtype(Builder& b) {
  if constexpr (std::is_same_v<O, ir::Cast> || std::is_same_v<O, ir::Select> || std::is_base_of_v<ir::Elementwise<O::arity, ir::Compares>, O>)
    return b.choose.below(2) ? DType::f32 : b.dtype();
  else if constexpr (std::is_base_of_v<ir::Elementwise<O::arity, ir::Numbers>, O>) return b.numbers();
  else return DType::f32;
}

/// Into (0.5, 1.5), where all functions are defined and none is large.
Value squashed(Builder& b, Value x) { return b.add(ir::Add{}, {b.add(ir::Sigmoid{}, {x}), b.add(ir::Constant{0.5}, {})}); }

template <class O>
Value make_pointwise(Builder& b, O op) {
  std::apply([&](const auto&... f) { (choose_attribute(b, op.*(f.member)), ...); }, O::fields);
  if constexpr (std::is_same_v<O, ir::Clip>) op.high = std::max(op.high, op.low + 0.25f);  // between equal bounds the gradient passes, at a point
  ir::Values in;
  if constexpr (std::is_base_of_v<ir::Elementwise<O::arity, ir::Words>, O>) {
    const Shape shape = b.shape();
    in = {b.word(shape), b.word({})};
  } else {
    const DType dtype = operand_dtype<O>(b);
    in.push_back(b.operand(dtype, [](const Shape&) { return true; }, b.shape()));
    while (in.size() < O::arity) in.push_back(b.beside(dtype, in[0].shape()));
    if constexpr (std::is_same_v<O, ir::Select>) in[0] = b.beside(DType::boolean, in[1].shape());
    else if (O::arity == 2 && b.choose.below(2)) std::swap(in[0], in[1]);
  }
  try {
    return b.add(op, in);
  } catch (const Unfit&) {
    for (Value& v : in) {
      if (!is_float(v.type().dtype)) throw;
      v = squashed(b, v);
    }
    return b.add(op, in);
  }
}

// ---- reductions ----

template <class O>
Value make_reduction(Builder& b, O op) {
  const Value x = b.operand(b.numbers(), [](const Shape& s) { return s.rank() > 0; }, b.shape(1 + b.choose.below(4)));
  const std::size_t first = b.axis(x.shape());
  op.first = static_cast<std::int64_t>(first);
  op.last = static_cast<std::int64_t>(first + 1 + b.choose.below(x.shape().rank() - first));
  return b.add(op, {x});
}

// ---- any op ----

/// On one of its test samples: what an op gets that has just joined the list.
template <class O>
Value make_sample(Builder& b) {
  const auto samples = O::samples();
  const ir::Sample<O>& sample = b.choose.among(samples);
  ir::Values in;
  for (const ir::SampleInput& input : sample.inputs)
    in.push_back(is_float(input.type.dtype) && b.choose.below(2) ? b.floats(input.type.shape) : b.leaf(input.type, input.low, input.high));
  return b.add(sample.op, in);
}

template <class O>
Value add_one(Builder& b) {
  if constexpr (!ir::IsLeaf<O> && !ir::IsScan<O>)
    if (b.choose.one_in(8)) return make_sample<O>(b);
  if constexpr (ir::IsElementwise<O>) return make_pointwise(b, O{});
  else if constexpr (ir::IsReduction<O>) return make_reduction(b, O{});
  else if constexpr (requires { make(b, O{}); }) return make(b, O{});
  else return make_sample<O>(b);
}

template <class... Ops>
constexpr auto table_of(const std::variant<Ops...>*) {
  return std::array<Value (*)(Builder&), sizeof...(Ops)>{&add_one<Ops>...};
}
constexpr auto recipes = table_of(static_cast<const ir::Op*>(nullptr));

}  // namespace

Value add_op(Builder& b, std::size_t op) { return recipes[op](b); }

}  // namespace sinter::fuzz
