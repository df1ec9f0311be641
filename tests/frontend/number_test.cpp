// Numbers that enter as arguments: what an element type does not hold is refused, not wrapped.
#include <limits>

#include "tests/frontend/mistakes.h"

namespace sinter::test::number_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

TEST(Number, ThatATypeDoesNotHoldFillsNothing) {
  const struct {
    DType dtype;
    double number;
    const char* message;
  } cases[] = {{DType::u8, 300, "the number 300 is not exact in u8, which holds whole numbers from 0 to 255"},
               {DType::u8, -1, "the number -1 is not exact in u8"},
               {DType::u8, 0.5, "the number 0.5 is not exact in u8"},
               {DType::i32, 1e10, "the number 1e+10 is not exact in i32, which holds whole numbers from -2147483648 to 2147483647"},
               {DType::i32, nan, "the number nan is not exact in i32"},
               {DType::i32, infinity, "the number inf is not exact in i32"},
               {DType::u32, -1, "the number -1 is not exact in u32, which holds whole numbers from 0 to 4294967295"},
               {DType::boolean, 2, "the number 2 is not exact in bool, which holds 0 and 1"},
               {DType::boolean, nan, "the number nan is not exact in bool"},
               {DType::f32, 1e300, "the number 1e+300 is beyond f32, which holds numbers up to 3.4"}};
  for (const auto& c : cases)
    EXPECT_THAT(error_of([&] { Tensor::filled({c.dtype, {2}}, c.number); }), HasSubstr(std::string("[Tensor::filled] ") + c.message));
  EXPECT_THAT(Tensor::filled({DType::u8, {2}}, 255).to_vector<std::uint8_t>(), ElementsAre(255, 255));
  EXPECT_THAT(Tensor::filled({DType::i32, {1}}, -2147483648.0).to_vector<std::int32_t>(), ElementsAre(-2147483648));
  EXPECT_EQ(Tensor::filled({DType::f32, {}}, -infinity).item(), -infinity);
  EXPECT_EQ(Tensor::filled({DType::f32, {}}, 0.1).item(), static_cast<double>(0.1f));
}

TEST(Number, ThatATypeDoesNotHoldIsNoOperand) {
  for (const Mode mode : modes()) {
    const auto refuse = [&](const Tensor& x, double number, const char* message) {
      auto step = compile([&](const Tensor& t) { return t + number; }, {.mode = mode, .kinds = {InputKind::fixed}});
      EXPECT_THAT(error_of([&] { step(x); }), HasSubstr(message));
    };
    const Tensor whole(std::vector<std::int32_t>{1, 2}, {2}), floats({1, 2}, {2});
    refuse(whole, nan, "the number nan is not exact in i32");
    refuse(whole, infinity, "the number inf is not exact in i32");
    refuse(whole, 0.5, "the number 0.5 is not exact in i32");
    refuse(floats, 1e39, "the number 1e+39 is beyond f32, which holds numbers up to 3.4");
  }
}

TEST(Number, ThatATypeDoesNotHoldPadsNothing) {
  const Tensor bytes(std::vector<std::uint8_t>{1, 2}, {2});
  EXPECT_THAT(error_of([&] { pad(bytes, 0, 1, 0, 256); }), HasSubstr("pad: the number 256 is not exact in u8"));
  EXPECT_THAT(error_of([&] { pad(bytes, 0, 1, 0, 0.5f); }), HasSubstr("pad: the number 0.5 is not exact in u8"));
  EXPECT_THAT(pad(bytes, 0, 1, 0, 255).to_vector<std::uint8_t>(), ElementsAre(255, 1, 2));
}

TEST(Number, ThatIsZeroInF32IsNotPositive) {
  EXPECT_THAT(error_of([] { nn::BatchNorm(4, {.epsilon = 1e-40f}); }),
              HasSubstr("[BatchNorm] epsilon must be a number that f32 holds, from 1.18e-38 to 3.40e38, got "));
  EXPECT_THAT(error_of([] { optim::Adam({.epsilon = 1e-50}); }),
              HasSubstr("[adam] epsilon must be a number that f32 holds, from 1.18e-38 to 3.40e38, got 1e-50"));
}

TEST(Number, OfAnInitializerIsFinite) {
  constexpr float greatest = std::numeric_limits<float>::max();
  for (const float x : init::uniform(-greatest, greatest)({100}).to_vector<float>()) EXPECT_LE(std::abs(x), greatest);
  EXPECT_THAT(error_of([] { init::uniform(0, std::numeric_limits<float>::infinity()); }),
              HasSubstr("[init] uniform needs finite bounds, got 0 and inf"));
}

}  // namespace
}  // namespace sinter::test::number_test
