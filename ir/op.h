// Ops. An op is one struct in ir/ops: its name, attributes, shape rule, meaning, gradient rule and test samples.
//
//   static constexpr std::string_view name;
//   static constexpr auto fields = std::tuple{field("alpha", &Op::alpha), ...};
//   Type infer(std::span<const Type> in) const;                 shape rule; throws UserError without a where-part
//   Access access(in, result) const;                            how it walks (ir/access.h); pointwise ops have it from their base
//   meaning:  S eval(const S& x, ...) const                     pointwise ops, written once for every kind of number S
//             void reference(Reference& r) const                all others: the definition, in double
//   Values vjp(const Vjp& v) const                              gradient rule, or `using no_gradient = void;`
//   static std::vector<Sample<Op>> samples()                    inputs on which every path of the op is tested
//
// eval is instantiated for double (the reference), for blocks of an array (runtime) and for LLVM values (codegen). select, minimum, exp, …
// are found by argument-dependent lookup; comparisons return mask_t<S>. Constants are written S(0.5f).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/access.h"
#include "ir/attributes.h"
#include "ir/error.h"
#include "ir/type.h"
#include "ir/value.h"

namespace sinter::ir {

// ---- numbers that eval works on ----
template <class S>
struct Mask {
  using type = typename S::mask_type;
};
template <>
struct Mask<double> {
  using type = bool;
};
template <class S>
using mask_t = typename Mask<S>::type;

using std::cos;
using std::erf;
using std::exp;
using std::exp2;
using std::expm1;
using std::floor;
using std::log;
using std::log1p;
using std::pow;
using std::rint;
using std::sin;
using std::sqrt;
using std::tanh;
inline double select(bool condition, double a, double b) { return condition ? a : b; }

/// The meaning of ops on u32, in the reference: wraps.
struct Word {
  std::uint32_t value = 0;
  Word() = default;
  explicit Word(std::uint32_t x) : value(x) {}
  explicit Word(double x) : value(static_cast<std::uint32_t>(x)) {}
};
inline Word operator*(Word a, Word b) { return Word(a.value * b.value); }
inline Word operator^(Word a, Word b) { return Word(a.value ^ b.value); }
/// The upper half of the 64-bit product.
inline Word multiply_high(Word a, Word b) { return Word(static_cast<std::uint32_t>((std::uint64_t{a.value} * b.value) >> 32)); }

// ---- gradient rules ----
/// What a gradient rule sees: the op's inputs x, its output y and the gradient dy of the loss with respect to y.
/// It returns one gradient per input, in the shape of y for pointwise ops (the caller undoes broadcasting), or an empty Value for none.
/// Prefer rules in y: a rule that reads x keeps x alive and prevents fusing the op with the one that computes x.
struct Vjp {
  Graph& graph;
  std::span<const Value> x;
  Value y, dy;
};

// ---- the double reference ----
/// A dense array of double with its type's rules: integers are stored exactly and wrap as their type does.
struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> extents;
  std::vector<double> data;

  Array() = default;
  Array(DType type, std::vector<std::int64_t> dims);
  std::int64_t rank() const { return static_cast<std::int64_t>(extents.size()); }
  Shape shape() const { return Shape::fixed(extents); }
  std::int64_t elements() const { return static_cast<std::int64_t>(data.size()); }
  /// Product of the extents in [first, last).
  std::int64_t product(std::size_t first, std::size_t last) const;
};
/// value, wrapped or truncated as the type does: casts and integer arithmetic.
double wrap(DType type, double value);
/// f of two numbers in the arithmetic of an element type, where integers wrap. f takes two double and two std::uint64_t.
template <class F>
double combine(DType type, double a, double b, F&& f) {
  if (is_float(type)) return f(a, b);
  const auto bits = [](double x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); };
  return wrap(type, static_cast<double>(f(bits(a), bits(b)) & 0xffffffff));
}

struct Reference {
  std::span<const Array* const> in;
  Array& out;  ///< extents and type set, data zero
  Sizes sizes;
};

// ---- test samples ----
struct SampleInput {
  Type type;
  double low = -2, high = 2;  ///< values are uniform in [low, high]; integers in [low, high)
};
template <class Op>
struct Sample {
  Op op;
  std::vector<SampleInput> inputs;
};

// ---- pointwise ops ----
/// Element type rules of pointwise ops. Each throws UserError if an operand does not fit.
struct Floats {  ///< f32 → f32
  static DType result(std::span<const Type> in);
};
struct Numbers {  ///< all the same of f32, i32, u32 → the same
  static DType result(std::span<const Type> in);
};
struct Words {  ///< u32 → u32; evaluated on Word in the reference
  static DType result(std::span<const Type> in);
};
struct Compares {  ///< all the same of any type → bool
  static DType result(std::span<const Type> in);
};

Type infer_elementwise(std::span<const Type> in, std::size_t arity, DType (*rule)(std::span<const Type>));

/// Base of the pointwise ops: operands broadcast, one result element per element.
template <int Arity, class Rule = Floats>
struct Elementwise {
  static constexpr int arity = Arity;
  static constexpr double ulps = 0.5;  ///< greatest error of both kernels, in units in the last place of the exact result; ops may override it
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const { return infer_elementwise(in, Arity, &Rule::result); }
  Access access(std::span<const Type> in, const Shape& result) const { return pointwise_access(in, result, 1); }
};

template <class Op>
concept IsElementwise = requires { Op::arity; };

/// The range of an operand's values in samples.
struct Range {
  double low = -2, high = 2;
};
std::vector<std::vector<SampleInput>> elementwise_inputs(std::span<const Range> ranges, DType dtype = DType::f32);

/// Samples for a pointwise op: equal shapes, a broadcast row, a broadcast column and scalars, with N and without.
template <class Op>
std::vector<Sample<Op>> elementwise_samples(std::initializer_list<Range> ranges, Op op = {}, DType dtype = DType::f32) {
  std::vector<Sample<Op>> result;
  for (auto& inputs : elementwise_inputs(std::span(ranges.begin(), ranges.size()), dtype)) result.push_back({op, std::move(inputs)});
  return result;
}

// ---- checks that shape rules share ----
void require_inputs(std::span<const Type> in, std::size_t count);
void require_dtype(const Type& type, DType dtype, std::string_view what);

}  // namespace sinter::ir
