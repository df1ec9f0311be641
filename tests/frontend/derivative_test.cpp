// Every function of the library that has a derivative, beside the true value and derivative in double precision: at 0, at its corners, at tiny, large
// and infinite numbers. scripts/check-derivatives holds the names in this file against the functions that the headers declare.
#include <cmath>
#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::derivative_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double epsilon = 1e-7, below_one = 1 - 0x1p-23;  // where losses clip probabilities: 1e-7 and 1 - 1e-7 in f32

/// A function of one number beside its true value and derivative; at a corner the derivative that the reference states.
struct Function {
  std::string name;
  std::function<Tensor(const Tensor&)> f;  ///< of each of [K] numbers
  std::function<double(double)> value, slope;
  std::vector<double> corners = {};  ///< more points
  /// What is true at an infinite x: the limit, or NaN where there is none, or where the reference says so.
  enum Infinite { limit, nan_slope, nan_slope_at_plus, nan_at_plus, nan } infinite = limit;
  double scale = 1;  ///< of the terms that are added: the error is relative to them
};

/// The numbers x beside constants: rows {x, others...}.
Tensor rows(const Tensor& x, const std::vector<float>& others) {
  std::vector<Tensor> columns{x};
  for (const float other : others) columns.push_back(Tensor::filled({DType::f32, x.shape()}, other));
  return stack(columns, 1);
}
Tensor column(const Tensor& x, std::int64_t i) { return reshape(slice(x, 1, i, i + 1), {x.shape()[0]}); }
Tensor all(const Tensor& x, double value) { return Tensor::filled({DType::f32, x.shape()}, value); }
Tensor classes(const Tensor& x, double number) { return Tensor::filled({DType::i32, x.shape()}, number); }

/// A loss of predictions and targets of one shape, against the target y.
Function of_loss(const char* name, const Loss& loss, double y, std::function<double(double)> value, std::function<double(double)> slope,
                 std::vector<double> corners = {}) {
  return {name,
          [=](const Tensor& p) { return loss.values(p, all(p, y)); },
          std::move(value),
          std::move(slope),
          std::move(corners),
          Function::limit,
          std::max(1.0, y)};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double soft_plus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2)) / 2; }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double limited(double x, double low, double high) { return std::min(std::max(x, low), high); }
bool is_within(double x, double low, double high) { return low <= x && x <= high; }
double product(double x, double factor) { return factor == 0 ? 0 : x * factor; }  // 0 · infinity is 0
double log_sum(double x) {                                                        // of {x, 0.5, 1}
  const double top = std::max(x, 1.0);
  return top + std::log(std::exp(x - top) + std::exp(0.5 - top) + std::exp(1 - top));
}
double chance(double x, double of) { return std::exp(of - log_sum(x)); }

