#include "frontend/compile/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "frontend/compile/bound_parts.h"
#include "frontend/compile/index_bound.h"
#include "frontend/compile/whole_number_bound.h"
#include "frontend/compile/winograd_bound.h"
#include "ir/long_sum.h"

namespace sinter {

namespace {

constexpr double ulp = 0x1p-23;
constexpr double greatest = std::numeric_limits<float>::max();
constexpr double smallest = 0x1p-120;  // below this, results may have been flushed to zero

/// How far the result moves when each operand of a mask moves by its error, up where `up` has its bit, else down; a boolean with an error is the
/// other one. What has an infinite error becomes infinite, or, if `unknown`, NaN or a number. Infinite where the result becomes NaN, or stops being
/// NaN.
std::vector<double> moved(const Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes, unsigned mask,
                          unsigned up, bool unknown) {
  std::vector<ir::Array> operands;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const double sign = up >> k & 1 ? 1 : -1;
    if (!(mask >> k & 1)) operands.push_back(in[k]->value);
    else if (in[k]->value.dtype == DType::boolean) operands.push_back(mapped(*in[k], [](double x, double e) { return e != 0 ? 1 - x : x; }));
    else
      operands.push_back(mapped(*in[k], [&](double x, double e) {
        if (std::isinf(e)) return !unknown ? sign * e : sign > 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
        return x + sign * e;
      }));
  }
  const ir::Array other = evaluate(op, type, std::move(operands), sizes);
  std::vector<double> differences(result.error.size());
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double difference = std::abs(other.data[i] - result.value.data[i]);
    if (!std::isnan(difference)) differences[i] = difference;
    else if (!std::isnan(result.value.data[i]) || !std::isnan(other.data[i])) differences[i] = std::numeric_limits<double>::infinity();
  }
  return differences;
}

/// Where an operand of a result of this type, of this value and error, is as asked.
std::vector<bool> where(const Bounded& x, const Type& type, Sizes sizes, bool (*asked)(double value, double error)) {
  const ir::Array found = evaluate(ir::Broadcast{type.shape}, type, {mapped(x, [&](double v, double e) { return asked(v, e) ? 1.0 : 0.0; })}, sizes);
  return {found.data.begin(), found.data.end()};
}
bool may_be_negative(double value, double error) { return value - error < 0; }

/// A quotient by what may be 0 may be any number, and so may a power of it if the exponent, `power`, may be negative: moving the operands to the ends
/// of their errors does not find out what is between them.
void carry_pole(Bounded& result, const Type& type, const Bounded& divisor, const Bounded* power, Sizes sizes) {
  const std::vector<bool> poles = where(divisor, type, sizes, [](double v, double e) { return e > 0 && std::abs(v) <= e; }),
                          negative = power ? where(*power, type, sizes, may_be_negative) : poles;
  for (std::size_t i = 0; i < poles.size(); ++i)
    if (poles[i] && negative[i]) result.error[i] = std::numeric_limits<double>::infinity();
}

/// A power of what may be negative is a number where the exponent is whole, else NaN: where the exponent may be whole, it may be either.
void carry_whole_power(Bounded& result, const Type& type, const Bounded& base, const Bounded& power, Sizes sizes) {
  const std::vector<bool> negative = where(base, type, sizes, may_be_negative),
                          whole = where(power, type, sizes, [](double v, double e) { return e > 0 && std::floor(v + e) >= std::ceil(v - e); });
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (negative[i] && whole[i]) result.error[i] = std::numeric_limits<double>::infinity();
}

/// Sine and cosine move no further than their operand, and by 2 at most; at the ends of an error of several turns they may not have moved at all.
void carry_angle(Bounded& result, const Bounded& in) {
  for (std::size_t i = 0; i < result.error.size(); ++i) result.error[i] = std::max(result.error[i], std::min(in.error[i], 2.0));
}

/// As a bool, what may be 0 may be false, and true.
void carry_truth(Bounded& result, const Bounded& in) {
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (may_be_equal(std::abs(in.value.data[i]), in.error[i])) result.error[i] = 1;
}

