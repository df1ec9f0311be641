// linalg:: against NumPy (tests/fixtures/linalg.py), by its properties, and what it refuses.
#include <pthread.h>

#include <cmath>
#include <limits>
#include <map>

#include "frontend/data/npz.h"
#include "ir/sanitizers.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::linalg_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::map<std::string, Tensor>& numpy() {
  static const std::map<std::string, Tensor> arrays = [] {
    std::map<std::string, Tensor> result;
    for (const auto& [name, array] : data::read_npz(std::string(SINTER_TEST_FIXTURES) + "/linalg.npz"))
      result.emplace(name, Tensor(array.values<float>(), Shape::fixed(array.shape)));
    return result;
  }();
  return arrays;
}

/// Equal to 1e-5 of the greatest element.
void expect_close(const Tensor& got, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(got.type(), wanted.type()) << what;
  const double greatest = max(abs(wanted)).item();
  EXPECT_LE(max(abs(got - wanted)).item(), 1e-5 * std::max(1.0, greatest)) << what;
}

/// The columns of `vectors` and `others`, which belong together, times the signs that bring the vectors to those wanted.
std::pair<Tensor, Tensor> with_signs(const Tensor& vectors, const Tensor& wanted, const Tensor& others) {
  const Tensor signs = sign(sum(vectors * wanted, {0}));
  return {vectors * signs, others * signs};
}

class Square : public testing::TestWithParam<const char*> {
 protected:
  Tensor numpys(const std::string& name) const { return numpy().at(str(GetParam(), "_", name)); }
};

TEST_P(Square, SystemsAndInverses) {
  const Tensor a = numpys("a"), b = numpys("b");
  expect_close(linalg::solve(a, b), numpys("solve"), "solve");
  expect_close(linalg::solve(a, reshape(slice(b, 1, 0, 1), {-1})), numpys("solve_vector"), "solve of a vector");
  expect_close(linalg::inv(a), numpys("inv"), "inv");
  expect_close(linalg::det(a), numpys("det"), "det");
}

TEST_P(Square, SymmetricDecompositions) {
  const Tensor a = numpys("spd");
  const linalg::Eigh eigh = linalg::eigh(a);
  expect_close(eigh.values, numpys("values"), "values");
  expect_close(with_signs(eigh.vectors, numpys("vectors"), eigh.vectors).first, numpys("vectors"), "vectors");
  expect_close(matmul(eigh.vectors * eigh.values, eigh.vectors, false, true), a, "vectors values vectorsᵀ");
  expect_close(linalg::cholesky(a), numpys("cholesky"), "cholesky");
}

INSTANTIATE_TEST_SUITE_P(Linalg, Square, testing::Values("one", "small", "odd", "large"));

class Rectangular : public testing::TestWithParam<const char*> {
 protected:
  Tensor numpys(const std::string& name) const { return numpy().at(str(GetParam(), "_", name)); }
};

TEST_P(Rectangular, LeastSquares) {
  const Tensor a = numpys("a"), b = numpys("b");
  expect_close(linalg::lstsq(a, b), numpys("lstsq"), "lstsq");
  expect_close(linalg::lstsq(a, reshape(slice(b, 1, 1, 2), {-1})), numpys("lstsq_vector"), "lstsq of a vector");
  expect_close(linalg::pinv(a), numpys("pinv"), "pinv");
}

TEST_P(Rectangular, Decompositions) {
  const Tensor a = numpys("a");
  const linalg::QR qr = linalg::qr(a);
  expect_close(qr.q, numpys("q"), "q");
  expect_close(qr.r, numpys("r"), "r");
  const linalg::SVD svd = linalg::svd(a);
  expect_close(svd.s, numpys("s"), "s");
  const auto [u, v] = with_signs(svd.u, numpys("u"), transpose(svd.vh));
  expect_close(u, numpys("u"), "u");
  expect_close(v, transpose(numpys("vh")), "vh");
  expect_close(matmul(svd.u * svd.s, svd.vh), a, "u s vh");
}

INSTANTIATE_TEST_SUITE_P(Linalg, Rectangular, testing::Values("tall", "wide", "square", "column", "row"));

TEST(Linalg, LeastSquaresOfAMatrixThatLacksRankHasLeastNorm) {
  const Tensor a = numpy().at("low_a"), b = numpy().at("low_b");
  expect_close(linalg::lstsq(a, b), numpy().at("low_lstsq"), "lstsq");
  expect_close(linalg::pinv(a), numpy().at("low_pinv"), "pinv");
  // With rcond the lesser of two singular values counts as 0.
  const Tensor scales({4, 0, 0, 1}, {2, 2});
  EXPECT_EQ(linalg::pinv(scales, 0.2).to_vector<float>(), (std::vector<float>{0.25f, 0, 0, 1}));
  EXPECT_EQ(linalg::pinv(scales, 0.3).to_vector<float>(), (std::vector<float>{0.25f, 0, 0, 0}));
  EXPECT_EQ(linalg::lstsq(scales, Tensor({4, 4}, {2}), 0.3).to_vector<float>(), (std::vector<float>{1, 0}));
}