std::vector<Function> pointwise() {
  constexpr double root = 0.7978845608028654, cube = 0.044715;
  return {
      {"exp", [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
      {"exp2", [](const Tensor& x) { return exp2(x); }, [](double x) { return std::exp2(x); }, [](double x) { return std::exp2(x) * std::log(2); }},
      {"expm1", [](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); }, [](double x) { return std::exp(x); }},
      {"log", [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }, [](double x) { return 1 / x; }},
      {"log1p", [](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); }, [](double x) { return 1 / (1 + x); }, {-1}},
      {"sqrt", [](const Tensor& x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }},
      {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); },
       [](double x) { return -0.5 / (x * std::sqrt(x)); }},
      {"square", [](const Tensor& x) { return square(x); }, [](double x) { return x * x; }, [](double x) { return 2 * x; }},
      {"pow", [](const Tensor& x) { return pow(x, 3.0); }, [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }},
      {"pow, y 0", [](const Tensor& x) { return pow(x, 0.0); }, [](double) { return 1.0; }, [](double) { return 0.0; }},
      {"pow, y 1", [](const Tensor& x) { return pow(x, 1.0); }, [](double x) { return x; }, [](double) { return 1.0; }},
      {"pow, of 2", [](const Tensor& x) { return pow(2.0, x); }, [](double x) { return std::exp2(x); },
       [](double x) { return std::exp2(x) * std::log(2); }},
      {"abs", [](const Tensor& x) { return abs(x); }, [](double x) { return std::abs(x); }, &sign_of},
      {"sign", [](const Tensor& x) { return x + sign(x); }, [](double x) { return x + sign_of(x); }, [](double) { return 1.0; }},
      {"floor", [](const Tensor& x) { return x + floor(x); }, [](double x) { return x + std::floor(x); }, [](double) { return 1.0; }},
      {"ceil", [](const Tensor& x) { return x + ceil(x); }, [](double x) { return x + std::ceil(x); }, [](double) { return 1.0; }},
      {"round", [](const Tensor& x) { return x + round(x); }, [](double x) { return x + std::rint(x); }, [](double) { return 1.0; }},
      {"sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }, {}, Function::nan},
      {"cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }, [](double x) { return -std::sin(x); }, {}, Function::nan},
      {"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); },
       [](double x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); }},
      {"clip",
       [](const Tensor& x) { return clip(x, 0, 6); },
       [](double x) { return limited(x, 0, 6); },
       [](double x) { return is_within(x, 0, 6); },
       {6}},
      {"minimum", [](const Tensor& x) { return minimum(x, 0); }, [](double x) { return std::min(x, 0.0); },
       [](double x) { return x == 0 ? 0.5 : x < 0; }},
      {"maximum", [](const Tensor& x) { return maximum(x, 0); }, [](double x) { return std::max(x, 0.0); },
       [](double x) { return x == 0 ? 0.5 : x > 0; }},
      {"where", [](const Tensor& x) { return where(x > 0, x, 3); }, [](double x) { return x > 0 ? x : 3; }, [](double x) { return x > 0; }},
      {"cast", [](const Tensor& x) { return cast(x, DType::f32) + cast(cast(clip(x, -9, 9), DType::i32), DType::f32); },
       [](double x) { return x + std::trunc(limited(x, -9, 9)); }, [](double) { return 1.0; }},

      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, &logistic, [](double x) { return logistic(x) * logistic(-x); }},
      {"tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); },
       [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
      {"relu", [](const Tensor& x) { return relu(x); }, [](double x) { return std::max(x, 0.0); }, [](double x) { return x > 0; }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.25f); }, [](double x) { return x > 0 ? x : x / 4; },
       [](double x) { return x > 0 ? 1 : 0.25; }},
      {"elu", [](const Tensor& x) { return elu(x); }, [](double x) { return x > 0 ? x : std::expm1(x); },
       [](double x) { return x > 0 ? 1 : std::exp(x); }},
      {"selu", [](const Tensor& x) { return selu(x); },
       [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); },
       [](double x) { return 1.0507009873554805 * (x > 0 ? 1 : 1.6732632423543772 * std::exp(x)); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }, [](double x) { return product(x, normal_cdf(x)); },
       [](double x) { return normal_cdf(x) + product(x, std::exp(-x * x / 2) / std::sqrt(2 * M_PI)); }},
      {"gelu, approximate", [](const Tensor& x) { return gelu(x, true); },
       [](double x) { return product(x, logistic(2 * root * (x + cube * x * x * x))); },
       [](double x) {
         const double y = 2 * root * (x + cube * x * x * x);
         return logistic(y) + product(x * 2 * root * (1 + 3 * cube * x * x), logistic(y) * logistic(-y));
       }},
      {"softplus", [](const Tensor& x) { return softplus(x); }, &soft_plus, &logistic},
      {"softsign", [](const Tensor& x) { return softsign(x); }, [](double x) { return x / (1 + std::abs(x)); },
       [](double x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }},
      {"silu", [](const Tensor& x) { return silu(x); }, [](double x) { return product(x, logistic(x)); },
       [](double x) { return logistic(x) + product(x, logistic(x) * logistic(-x)); }},
      {"mish", [](const Tensor& x) { return mish(x); }, [](double x) { return product(x, std::tanh(soft_plus(x))); },
       [](double x) {
         const double t = std::tanh(soft_plus(x));
         return t + product(x, (1 - t * t) * logistic(x));
       }},
      {"relu6", [](const Tensor& x) { return relu6(x); }, [](double x) { return limited(x, 0, 6); }, [](double x) { return x > 0 && x < 6; }, {6}},
      {"hard_sigmoid",
       [](const Tensor& x) { return hard_sigmoid(x); },
       [](double x) { return limited(x + 3, 0, 6) / 6; },
       [](double x) { return x > -3 && x < 3 ? 1.0 / 6 : 0; },
       {-3, 3}},
      {"hard_silu",
       [](const Tensor& x) { return hard_silu(x); },
       [](double x) { return product(x, limited(x + 3, 0, 6) / 6); },
       [](double x) { return x <= -3  ? 0
                             : x >= 3 ? 1
                                      : (2 * x + 3) / 6; },
       {-3, 3}},
      {"hard_tanh", [](const Tensor& x) { return hard_tanh(x); }, [](double x) { return limited(x, -1, 1); },
       [](double x) { return x > -1 && x < 1; }},
  };
}

