#include "bench/math/lengths.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "sinter/sinter.h"

namespace sinter::bench {

namespace {

constexpr float term = 0.6931f;

struct Case {
  const char* name;
  std::function<Tensor(const Tensor& x)> run;  ///< of a vector of terms
  std::function<double(double n)> exact;       ///< each element of the result
};

Tensor column(const Tensor& x) { return reshape(x, {x.shape()[0], 1}); }

std::vector<Case> cases() {
  static const Parameter bias("bias", Tensor({0.0f}, {1})), weight("weight", Tensor({0.5f}, {1, 1})), kernel("kernel", Tensor({0.5f}, {1, 1, 1, 1})),
      table("table", Tensor({0.5f, 0.5f}, {2, 1}));
  return {
      {"mean", [](const Tensor& x) { return mean(x); }, [](double) { return term; }},
      {"mean of columns", [](const Tensor& x) { return mean(column(x), {0}); }, [](double) { return term; }},
      {"variance", [](const Tensor& x) { return mean(square(x - 0.25f)); }, [](double) { return std::pow(double{term} - 0.25, 2); }},
      {"loss (mean squared error)", [](const Tensor& x) { return loss::mean_squared_error(column(x), column(x) * 0.0f); },
       [](double) { return double{term} * term; }},
      {"gradient of a bias", [](const Tensor& x) { return grad(sum(column(x) * (column(x) + bias)), {bias})[0]; }, [](double n) { return n * term; }},
      {"product over the batch", [](const Tensor& x) { return matmul(transpose(column(x)), column(x)); },
       [](double n) { return n * term * double{term}; }},
      {"gradient of a weight", [](const Tensor& x) { return grad(sum(square(matmul(column(x), weight))), {weight})[0]; },
       [](double n) { return n * term * double{term}; }},
      {"gradient of a row of a table",
       [](const Tensor& x) { return slice(grad(sum(gather_rows(table, cast(x * 0.0f, DType::i32)) * column(x)), {table})[0], 0, 0, 1); },
       [](double n) { return n * term; }},
      {"gradient of a convolution's kernel",
       [](const Tensor& x) { return grad(sum(conv2d(reshape(x, {x.shape()[0], 1, 1, 1}), kernel)), {kernel})[0]; },
       [](double n) { return n * term; }},
  };
}

double relative_error(const Tensor& got, double exact) {
  double worst = 0;
  for (const float value : got.to_vector<float>()) worst = std::max(worst, std::abs(value - exact) / exact);
  return worst;
}

}  // namespace

std::vector<LengthError> length_errors(std::int64_t most) {
  std::vector<LengthError> errors;
  for (const Case& c : cases())
    for (std::int64_t rows = 10'000; rows <= most; rows *= 100) {
      const Tensor x = Tensor::filled({DType::f32, {rows}}, term);
      auto step = compile([&](const Tensor& in) { return c.run(in); });
      const double exact = c.exact(static_cast<double>(rows));
      errors.push_back({c.name, rows, relative_error(c.run(x), exact), relative_error(step(x), exact)});
    }
  return errors;
}

}  // namespace sinter::bench
