// Gradients of linalg:: through each result, and their gradients, against central differences.
#include <cmath>

#include "tests/frontend/helpers.h"

namespace sinter::test::linalg_gradient_test {
namespace {

using testing::HasSubstr;
using Function = std::function<Tensor(const Tensor&)>;

/// A scalar in which each element has a weight of its own.
Tensor weighted(const Tensor& x, std::uint64_t stream = 7) { return sum(x * random(x.shape(), stream)); }

/// d f / d x by differences of fourth order.
Tensor differences(const Function& f, const Tensor& x) {
  constexpr double h = 1.0 / 32;
  std::vector<float> elements = x.to_vector<float>(), result;
  for (float& element : elements) {
    const float at = element;
    const auto moved = [&](double by) {
      element = static_cast<float>(at + by);
      const double value = f(Tensor(elements, x.shape())).item();
      element = at;
      return value;
    };
    result.push_back(static_cast<float>((8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)));
  }
  return {result, x.shape()};
}

void expect_close(const Tensor& got, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(got.type(), wanted.type()) << what;
  EXPECT_LE(max(abs(got - wanted)).item(), 5e-4 * std::max(1.0, max(abs(wanted)).item())) << what << "\n" << got << "\n" << wanted;
}

/// The first and second derivatives of f at x: the second by the gradient of a weighted sum of the first.
void check(const Function& f, const Tensor& x, const std::string& what) {
  const auto gradient = [&](const Tensor& at) { return grad(f(at), {at})[0]; };
  const Tensor watched = watch(x);
  expect_close(gradient(watched), differences(f, x), what);
  const Tensor second = grad(weighted(gradient(watched), 8), {watched}, {.allow_unused = true})[0];
  expect_close(second, differences([&](const Tensor& at) { return weighted(gradient(watch(at)), 8); }, x), what + ", second derivative");
}

/// Far from singular, singular values well apart.
Tensor steady(std::int64_t rows, std::int64_t cols) {
  std::vector<float> diagonal(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < std::min(rows, cols); ++i)
    diagonal[static_cast<std::size_t>(i * cols + i)] = static_cast<float>(2 + 1.5 * static_cast<double>(i));
  return random({rows, cols}, 1, -0.5, 0.5) + Tensor(diagonal, {rows, cols});
}

Tensor symmetric(const Tensor& x) { return (x + transpose(x)) / 2; }

TEST(LinalgGradient, OfSystemsByBothSides) {
  const Tensor a = steady(3, 3), b = random({3, 2}, 2), v = random({3}, 3);
  check([&](const Tensor& x) { return weighted(linalg::solve(x, b)); }, a, "matrix");
  check([&](const Tensor& x) { return weighted(linalg::solve(a, x)); }, b, "right side");
  check([&](const Tensor& x) { return weighted(linalg::solve(x, v)); }, a, "matrix beside a vector");
  check([&](const Tensor& x) { return weighted(linalg::solve(a, x)); }, v, "vector");
  check([&](const Tensor& x) { return weighted(linalg::solve(x, slice(x, 1, 0, 2))); }, a, "both");
}

TEST(LinalgGradient, OfInverseAndDeterminant) {
  const Tensor a = steady(3, 3);
  check([](const Tensor& x) { return weighted(linalg::inv(x)); }, a, "inv");
  check([](const Tensor& x) { return linalg::det(x); }, a, "det");
  check([](const Tensor& x) { return square(linalg::det(x)) / 10; }, Tensor({2}, {1, 1}), "det of one number");
}

TEST(LinalgGradient, OfLeastSquares) {
  for (const auto& [rows, cols] : {std::pair{4, 3}, std::pair{3, 4}, std::pair{3, 3}}) {
    const Tensor a = steady(rows, cols), b = random({rows, 2}, 2), v = random({rows}, 3);
    const std::string shape = str(rows, " x ", cols);
    check([](const Tensor& x) { return weighted(linalg::pinv(x)); }, a, "pinv of " + shape);
    check([&](const Tensor& x) { return weighted(linalg::lstsq(x, b)); }, a, "lstsq by a " + shape);
    check([&](const Tensor& x) { return weighted(linalg::lstsq(a, x)); }, b, "lstsq by b, a " + shape);
    check([&](const Tensor& x) { return weighted(linalg::lstsq(x, v)); }, a, "lstsq of a vector by a " + shape);
    check([&](const Tensor& x) { return weighted(linalg::lstsq(a, x)); }, v, "lstsq by a vector, a " + shape);
  }
}

TEST(LinalgGradient, OfQr) {
  for (const auto& [rows, cols] : {std::pair{4, 3}, std::pair{3, 4}, std::pair{3, 3}}) {
    const Tensor a = steady(rows, cols);
    const std::string shape = str(" of ", rows, " x ", cols);
    check([](const Tensor& x) { return weighted(linalg::qr(x).q); }, a, "q" + shape);
    check([](const Tensor& x) { return weighted(linalg::qr(x).r); }, a, "r" + shape);
    check([](const Tensor& x) { return weighted(matmul(linalg::qr(x).q, square(linalg::qr(x).r))) / 5; }, a, "both" + shape);
  }
}

TEST(LinalgGradient, OfSvd) {
  for (const auto& [rows, cols] : {std::pair{4, 3}, std::pair{3, 4}, std::pair{3, 3}}) {
    const Tensor a = steady(rows, cols);
    const std::string shape = str(" of ", rows, " x ", cols);
    check([](const Tensor& x) { return weighted(square(linalg::svd(x).u)); }, a, "u" + shape);
    check([](const Tensor& x) { return weighted(linalg::svd(x).s); }, a, "s" + shape);
    check([](const Tensor& x) { return weighted(square(linalg::svd(x).vh)); }, a, "vh" + shape);
    check(
        [](const Tensor& x) {
          const linalg::SVD all = linalg::svd(x);
          return weighted(matmul(all.u * log(all.s), all.vh));
        },
        a, "all" + shape);
  }
}

TEST(LinalgGradient, OfEigh) {
  const Tensor a = symmetric(steady(3, 3));
  check([](const Tensor& x) { return weighted(linalg::eigh(symmetric(x)).values); }, a, "values");
  check([](const Tensor& x) { return weighted(square(linalg::eigh(symmetric(x)).vectors)); }, a, "vectors");
  check(
      [](const Tensor& x) {
        const linalg::Eigh all = linalg::eigh(symmetric(x));
        return weighted(matmul(all.vectors * exp(all.values / 4), all.vectors, false, true));
      },
      a, "both");
}

TEST(LinalgGradient, OfCholesky) {
  const Tensor a = random({3, 4}, 1);
  const auto positive = [](const Tensor& x) { return matmul(x, x, false, true) + 0.5 * Tensor({1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3}); };
  check([&](const Tensor& x) { return weighted(linalg::cholesky(positive(x))); }, a, "cholesky");
  check([&](const Tensor& x) { return sum(log(square(linalg::cholesky(positive(x))) + 1)); }, a, "logarithm");
}

TEST(LinalgGradient, OfValuesThatAreEqualOrZero) {
  const Tensor twice = watch(Tensor({2, 0, 0, 2}, {2, 2})), zero = watch(Tensor::zeros({DType::f32, {2, 2}})),
               flat = watch(Tensor({1, 0, 0, 0, 0, 0}, {3, 2}));
  EXPECT_EQ(grad(sum(linalg::eigh(twice).values), {twice})[0].to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(grad(sum(linalg::svd(twice).s), {twice})[0].to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(grad(sum(linalg::eigh(zero).values), {zero})[0].to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  const char* text = " needs values that differ, but those of vectors 0 and 1 are equal; the vectors have no gradient there, the values do";
  EXPECT_THAT(error_of([&] { grad(weighted(linalg::eigh(twice).vectors), {twice}); }), HasSubstr(str("gradient of linalg::eigh", text)));
  EXPECT_THAT(error_of([&] { grad(weighted(linalg::svd(twice).u), {twice}); }), HasSubstr(str("gradient of linalg::svd", text)));
  EXPECT_THAT(error_of([&] { grad(weighted(linalg::svd(twice).vh), {twice}); }), HasSubstr(str("gradient of linalg::svd", text)));
  EXPECT_THAT(error_of([&] { grad(weighted(linalg::svd(flat).u), {flat}); }),
              HasSubstr("gradient of linalg::svd needs singular values above 0, but value 1 is 0; its vectors have no gradient"));
}

TEST(LinalgGradient, ErrorsNameTheFunctionWhoseGradientItIs) {
  const Tensor a = watch(Tensor({1, 2, 2, 4}, {2, 2}));
  EXPECT_THAT(error_of([&] { grad(linalg::det(a), {a}); }),
              testing::AllOf(HasSubstr("[linalg_gradient_test.cpp:"), HasSubstr("gradient of linalg::det needs an invertible matrix, got f32[2,2]")));
  EXPECT_THAT(error_of([&] { grad(sum(linalg::qr(a).r), {a}); }),
              testing::AllOf(HasSubstr("gradient of linalg::qr needs columns that are linearly independent, but column 1, of norm 4.47"),
                             HasSubstr(" of the span of those before it")));
}

TEST(LinalgGradient, TrainsAParameter) {
  const Parameter w("w", Tensor({2, 0.5f, 0.3f, 1}, {2, 2}));
  const Tensor wanted({1, 0.2f, -0.4f, 2}, {2, 2});
  optim::Adam optimizer({.learning_rate = 0.05});
  double loss = 0;
  for (int i = 0; i < 300; ++i) {
    const Tensor error = sum(square(linalg::inv(w) - wanted));
    optimizer.update(std::vector{w}, grad(error, std::vector{w}));
    loss = error.item();
  }
  EXPECT_LT(loss, 1e-6);
}

}  // namespace
}  // namespace sinter::test::linalg_gradient_test