/// Of x and constants: at 0.5 and 1 x equals one of them.
std::vector<Function> among_others() {
  const auto three = [](const Tensor& x) { return rows(x, {0.5f, 1}); };
  const auto mean_of = [](double x) { return (x + 1.5) / 3; };
  const auto variance_of = [=](double x) { return (x * x + 1.25) / 3 - mean_of(x) * mean_of(x); };
  return {
      {"sum", [=](const Tensor& x) { return sum(three(x), -1); }, [](double x) { return x + 1.5; }, [](double) { return 1.0; }},
      {"mean", [=](const Tensor& x) { return mean(three(x), -1); }, mean_of, [](double) { return 1.0 / 3; }},
      {"max", [=](const Tensor& x) { return max(three(x), -1); }, [](double x) { return std::max(x, 1.0); },
       [](double x) { return x == 1 ? 0.5 : x > 1; }},
      {"min", [=](const Tensor& x) { return min(three(x), -1); }, [](double x) { return std::min(x, 0.5); },
       [](double x) { return x == 0.5 ? 0.5 : x < 0.5; }},
      {"prod",
       [=](const Tensor& x) { return prod(three(x), -1); },
       [](double x) { return x / 2; },
       [](double) { return 0.5; },
       {},
       Function::nan_slope},
      {"cumsum", [=](const Tensor& x) { return column(cumsum(three(x)), 2); }, [](double x) { return x + 1.5; }, [](double) { return 1.0; }},
      {"logsumexp",
       [=](const Tensor& x) { return logsumexp(three(x), -1); },
       &log_sum,
       [](double x) { return chance(x, x); },
       {},
       Function::nan_slope_at_plus},
      {"variance",
       [=](const Tensor& x) { return variance(three(x), -1); },
       variance_of,
       [=](double x) { return 2 * (x - mean_of(x)) / 3; },
       {},
       Function::nan},
      {"softmax",
       [=](const Tensor& x) { return column(softmax(three(x)), 0); },
       [](double x) { return chance(x, x); },
       [](double x) { return chance(x, x) * (1 - chance(x, x)); },
       {},
       Function::nan_at_plus},
      {"log_softmax",
       [=](const Tensor& x) { return column(log_softmax(three(x)), 2); },
       [](double x) { return 1 - log_sum(x); },
       [](double x) { return -chance(x, x); },
       {},
       Function::nan_at_plus},
      {"sort", [=](const Tensor& x) { return column(sort(three(x)), 2); }, [](double x) { return std::max(x, 1.0); }, [](double x) { return x > 1; }},
      {"top_k", [=](const Tensor& x) { return column(top_k(three(x), 1).values, 0); }, [](double x) { return std::max(x, 1.0); },
       [](double x) { return x >= 1; }},
      {"flip", [=](const Tensor& x) { return column(flip(three(x)), 2); }, [](double x) { return x; }, [](double) { return 1.0; }},
      {"LayerNorm",
       [=](const Tensor& x) { return column(nn::LayerNorm(3, {.epsilon = 1e-3f})(three(x)), 0); },
       [=](double x) { return (x - mean_of(x)) / std::sqrt(variance_of(x) + 1e-3); },
       [=](double x) {
         const double spread = variance_of(x) + 1e-3, apart = x - mean_of(x);
         return (2.0 / 3 - apart * apart / 3 / spread) / std::sqrt(spread);
       },
       {},
       Function::nan},
  };
}