/// Moves each operand by its error both ways and adds up how far the result moves; or all of them together, where that is more: near x y = 0 a
/// product does not move if only one factor does.
void carry_by_moving(Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes) {
  unsigned all = 0;
  for (std::size_t k = 0; k < in.size(); ++k)
    if (has_error(*in[k])) all |= 1u << k;
  const auto furthest = [](std::vector<double>& most, const std::vector<double>& other) {
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], other[i]);
  };
  const bool unlimited = std::any_of(
      in.begin(), in.end(), [](const Bounded* x) { return std::any_of(x->error.begin(), x->error.end(), [](double e) { return std::isinf(e); }); });
  const auto moved_by = [&](unsigned mask, unsigned up) {
    std::vector<double> most = moved(result, op, type, in, sizes, mask, up, false);
    if (unlimited) furthest(most, moved(result, op, type, in, sizes, mask, up, true));
    return most;
  };
  std::vector<double> alone(result.error.size()), together(result.error.size());
  for (unsigned k = 0; k < in.size(); ++k) {
    const unsigned one = 1u << k;
    if (!(all & one)) continue;
    std::vector<double> most = moved_by(one, 0);
    furthest(most, moved_by(one, one));
    for (std::size_t i = 0; i < most.size(); ++i) alone[i] += most[i];
  }
  if (all & (all - 1))
    for (unsigned up = all;; up = (up - 1) & all) {  // every choice of signs
      furthest(together, moved_by(all, up));
      if (up == 0) break;
    }
  for (std::size_t i = 0; i < alone.size(); ++i) result.error[i] += std::max(alone[i], together[i]);
}

/// Arithmetic on whole numbers: moved in real numbers, where nothing wraps.
void carry_whole(Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes) {
  if (std::none_of(in.begin(), in.end(), [](const Bounded* x) { return has_error(*x); })) return;
  const Type reals{DType::f32, type.shape};
  std::vector<Bounded> operands;
  for (const Bounded* x : in) {
    operands.push_back(*x);
    operands.back().value.dtype = DType::f32;
  }
  std::vector<const Bounded*> pointers;
  std::vector<ir::Array> values;
  for (const Bounded& x : operands) {
    pointers.push_back(&x);
    values.push_back(x.value);
  }
  Bounded real{evaluate(op, reals, std::move(values), sizes), result.error};
  carry_by_moving(real, op, reals, pointers, sizes);
  carry_wrapped(result, real);
}

void carry_whole_cast(Bounded& result, const Bounded& in) {
  if (!has_error(in)) return;
  Bounded real = in;
  real.value.dtype = DType::f32;
  carry_wrapped(result, real);
}

/// Each element moves on its own, so what the elements carry together is bounded by their absolute values. In any order, intermediate products are
/// between the product of the elements below 1 and that of those above: they may overflow, to infinity times 0 at worst, or be flushed to 0.
void carry_product(Bounded& result, const ir::Op& op, const Type& type, const Bounded& in, Sizes sizes) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto product_of = [&](auto&& f) { return evaluate(op, type, {mapped(in, f)}, sizes); };
  const ir::Array moved = product_of([](double v, double e) { return std::isinf(e) ? e : std::abs(v) + e; }),
                  certain = product_of([](double v, double e) { return std::isinf(e) ? 1 : v; }),
                  most = product_of([](double v, double e) { return std::max(std::abs(v) + e, 1.0); }),
                  least = product_of([](double v, double e) { return std::clamp(std::abs(v) - e, 0.0, 1.0); });
  for (std::size_t i = 0; i < result.error.size(); ++i) {
    const double size = std::abs(result.value.data[i]);
    if (std::isnan(certain.data[i])) continue;  // NaN of an operand that is certain
    if (moved.data[i] != size) result.error[i] += std::isnan(moved.data[i] - size) ? unlimited : moved.data[i] - size;
    if (most.data[i] > greatest) result.error[i] = unlimited;
    else if (least.data[i] < smallest) result.error[i] += size;
  }
}

/// What only moves elements moves their errors, however many operands there are.
void carry_movement(Bounded& result, ir::Op op, const Type& type, std::span<const Bounded* const> in, Sizes sizes) {
  if (auto* pad = std::get_if<ir::Pad>(&op)) pad->value = 0;  // which is certain
  if (auto* shift = std::get_if<ir::Shift>(&op)) shift->value = 0;
  std::vector<ir::Array> errors;
  for (const Bounded* x : in) errors.push_back(errors_of(*x));
  result.error = evaluate(op, {DType::f32, type.shape}, std::move(errors), sizes).data;
}

/// The number of terms of a sum or product.
double contracted_terms(const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes) {
  std::vector<Type> types;
  for (const Bounded* x : in) types.push_back({x->value.dtype, x->value.shape()});
  return static_cast<double>(ir::terms(ir::access(ir::at_sizes(op, sizes), types, type.shape.at(sizes))).factor());
}

