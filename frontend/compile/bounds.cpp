#include "frontend/compile/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/compile/bound_parts.h"
#include "frontend/compile/index_bound.h"
#include "frontend/compile/whole_number_bound.h"
#include "frontend/compile/winograd_bound.h"

namespace sinter {

namespace {

constexpr double ulp = 0x1p-23;
constexpr double greatest = std::numeric_limits<float>::max();
constexpr double smallest = 0x1p-120;  // below this, results may have been flushed to zero

/// How far the result moves when each operand of a mask moves by its error, up where `up` has its bit, else down; a boolean with an error is the
/// other one. What has an infinite error becomes infinite, or, if `unknown`, NaN or a number. Infinite where the result becomes NaN, or stops being
/// NaN.
std::vector<double> moved(const Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n,
                          unsigned mask, unsigned up, bool unknown) {
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
  const ir::Array other = evaluate(op, type, std::move(operands), n);
  std::vector<double> differences(result.error.size());
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double difference = std::abs(other.data[i] - result.value.data[i]);
    if (!std::isnan(difference)) differences[i] = difference;
    else if (!std::isnan(result.value.data[i]) || !std::isnan(other.data[i])) differences[i] = std::numeric_limits<double>::infinity();
  }
  return differences;
}

/// A quotient by what may be 0 may be any number, and so may a power of it if the exponent, `power`, may be negative: moving the operands to the ends
/// of their errors does not find out what is between them.
void carry_pole(Bounded& result, const Type& type, const Bounded& divisor, const Bounded* power, std::int64_t n) {
  const auto where_it = [&](const Bounded& x, auto&& f) { return evaluate(ir::Broadcast{type.shape}, type, {mapped(x, f)}, n).data; };
  std::vector<double> poles = where_it(divisor, [](double v, double e) { return e > 0 && std::abs(v) <= e ? 1 : 0; });
  if (power) {
    const std::vector<double> negative = where_it(*power, [](double v, double e) { return v - e < 0 ? 1 : 0; });
    for (std::size_t i = 0; i < poles.size(); ++i) poles[i] *= negative[i];
  }
  for (std::size_t i = 0; i < poles.size(); ++i)
    if (poles[i] != 0) result.error[i] = std::numeric_limits<double>::infinity();
}

/// Sine and cosine move no further than their operand, and by 2 at most; at the ends of an error of several turns they may not have moved at all.
void carry_angle(Bounded& result, const Bounded& in) {
  for (std::size_t i = 0; i < result.error.size(); ++i) result.error[i] = std::max(result.error[i], std::min(in.error[i], 2.0));
}

/// Whether two values may be equal, or in another order, within the sum of their errors; an error without limit may hide a NaN.
bool may_be_equal(double apart, double slack) { return std::isinf(slack) || (slack > 0 && apart <= slack); }

/// As a bool, what may be 0 may be false, and true.
void carry_truth(Bounded& result, const Bounded& in) {
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (may_be_equal(std::abs(in.value.data[i]), in.error[i])) result.error[i] = 1;
}

/// Moves each operand by its error both ways and adds up how far the result moves; or all of them together, where that is more: near x y = 0 a
/// product does not move if only one factor does.
void carry_by_moving(Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n) {
  unsigned all = 0;
  for (std::size_t k = 0; k < in.size(); ++k)
    if (has_error(*in[k])) all |= 1u << k;
  const auto furthest = [](std::vector<double>& most, const std::vector<double>& other) {
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], other[i]);
  };
  const bool unlimited = std::any_of(
      in.begin(), in.end(), [](const Bounded* x) { return std::any_of(x->error.begin(), x->error.end(), [](double e) { return std::isinf(e); }); });
  const auto moved_by = [&](unsigned mask, unsigned up) {
    std::vector<double> most = moved(result, op, type, in, n, mask, up, false);
    if (unlimited) furthest(most, moved(result, op, type, in, n, mask, up, true));
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

/// Arithmetic on whole numbers, and their casts: moved in real numbers, where nothing wraps.
void carry_whole(Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n) {
  if (std::none_of(in.begin(), in.end(), [](const Bounded* x) { return has_error(*x); })) return;
  const Type reals{DType::f32, type.shape};
  std::vector<Bounded> operands;
  for (const Bounded* x : in) {
    operands.push_back(*x);
    operands.back().value.dtype = DType::f32;
  }
  if (std::holds_alternative<ir::Cast>(op)) return carry_wrapped(result, operands[0]);
  std::vector<const Bounded*> pointers;
  std::vector<ir::Array> values;
  for (const Bounded& x : operands) {
    pointers.push_back(&x);
    values.push_back(x.value);
  }
  Bounded real{evaluate(op, reals, std::move(values), n), result.error};
  carry_by_moving(real, op, reals, pointers, n);
  carry_wrapped(result, real);
}

/// Each element moves on its own, so what the elements carry together is bounded by their absolute values. In any order, intermediate products are
/// between the product of the elements below 1 and that of those above: they may overflow, to infinity times 0 at worst, or be flushed to 0.
void carry_product(Bounded& result, const ir::Op& op, const Type& type, const Bounded& in, std::int64_t n) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto product_of = [&](auto&& f) { return evaluate(op, type, {mapped(in, f)}, n); };
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

/// Sums and products: linear in each operand, so absolute values bound both the carried errors and the rounding over `terms` terms. An operand of
/// infinite error may be any number, and makes any number of the result, times 0 as well.
void carry_linear(Bounded& result, const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n, double terms,
                  std::size_t first_float) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  const auto operands_of = [&](auto&& f) {
    std::vector<ir::Array> operands;
    for (const Bounded* x : in) operands.push_back(is_float(x->value.dtype) ? mapped(*x, f) : x->value);
    return operands;
  };
  const auto limited = [&](double x) { return std::isnan(x) || x > greatest ? unlimited : x; };  // an intermediate sum may overflow
  const std::vector<ir::Array> magnitudes = operands_of([](double v, double e) { return std::isinf(e) ? e : std::abs(v) + e; });
  const std::optional<ir::Array> mixed = winograd_magnitude(op, magnitudes, result.value.extents);
  const ir::Array total = mixed ? *mixed : evaluate(op, type, magnitudes, n);
  if (mixed) terms += winograd_terms;
  for (std::size_t i = 0; i < result.error.size(); ++i) result.error[i] += 2 * terms * 0x1p-24 * limited(total.data[i]);
  for (std::size_t k = first_float; k < in.size(); ++k) {
    if (!has_error(*in[k])) continue;
    std::vector<ir::Array> operands = magnitudes;
    operands[k] = mapped(*in[k], [](double, double e) { return e; });
    if (std::holds_alternative<ir::Dense>(op) && k < 2) std::fill(operands[2].data.begin(), operands[2].data.end(), 0.0);
    if (std::holds_alternative<ir::Dense>(op) && k == 2) std::fill(operands[0].data.begin(), operands[0].data.end(), 0.0);
    const ir::Array carried = evaluate(op, type, std::move(operands), n);
    for (std::size_t i = 0; i < result.error.size(); ++i) result.error[i] += limited(carried.data[i]);
  }
  // NaN of operands that are certain is certain.
  if (std::none_of(result.value.data.begin(), result.value.data.end(), [](double v) { return std::isnan(v); })) return;
  const ir::Array certain = evaluate(op, type, operands_of([](double v, double e) { return std::isinf(e) ? 1 : v; }), n);
  for (std::size_t i = 0; i < result.error.size(); ++i)
    if (std::isnan(certain.data[i])) result.error[i] = 0;
}