std::vector<Function> losses() {
  std::vector<Function> list;
  for (const double y : {0.0, 1.0, 0.25}) {
    const auto cross = [=](double q) { return -(y * std::log(q) + (1 - y) * std::log(1 - q)); };
    list.push_back(of_loss(
        "binary_crossentropy", loss::binary_crossentropy, y, [=](double p) { return cross(limited(p, epsilon, below_one)); },
        [=](double p) { return is_within(p, epsilon, below_one) ? (p - y) / (p * (1 - p)) : 0; }));
    list.push_back(of_loss(
        "binary_crossentropy_from_logits", loss::binary_crossentropy_from_logits, y, [=](double x) { return soft_plus(x) - product(x, y); },
        [=](double x) { return logistic(x) - y; }));
    const double smooth = y * 0.8 + 0.1;
    // An infinite logit that agrees with its target counts nothing, smoothed or not.
    list.push_back(of_loss(
        "binary", loss::binary({.from_logits = true, .label_smoothing = 0.2f}), y,
        [=](double x) { return soft_plus(x) - product(x, std::abs(x) > 1e29 ? y : smooth); },
        [=](double x) { return std::abs(x) > 1e29 && logistic(x) == y ? 0 : logistic(x) - smooth; }));
  }
  for (const double y : {-1.0, 1.0}) {
    const auto lack = [=](double p) { return std::max(0.0, 1 - y * p); };
    list.push_back(of_loss("hinge", loss::hinge, y, lack, [=](double p) { return y * p < 1 ? -y : 0; }));
    list.push_back(
        of_loss("squared_hinge", loss::squared_hinge, y, [=](double p) { return lack(p) * lack(p); }, [=](double p) { return -2 * y * lack(p); }));
  }
  for (const double y : {0.0, 3.0, 1e4}) {
    const double least = std::max(std::abs(y), epsilon);
    list.push_back(of_loss(
        "mean_squared_error", loss::mean_squared_error, y, [=](double p) { return (p - y) * (p - y); }, [=](double p) { return 2 * (p - y); }, {y}));
    list.push_back(of_loss(
        "mean_absolute_error", loss::mean_absolute_error, y, [=](double p) { return std::abs(p - y); }, [=](double p) { return sign_of(p - y); },
        {y}));
    list.push_back(of_loss(
        "mean_absolute_percentage_error", loss::mean_absolute_percentage_error, y, [=](double p) { return std::abs(p - y) / least * 100; },
        [=](double p) { return sign_of(p - y) / least * 100; }, {y}));
    list.push_back(of_loss(
        "mean_squared_logarithmic_error", loss::mean_squared_logarithmic_error, y,
        [=](double p) { return std::pow(std::log1p(std::max(p, 0.0)) - std::log1p(y), 2); },
        [=](double p) { return p > 0 ? 2 * (std::log1p(p) - std::log1p(y)) / (1 + p) : 0; }, {y}));
    list.push_back(of_loss(
        "huber", loss::huber(2), y, [=](double p) { return std::abs(p - y) <= 2 ? (p - y) * (p - y) / 2 : 2 * (std::abs(p - y) - 1); },
        [=](double p) { return limited(p - y, -2, 2); }, {y, y + 2, y - 2}));
    list.push_back(of_loss(
        "log_cosh", loss::log_cosh, y, [=](double p) { return soft_plus(2 * (p - y)) - (p - y) - std::log(2); },
        [=](double p) { return std::tanh(p - y); }, {y}));
    list.back().value = [=](double p) { return std::abs(p - y) + std::log1p(std::exp(-2 * std::abs(p - y))) - std::log(2); };
    list.push_back(of_loss(
        "poisson", loss::poisson, y, [=](double p) { return p - y * std::log(p + epsilon); }, [=](double p) { return 1 - y / (p + epsilon); }));
  }
  for (const int wanted : {0, 2}) {  // of logits {x, 0.5, 1}
    const auto value = [=](double x) { return log_sum(x) - (wanted == 0 ? x : 1.0); };
    const auto slope = [=](double x) { return chance(x, x) - (wanted == 0 ? 1 : 0); };
    const auto of = [=](const Loss& loss) { return [=](const Tensor& x) { return loss.values(rows(x, {0.5f, 1}), classes(x, wanted)); }; };
    for (const Loss& loss : {loss::categorical_crossentropy_from_logits, loss::sparse_categorical_crossentropy_from_logits})
      list.push_back({loss.name(), of(loss), value, slope, {}, Function::nan_at_plus});
    list.push_back({"categorical",
                    of(loss::categorical({.from_logits = true, .label_smoothing = 0.3f})),
                    [=](double x) {  // a masked class counts nothing
                      const bool masked = wanted != 0 && x < -1e29;
                      return 0.7 * value(x) + 0.1 * ((masked ? 2 : 3) * log_sum(x) - (masked ? 0 : x) - 1.5);
                    },
                    [=](double x) { return 0.7 * slope(x) + 0.1 * (3 * chance(x, x) - (wanted != 0 && x < -1e29 ? 0 : 1)); },
                    {},
                    Function::nan_at_plus});
    // Of probabilities {x, 0.5, 1}, which are divided by their sum.
    const auto part = [=](double x) { return (wanted == 0 ? x : 1) / (x + 1.5); };
    for (const Loss& loss : {loss::categorical_crossentropy, loss::sparse_categorical_crossentropy})
      list.push_back({loss.name(),
                      of(loss),
                      [=](double x) { return -std::log(limited(part(x), epsilon, below_one)); },
                      [=](double x) {
                        if (!is_within(part(x), epsilon, below_one)) return 0.0;
                        return wanted == 0 ? -1.5 / (x * (x + 1.5)) : 1 / (x + 1.5);
                      },
                      {},
                      Function::nan});
  }
  list.push_back({"kl_divergence", [](const Tensor& x) { return loss::kl_divergence.values(rows(x, {0.5f}), rows(all(x, 0.75), {0.25f})); },
                  [](double x) { return 0.75 * std::log(0.75 / limited(x, epsilon, 1)) + 0.25 * std::log(0.5); },
                  [](double x) { return is_within(x, epsilon, 1) ? -0.75 / x : 0; }});
  const double length = 1.25, others = 0.5 * 0.5 + 1;  // of p {x, 0.5, 1} and y {0, 0.75, 1}
  list.push_back({"cosine_distance",
                  [](const Tensor& x) { return loss::cosine_distance.values(rows(x, {0.5f, 1}), rows(all(x, 0), {0.75f, 1})); },
                  [=](double x) { return 1 - 1.375 / std::sqrt(x * x + others) / length; },
                  [=](double x) { return 1.375 * x / std::pow(x * x + others, 1.5) / length; },
                  {},
                  Function::nan});
  return list;
}