/// The terms of the chains in which an op adds (ir/long_sum.h); 0: its sums are one chain.
template <class O>
constexpr std::int64_t chain_of = 0;
template <>
constexpr std::int64_t chain_of<ir::Sum> = ir::chain_terms;
template <>
constexpr std::int64_t chain_of<ir::ScatterAddRows> = ir::chain_terms;
template <>
constexpr std::int64_t chain_of<ir::Matmul> = ir::chain_products;
template <>
constexpr std::int64_t chain_of<ir::BatchMatmul> = ir::chain_products;
template <>
constexpr std::int64_t chain_of<ir::Dense> = ir::chain_products;
template <>
constexpr std::int64_t chain_of<ir::Conv2DWeight> = ir::chain_products;

/// The operands of a sum of products.
struct LinearParts {
  std::size_t first = 0;             ///< the first that is a number: an index may come before it
  std::optional<std::size_t> added;  ///< one that is no factor
};

/// Sums and products: linear in each operand, so absolute values bound both the carried errors and the rounding over all terms. An operand of
/// infinite error may be any number, and makes any number of the result, times 0 as well.
void carry_linear(Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes, const LinearParts& parts) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto operands_of = [&](auto&& f) {
    std::vector<ir::Array> operands;
    for (const Bounded* x : in) operands.push_back(is_float(x->value.dtype) ? mapped(*x, f) : x->value);
    return operands;
  };
  const auto limited = [&](double x) { return std::isnan(x) || x > greatest ? unlimited : x; };  // an intermediate sum may overflow
  const std::vector<ir::Array> magnitudes = operands_of([](double v, double e) { return std::isinf(e) ? e : std::abs(v) + e; });
  const ir::Array least = operands_of([](double v, double e) {
    return std::isfinite(v) ? std::max(0.0, std::abs(v) - e) : e > 0 ? 0 : std::abs(v);
  })[0];
  const std::optional<WinogradMagnitude> mixed = winograd_magnitude(op, magnitudes, least, result.value.extents);
  ir::Array total = evaluate(op, type, magnitudes, sizes);
  for (std::size_t i = 0; i < total.data.size(); ++i) {
    total.data[i] = limited(total.data[i]);
    // Where the transforms overflow, and the sum does not, the sum is computed directly.
    if (mixed && !mixed->direct[i]) total.data[i] = std::max(total.data[i], std::isnan(mixed->terms.data[i]) ? unlimited : mixed->terms.data[i]);
  }
  const std::int64_t chain = std::visit([]<class O>(const O&) { return chain_of<O>; }, op);
  const double all = contracted_terms(op, type, in, sizes), terms = (chain ? ir::most_roundings(all, chain) : all) + (mixed ? winograd_terms : 0);
  for (std::size_t i = 0; i < result.error.size(); ++i) result.error[i] += 2 * terms * 0x1p-24 * total.data[i];
  for (std::size_t k = parts.first; k < in.size(); ++k) {
    if (!has_error(*in[k])) continue;
    std::vector<ir::Array> operands = magnitudes;
    operands[k] = mapped(*in[k], [](double, double e) { return e; });
    if (parts.added) {
      ir::Array& without = operands[k == *parts.added ? parts.first : *parts.added];
      std::fill(without.data.begin(), without.data.end(), 0.0);
    }
    const ir::Array carried = evaluate(op, type, std::move(operands), sizes);
    for (std::size_t i = 0; i < result.error.size(); ++i) result.error[i] += limited(carried.data[i]);
  }
  // NaN of operands that are certain is certain.
  if (std::none_of(result.value.data.begin(), result.value.data.end(), [](double v) { return std::isnan(v); })) return;
  const ir::Array certain = evaluate(op, type, operands_of([](double v, double e) { return std::isinf(e) ? 1 : v; }), sizes);
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (std::isnan(certain.data[i])) result.error[i] = 0;
}

template <class O>
concept IsComparison = std::is_base_of_v<ir::Elementwise<2, ir::Compares>, O>;

/// Both results are allowed where the operands differ by no more than their errors.
void carry_comparison(Bounded& result, std::span<const Bounded* const> in, const Type& type, Sizes sizes) {
  if (!has_error(*in[0]) && !has_error(*in[1])) return;
  const Type numbers{DType::f32, type.shape};
  const ir::Array apart = evaluate(ir::Sub{}, numbers, {in[0]->value, in[1]->value}, sizes),
                  slack = evaluate(ir::Add{}, numbers, {errors_of(*in[0]), errors_of(*in[1])}, sizes);
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (may_be_equal(std::abs(apart.data[i]), slack.data[i])) result.error[i] = 1;
}