TEST(Linalg, PinvFindsTheRegression) {
  const Tensor x = concat({random({50, 3}, 1), Tensor::filled({DType::f32, {50, 1}}, 1)}, 1), weights({2, -1, 0.5f, 3}, {4, 1});
  const Tensor y = matmul(x, weights);
  expect_close(matmul(linalg::pinv(x), y), weights, "pinv");
  expect_close(linalg::lstsq(x, y), weights, "lstsq");
}

TEST(Linalg, UnitsSayNothingAboutSingularity) {
  const Tensor a({1e12f, 0, 0, 1e-12f}, {2, 2});
  EXPECT_FLOAT_EQ(static_cast<float>(linalg::inv(a).to_vector<float>()[3]), 1e12f);
  EXPECT_FLOAT_EQ(linalg::solve(a, Tensor({1e12f, 1e-12f}, {2})).to_vector<float>()[1], 1);
}

/// As threads of servers and of other languages have.
TEST(Linalg, WorksOnASmallStack) {
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) GTEST_SKIP() << "a sanitizer needs more stack itself";
  const auto all = [](void*) -> void* {
    const Tensor a = random({120, 120}, 1), b = random({120, 90}, 2);
    (void)linalg::solve(a, b);
    (void)linalg::inv(a);
    (void)linalg::det(a * 0.1f);
    (void)linalg::pinv(b);
    (void)linalg::lstsq(b, random({120}, 3));
    (void)linalg::qr(b);
    (void)linalg::svd(b);
    (void)linalg::eigh(a + transpose(a));
    (void)linalg::cholesky(matmul(a, transpose(a)) + one_hot(iota({120}), 120));
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, +all, nullptr), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Linalg, TakesParametersAndChangesNoOperand) {
  const Parameter w("w", Tensor({2, 0, 0, 4}, {2, 2}));
  EXPECT_EQ(linalg::inv(w).to_vector<float>(), (std::vector<float>{0.5f, 0, 0, 0.25f}));
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{2, 0, 0, 4}));
}

TEST(LinalgErrors, NameTheRuleTheValuesAndTheNextStep) {
  const Tensor wide = random({2, 3}, 1), vector = random({3}, 2), cube = random({2, 3, 3}, 3), unit({1, 0, 0, 1}, {2, 2});
  const Tensor whole(std::vector<std::int32_t>{1, 0, 0, 1}, {2, 2}), empty = Tensor::zeros({DType::f32, {0, 0}});
  const auto expect = [](const std::string& error, const char* text) { EXPECT_THAT(error, AllOf(HasSubstr("[linalg_test.cpp:"), HasSubstr(text))); };
  expect(error_of([&] { linalg::inv(wide); }), "linalg::inv needs a square matrix, got f32[2,3]; pinv gives the pseudo-inverse");
  expect(error_of([&] { linalg::solve(wide, unit); }),
         "linalg::solve needs a square matrix, got f32[2,3]; lstsq gives the solution of least squares");
  expect(error_of([&] { linalg::det(wide); }), "linalg::det needs a square matrix, got f32[2,3]");
  expect(error_of([&] { linalg::eigh(wide); }), "linalg::eigh needs a square matrix, got f32[2,3]");
  expect(error_of([&] { linalg::qr(vector); }), "linalg::qr needs a matrix, got f32[3]; one matrix per call");
  expect(error_of([&] { linalg::svd(cube); }), "linalg::svd needs a matrix, got f32[2,3,3]; one matrix per call");
  expect(error_of([&] { linalg::det(whole); }), "linalg::det needs f32, got i32[2,2]; cast it");
  expect(error_of([&] { linalg::det(empty); }), "linalg::det needs at least one element, got f32[0,0]");
  expect(error_of([&] { linalg::inv(Tensor()); }), "linalg::inv of a tensor that was never set");
  expect(error_of([&] { linalg::solve(unit, vector); }),
         "linalg::solve needs a right-hand side of shape [2] or [2, k] beside a matrix f32[2,2], got f32[3]");
  expect(error_of([&] { linalg::lstsq(wide, cube); }),
         "linalg::lstsq needs a right-hand side of shape [2] or [2, k] beside a matrix f32[2,3], got f32[2,3,3]");
  expect(error_of([&] { linalg::pinv(wide, 1.0); }), "linalg::pinv needs 0 <= rcond < 1, got 1");
  expect(error_of([&] { linalg::lstsq(wide, unit, std::nan("")); }), "linalg::lstsq needs 0 <= rcond < 1, got nan");
  expect(error_of([&] { linalg::eigh(Tensor({1, 2, 3, 4}, {2, 2})); }),
         "linalg::eigh needs a symmetric matrix, got 3 at [1, 0] and 2 at [0, 1]; pass (a + transpose(a)) / 2 if that is meant");
  expect(error_of([&] { linalg::cholesky(Tensor({1, 2, 2, 1}, {2, 2})); }),
         "linalg::cholesky needs a positive definite matrix, got f32[2,2] whose least eigenvalue is -1; add a multiple of the identity");
}