/// f(x), and the limit where x is infinite: infinite if f still grows at 1e30.
double at(const std::function<double(double)>& f, double x) {
  if (!std::isinf(x)) return f(x);
  const double last = f(std::copysign(1e30, x)), before = f(std::copysign(1e28, x));
  return std::abs(last) > std::abs(before) * (1 + 1e-9) ? std::copysign(infinity, last) : last;
}

testing::AssertionResult is_near(double got, double exact, double scale) {
  const double wanted = static_cast<double>(static_cast<float>(exact)), allowed = 2e-6 * std::abs(wanted) + 2e-6 * scale;
  if (std::isnan(wanted) ? std::isnan(got) : got == wanted || (std::isfinite(wanted) && std::abs(got - wanted) <= allowed))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got " << got << ", true is " << wanted;
}

class Derivative : public testing::TestWithParam<Mode> {
 public:
  static void compare(const std::vector<Function>& functions, Mode mode) {
    for (const Function& function : functions) {
      std::vector<double> points{0, 1e-30, -1e-30, 1e-3, -1e-3, 0.25, 0.5, -0.5, 1, -1, 2.75, -5.5, 20, -20, 1e4, -1e4, infinity, -infinity};
      points.insert(points.end(), function.corners.begin(), function.corners.end());
      const auto count = static_cast<std::int64_t>(points.size());
      const Parameter x("x", Tensor(std::vector<float>(points.begin(), points.end()), {count}));
      auto step = compile(
          [&](const Tensor& factor) {
            const Tensor y = function.f(x) * factor;
            return std::pair(y, grad(sum(y), std::array{x})[0]);
          },
          {.mode = mode, .kinds = {InputKind::fixed}});
      const auto [values, slopes] = step(Tensor::filled({DType::f32, {count}}, 1));
      const std::vector<float> got = values.to_vector<float>(), got_slopes = slopes.to_vector<float>();
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double p = points[i];
        const auto without = function.infinite;
        const bool plus = std::isinf(p) && p > 0;
        const bool undefined = std::isinf(p) && (without == Function::nan || (without == Function::nan_at_plus && plus));
        const double value = undefined ? nan : at(function.value, p);
        EXPECT_TRUE(is_near(got[i], value, function.scale)) << function.name << "(" << p << ")";
        if (std::isnan(value) && !undefined) continue;  // outside of its domain
        const bool no_slope = undefined || (std::isinf(p) && without == Function::nan_slope) || (plus && without == Function::nan_slope_at_plus);
        EXPECT_TRUE(is_near(got_slopes[i], no_slope ? nan : at(function.slope, p), function.scale)) << function.name << "'(" << p << ")";
      }
    }
  }
};

TEST_P(Derivative, OfPointwiseFunctionsIsTheTrueOne) { compare(pointwise(), GetParam()); }
TEST_P(Derivative, AmongOtherElementsIsTheTrueOne) { compare(among_others(), GetParam()); }
TEST_P(Derivative, OfLossesIsTheTrueOne) { compare(losses(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Mode, Derivative, testing::ValuesIn(modes()),
                         [](const auto& info) { return std::string(info.param == Mode::eager ? "eager" : "graph"); });

}  // namespace
}  // namespace sinter::test::derivative_test