/// An error e in every input of a row moves log-softmax by at most 2e and softmax by that factor.
void carry_softmax(Bounded& result, const Bounded& in, bool logarithm) {
  const auto cols = static_cast<std::size_t>(result.value.extents.back());
  for (std::size_t row = 0; row < result.error.size(); row += cols) {
    const double e =
        *std::max_element(in.error.begin() + static_cast<std::ptrdiff_t>(row), in.error.begin() + static_cast<std::ptrdiff_t>(row + cols));
    const double rounding = (static_cast<double>(cols) + 8) * ulp;
    double greatest_size = 0;  // which is subtracted from all: the difference is rounded by the size of both
    for (std::size_t i = row; i < row + cols; ++i)
      if (std::isfinite(in.value.data[i])) greatest_size = std::max(greatest_size, std::abs(in.value.data[i]));
    for (std::size_t i = row; i < row + cols; ++i) {
      const double v = std::abs(result.value.data[i]);
      if (std::isinf(e)) result.error[i] = e;
      if (std::isinf(e) || std::isnan(v)) continue;
      result.error[i] +=
          logarithm ? 2 * e + rounding * (1 + v) : v * (std::expm1(2 * e) + rounding * (1 + std::abs(in.value.data[i]) + greatest_size)) + smallest;
    }
  }
}

/// What each op adds to the error of its result, but for its own rounding where that is a number of units in the last place.
struct Carry {
  Bounded& result;
  const ir::Op& op;
  const Type& type;
  std::span<const Bounded* const> in;
  Sizes sizes;

  void linear(const LinearParts& parts = {}) const { carry_linear(result, op, type, in, sizes, parts); }
  void sum() const { is_float(type.dtype) ? linear() : carry_whole_sum(result, op, type, *in[0], sizes); }
  void indexed() const { carry_index(result, op, in); }
  /// False for whole numbers, which are finished.
  template <class O>
  bool moved() const {
    constexpr bool counts = std::is_base_of_v<ir::Elementwise<1, ir::Numbers>, O> || std::is_base_of_v<ir::Elementwise<2, ir::Numbers>, O>;
    if (counts && is_whole(type.dtype) && is_whole(in[0]->value.dtype)) return carry_whole(result, op, type, in, sizes), false;
    carry_by_moving(result, op, type, in, sizes);
    return true;
  }

  void operator()(const ir::Matmul&) const { linear(); }
  void operator()(const ir::BatchMatmul&) const { linear(); }
  void operator()(const ir::Dense&) const { linear({.first = 0, .added = 2}); }
  template <ir::IsConvolution O>
  void operator()(const O&) const {
    linear();
  }
  void operator()(const ir::AveragePool&) const { linear(); }
  void operator()(const ir::AverageSpread&) const { linear(); }
  void operator()(const ir::Sum&) const { sum(); }
  void operator()(const ir::Cumsum&) const { sum(); }
  void operator()(const ir::Prod& prod) const {
    is_float(type.dtype) ? carry_product(result, op, type, *in[0], sizes) : carry_whole_product(result, prod, type, *in[0], sizes);
  }

  void operator()(const ir::GatherRows&) const { indexed(); }
  void operator()(const ir::ExactTotal&) const { result.error = in[0]->error; }
  void operator()(const ir::TakeAlong&) const { indexed(); }
  void operator()(const ir::OneHot&) const { indexed(); }
  void operator()(const ir::PoolTake&) const { indexed(); }
  void operator()(const ir::ScatterAddRows&) const { linear({.first = 1, .added = {}}), indexed(); }
  void operator()(const ir::ScatterAddAlong&) const { linear({.first = 1, .added = {}}), indexed(); }
  void operator()(const ir::PoolPut& put) const { linear({.first = 1, .added = {}}), carry_pool_put(result, put, in); }
  void operator()(const ir::MaxPoolPlace& place) const { carry_pool_place(result, place, *in[0]); }
  void operator()(const ir::Argmax&) const { carry_argmax(result, *in[0]); }
  void operator()(const ir::TopK&) const { carry_top_k(result, *in[0]); }

  template <ir::IsMovement O>
  void operator()(const O&) const {
    carry_movement(result, op, type, in, sizes);
  }