template <class O>
concept IsComparison = std::is_base_of_v<ir::Elementwise<2, ir::Compares>, O>;

/// Both results are allowed where the operands differ by no more than their errors.
void carry_comparison(Bounded& result, std::span<const Bounded* const> in, const Type& type, std::int64_t n) {
  if (!has_error(*in[0]) && !has_error(*in[1])) return;
  const Type numbers{DType::f32, type.shape};
  const ir::Array apart = evaluate(ir::Sub{}, numbers, {in[0]->value, in[1]->value}, n),
                  slack = evaluate(ir::Add{}, numbers, {errors_of(*in[0]), errors_of(*in[1])}, n);
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
    for (std::size_t i = row; i < row + cols; ++i) {
      const double v = std::abs(result.value.data[i]);
      if (std::isinf(e)) result.error[i] = e;
      if (std::isinf(e) || std::isnan(v)) continue;
      result.error[i] += logarithm ? 2 * e + rounding * (1 + v) : v * (std::expm1(2 * e) + rounding * (1 + std::abs(in.value.data[i]))) + smallest;
    }
  }
}

/// The index may be any whose value is within the errors of the greatest.
void carry_argmax(Bounded& result, const Bounded& in) {
  const auto cols = static_cast<std::size_t>(in.value.extents.back());
  for (std::size_t row = 0; row < result.error.size(); ++row) {
    const auto best = static_cast<std::size_t>(result.value.data[row]);
    for (std::size_t i = 0; i < cols; ++i) {
      const std::size_t at = row * cols + i, top = row * cols + best;
      if (i != best && may_be_equal(in.value.data[top] - in.value.data[at], in.error[at] + in.error[top]))
        result.error[row] = static_cast<double>(cols);
    }
  }
}