TEST(LinalgErrors, OfSingularMatrices) {
  const Tensor zero = Tensor::zeros({DType::f32, {3, 3}}), b({1, 2, 3}, {3});
  for (const Tensor& a : {zero, Tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}), Tensor({1, 0, 0, 0, 1, 0, 0, 0, 0}, {3, 3})}) {
    EXPECT_THAT(error_of([&] { linalg::inv(a); }),
                AllOf(HasSubstr("linalg::inv needs an invertible matrix, got f32[3,3] that is singular (reciprocal condition number "),
                      HasSubstr("; pinv gives the pseudo-inverse")));
    EXPECT_THAT(error_of([&] { linalg::solve(a, b); }), HasSubstr("; lstsq gives the solution of least squares and least norm"));
    EXPECT_NEAR(linalg::det(a).item(), 0, 1e-12);
  }
  EXPECT_EQ(linalg::det(zero).item(), 0);
  EXPECT_THAT(error_of([&] { linalg::cholesky(Tensor({1, 1, 1, 1}, {2, 2})); }), HasSubstr("needs a positive definite matrix"));
}

TEST(LinalgErrors, OfNumbersThatAreNotFinite) {
  const Tensor unit({1, 0, 0, 1}, {2, 2}), bad({1, 0, std::numeric_limits<float>::infinity(), 1}, {2, 2}), nan({std::nanf(""), 1}, {2});
  const char* text = "needs finite numbers, got inf at [1, 0] of f32[2,2]";
  EXPECT_THAT(error_of([&] { linalg::solve(bad, nan); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::lstsq(bad, nan); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::pinv(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::inv(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::det(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::qr(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::svd(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::eigh(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::cholesky(bad); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { linalg::solve(unit, nan); }), HasSubstr("needs finite numbers, got nan at [0] of f32[2]"));
}

TEST(LinalgErrors, OfResultsBeyondF32) {
  const Tensor tiny({1e-40f, 0, 0, 1}, {2, 2}), great({3e38f, 3e38f, 3e38f, -3e38f}, {2, 2}), one({1, 1}, {2}), thin({1e-30f, 1e-30f}, {2, 1});
  const auto beyond = [](const auto& call, const std::string& name, const std::string& number) {
    EXPECT_THAT(error_of(call), testing::ContainsRegex("linalg::" + name + " gives " + number + ", which is beyond f32; scale the operands"));
  };
  beyond([&] { linalg::inv(tiny); }, "inv", "1\\.0000.e\\+40 at \\[0, 0\\]");
  beyond([&] { linalg::det(great); }, "det", "-1\\.8e\\+77");
  beyond([&] { linalg::solve(tiny, one); }, "solve", "1\\.0000.e\\+40 at \\[0\\]");
  beyond([&] { linalg::pinv(tiny, 0); }, "pinv", "1\\.0000.e\\+40 at \\[0, 0\\]");
  beyond([&] { linalg::lstsq(thin, Tensor({1e30f, 1e30f}, {2})); }, "lstsq", "1e\\+60 at \\[0\\]");
  beyond([&] { linalg::qr(great); }, "qr", "-4\\.2426.*e\\+38 at \\[0, 0\\]");
  beyond([&] { linalg::svd(great); }, "svd", "4\\.2426.*e\\+38 at \\[0\\]");
  beyond([&] { linalg::eigh(great); }, "eigh", "-4\\.2426.*e\\+38 at \\[0\\]");
  EXPECT_EQ(linalg::inv(Tensor({1e-30f, 0, 0, 1}, {2, 2})).to_vector<float>()[0], 1 / 1e-30f);
}

TEST(LinalgErrors, OfATrace) {
  NEEDS_CODEGEN();
  const Tensor unit({1, 0, 0, 1}, {2, 2});
  auto traced = compile([](const Tensor& x) { return linalg::inv(x); });
  auto captured = compile([&](const Tensor& x) { return matmul(x, linalg::inv(unit)); });
  const char* text = "linalg::inv is computed immediately and cannot be traced; call it outside of the compiled function, and pass the result in";
  EXPECT_THAT(error_of([&] { traced(unit); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { captured(unit); }), HasSubstr(text));
}

}  // namespace
}  // namespace sinter::test::linalg_test
