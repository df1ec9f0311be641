// NaN as a number of a program.
#include <cmath>
#include <limits>

#include "tests/frontend/helpers.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::nan_constant_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

bool are_same(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() &&
         std::ranges::equal(a.to_vector<float>(), b.to_vector<float>(), [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

TEST(NanConstant, CompilesAndIsTheSameInAFile) {
  const auto f = [](const Tensor& x) { return std::tuple(where(x > 0, x, nan), pad(x, 1, 1, 2, nan), x * nan, maximum(x, Tensor(nan) * 2)); };
  const Tensor x({1, -1, 0, 2, -3, 4}, {2, 3});
  const auto [chosen, padded, product, greater] = f(x);
  EXPECT_TRUE(are_same(chosen, Tensor({1, nan, nan, 2, nan, 4}, {2, 3})));
  EXPECT_TRUE(are_same(padded, Tensor({nan, 1, -1, 0, nan, nan, nan, 2, -3, 4, nan, nan}, {2, 6})));
  EXPECT_TRUE(are_same(product, Tensor::filled({DType::f32, {2, 3}}, nan)));
  EXPECT_TRUE(are_same(greater, product));
  const TemporaryFolder folder;
  for (const Mode mode : modes()) {
    auto step = compile(f, {.mode = mode});
    const auto [a, b, c, d] = step(x);
    EXPECT_TRUE(are_same(a, chosen) && are_same(b, padded) && are_same(c, product) && are_same(d, greater));
    if (mode == Mode::eager) continue;
    const VerifyReport report = step.verify(x);
    EXPECT_TRUE(report.ok()) << report;
    step.save(folder / "step.sinter");
    const Tensor* const in[] = {&x};
    EXPECT_TRUE(are_same(load_step(folder / "step.sinter")->call(in)[1], padded));
  }
}

TEST(NanConstant, OfIntegersIsAnError) {
  EXPECT_THAT(error_of([] { Tensor::filled({DType::i32, {2}}, nan); }), ::testing::HasSubstr("Tensor::filled"));
}

}  // namespace
}  // namespace sinter::test::nan_constant_test