  void operator()(const ir::Softmax&) const { carry_softmax(result, *in[0], false); }
  void operator()(const ir::LogSoftmax&) const { carry_softmax(result, *in[0], true); }
  void operator()(const ir::Philox&) const { carry_random_bits(result, type, in, sizes); }
  template <IsComparison O>
  void operator()(const O&) const {
    carry_comparison(result, in, type, sizes);
  }
  void operator()(const ir::Cast&) const {
    if (is_whole(type.dtype) && is_whole(in[0]->value.dtype)) return carry_whole_cast(result, *in[0]);
    carry_by_moving(result, op, type, in, sizes);
    if (type.dtype == DType::boolean) carry_truth(result, *in[0]);
  }
  void operator()(const ir::Div&) const {
    if (moved<ir::Div>()) carry_pole(result, type, *in[1], nullptr, sizes);
  }
  void operator()(const ir::Pow&) const {
    if (!moved<ir::Pow>()) return;
    carry_pole(result, type, *in[0], in[1], sizes);
    carry_whole_power(result, type, *in[0], *in[1], sizes);
  }
  void operator()(const ir::Sin&) const { carry_by_moving(result, op, type, in, sizes), carry_angle(result, *in[0]); }
  void operator()(const ir::Cos&) const { carry_by_moving(result, op, type, in, sizes), carry_angle(result, *in[0]); }
  template <class O>
  void operator()(const O&) const {
    moved<O>();
  }

  /// Its own rounding, in units in the last place of the result.
  template <class O>
  double ulps(const O&) const {
    if constexpr (ir::IsElementwise<O>) return 2 * O::ulps;  // a unit in the last place is up to twice 2^-24 of the value
    else return 0;
  }
  double ulps(const ir::Prod&) const { return contracted_terms(op, type, in, sizes); }
};

}  // namespace

Bounded evaluate_bounded(const ir::Op& op, const Type& type, std::span<const Bounded* const> in, Sizes sizes) {
  std::vector<const ir::Array*> values;
  for (const Bounded* x : in) values.push_back(&x->value);
  Bounded result{ir::evaluate(op, type, values, sizes), {}};
  result.error.assign(result.value.data.size(), 0.0);
  const Carry carry{result, op, type, in, sizes};
  std::visit(carry, op);
  if (is_float(type.dtype)) {
    const double ulps = std::visit([&](const auto& o) { return carry.ulps(o); }, op);
    for (std::size_t i = 0; i < result.error.size(); ++i) {
      const double size = std::abs(result.value.data[i]);
      if (std::isnan(size)) continue;
      result.error[i] += ulps * ulp * size + (ulps > 0 ? smallest : 0);
      // A value that a double holds may be infinite in f32, and a function of it, such as 1 / x, finite again.
      if (std::isfinite(size) && size + result.error[i] > greatest) result.error[i] = std::numeric_limits<double>::infinity();
    }
  }
  return result;
}

Bounded exact(const Tensor& tensor) {
  Bounded result{ir::Array(tensor.dtype(), tensor.shape().extents(1)), {}};
  with_element_type(tensor.dtype(), [&]<class T>(T) {
    std::vector<T> data(result.value.data.size());
    tensor.copy_to(data.data());
    std::copy(data.begin(), data.end(), result.value.data.begin());
  });
  result.error.assign(result.value.data.size(), 0.0);
  return result;
}

std::int64_t first_difference(const ir::Array& got, const Bounded& wanted, double& worst) {
  std::int64_t first = -1;
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double g = got.data[i], w = wanted.value.data[i], allowed = wanted.error[i] + smallest;
    const double rounded = is_float(got.dtype) ? static_cast<double>(static_cast<float>(w)) : w;
    if (g == rounded || (std::isnan(g) && std::isnan(w))) continue;
    const double difference = std::abs(g - w);
    // Where the error has no bound (log of what may be 0), NaN is possible too: infinity minus infinity.
    if (std::isnan(difference) ? !std::isinf(allowed) : difference > allowed) {
      if (first < 0) first = static_cast<std::int64_t>(i);
    } else {
      worst = std::max(worst, difference / allowed);
    }
  }
  return first;
}

double ulps_apart(double got, double wanted) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return 0;
  const double difference = std::abs(got - wanted);
  if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  const int least = std::numeric_limits<float>::min_exponent - 1;  // normal numbers of f32 begin at 2^-126
  const int exponent = wanted == 0 ? least : std::max(std::ilogb(wanted), least);
  return std::ldexp(difference, 23 - exponent);
}

}  // namespace sinter