/// An index may be any that has a neighbour in value within the errors.
void carry_top_k(Bounded& result, const Bounded& in) {
  const auto cols = static_cast<std::size_t>(in.value.extents.back()), k = static_cast<std::size_t>(result.value.extents.back());
  for (std::size_t i = 0; i < result.error.size(); ++i) {
    const std::size_t row = i / k * cols, top = row + static_cast<std::size_t>(result.value.data[i]);
    for (std::size_t at = row; at < row + cols; ++at)
      if (at != top && may_be_equal(std::abs(in.value.data[at] - in.value.data[top]), in.error[at] + in.error[top]))
        result.error[i] = static_cast<double>(cols);
  }
}

/// The position of a pool's greatest element may be that of any element within the errors of it.
void carry_pool_place(Bounded& result, const ir::MaxPoolPlace& op, const Bounded& in) {
  const ir::Sliding s = ir::pool_windows(Shape::fixed(in.value.extents), op.kernel, op.strides, op.pads);
  const std::int64_t channels = in.value.extents[3];
  std::vector<std::size_t> best(result.error.size());
  const auto each = [&](const auto& body) {
    for (std::int64_t n = 0; n < in.value.extents[0]; ++n)
      s.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw, std::int64_t ih, std::int64_t iw) {
        for (std::int64_t c = 0; c < channels; ++c)
          body(static_cast<std::size_t>((((n * s.h.out + oh) * s.w.out) + ow) * channels + c),
               static_cast<std::size_t>((((n * s.h.in + ih) * s.w.in) + iw) * channels + c), kh * s.w.size + kw);
      });
  };
  each([&](std::size_t y, std::size_t x, std::int64_t place) {
    if (static_cast<double>(place) == result.value.data[y]) best[y] = x;
  });
  each([&](std::size_t y, std::size_t x, std::int64_t) {
    if (x != best[y] && may_be_equal(in.value.data[best[y]] - in.value.data[x], in.error[x] + in.error[best[y]])) result.error[y] = 256;
  });
}

/// Where the position is not certain, every element of the window may have the value.
void carry_pool_put(Bounded& result, const ir::PoolPut& op, std::span<const Bounded* const> in) {
  const Bounded &places = *in[0], &values = *in[1];
  const ir::Sliding s = ir::pool_windows(Shape::fixed(result.value.extents), op.kernel, op.strides, op.pads);
  const std::int64_t channels = result.value.extents[3];
  for (std::int64_t n = 0; n < result.value.extents[0]; ++n)
    s.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t, std::int64_t, std::int64_t ih, std::int64_t iw) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto y = static_cast<std::size_t>((((n * s.h.out + oh) * s.w.out) + ow) * channels + c),
                   x = static_cast<std::size_t>((((n * s.h.in + ih) * s.w.in) + iw) * channels + c);
        if (places.error[y] > 0) result.error[x] += std::abs(values.value.data[y]) + values.error[y];
      }
    });
}

/// The number of terms of a sum or product.
double contracted_terms(const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n) {
  std::vector<Type> types;
  for (const Bounded* x : in) types.push_back({x->value.dtype, Shape::fixed(x->value.extents)});
  return static_cast<double>(ir::terms(ir::access(ir::at_batch(op, n), types, type.shape.at(n))).factor());
}

double own_ulps(const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n) {
  return std::visit(
      [&]<class O>(const O&) -> double {
        if constexpr (ir::IsElementwise<O>) return 2 * O::ulps;  // a unit in the last place is up to twice 2^-24 of the value
        else if constexpr (std::is_same_v<O, ir::Prod>) return contracted_terms(op, type, in, n);
        else return 0;
      },
      op);
}

}  // namespace

Bounded evaluate_bounded(const ir::Op& op, const Type& type, std::span<const Bounded* const> in, std::int64_t n) {
  std::vector<const ir::Array*> values;
  for (const Bounded* x : in) values.push_back(&x->value);
  Bounded result{ir::evaluate(op, type, values, n), {}};
  result.error.assign(result.value.data.size(), 0.0);
  std::visit(
      [&]<class O>([[maybe_unused]] const O& o) {
        if constexpr (std::is_same_v<O, ir::Sum> || std::is_same_v<O, ir::Cumsum>)
          if (!is_float(type.dtype)) return carry_whole_sum(result, op, type, *in[0], n);
        if constexpr (std::is_same_v<O, ir::Prod>)
          if (!is_float(type.dtype)) return carry_whole_product(result, o, type, *in[0], n);
        if constexpr (std::is_same_v<O, ir::Matmul> || std::is_same_v<O, ir::Dense> || std::is_same_v<O, ir::Sum> ||
                      std::is_same_v<O, ir::BatchMatmul> || std::is_same_v<O, ir::Cumsum> || ir::IsConvolution<O> ||
                      std::is_same_v<O, ir::AveragePool> || std::is_same_v<O, ir::AverageSpread>)
          carry_linear(result, op, type, in, n, contracted_terms(op, type, in, n), 0);
        else if constexpr (std::is_same_v<O, ir::ScatterAddRows> || std::is_same_v<O, ir::ScatterAddAlong>) {
          carry_linear(result, op, type, in, n, contracted_terms(op, type, in, n), 1);
          carry_index(result, op, in);
        } else if constexpr (ReadsIndex<O>) carry_index(result, op, in);
        else if constexpr (IsComparison<O>) carry_comparison(result, in, type, n);
        else if constexpr (std::is_same_v<O, ir::Prod>) carry_product(result, op, type, *in[0], n);
        else if constexpr (std::is_same_v<O, ir::Softmax>) carry_softmax(result, *in[0], false);
        else if constexpr (std::is_same_v<O, ir::LogSoftmax>) carry_softmax(result, *in[0], true);
        else if constexpr (std::is_same_v<O, ir::Argmax>) carry_argmax(result, *in[0]);
        else if constexpr (std::is_same_v<O, ir::TopK>) carry_top_k(result, *in[0]);
        else if constexpr (std::is_same_v<O, ir::MaxPoolPlace>) carry_pool_place(result, o, *in[0]);
        else if constexpr (std::is_same_v<O, ir::PoolPut>) {
          carry_linear(result, op, type, in, n, contracted_terms(op, type, in, n), 1);
          carry_pool_put(result, o, in);
        } else if constexpr (std::is_same_v<O, ir::Philox>) carry_random_bits(result, type, in, n);
        else {
          if constexpr (std::is_base_of_v<ir::Elementwise<1, ir::Numbers>, O> || std::is_base_of_v<ir::Elementwise<2, ir::Numbers>, O> ||
                        std::is_same_v<O, ir::Cast>)
            if (is_whole(type.dtype) && is_whole(in[0]->value.dtype)) return carry_whole(result, op, type, in, n);
          carry_by_moving(result, op, type, in, n);
          if constexpr (std::is_same_v<O, ir::Div>) carry_pole(result, type, *in[1], nullptr, n);
          if constexpr (std::is_same_v<O, ir::Pow>) carry_pole(result, type, *in[0], in[1], n);
          if constexpr (std::is_same_v<O, ir::Cast>)
            if (type.dtype == DType::boolean) carry_truth(result, *in[0]);
          if constexpr (std::is_same_v<O, ir::Sin> || std::is_same_v<O, ir::Cos>) carry_angle(result, *in[0]);
        }
      },
      op);
  if (is_float(type.dtype)) {
    const double ulps = own_ulps(op, type, in, n);
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
