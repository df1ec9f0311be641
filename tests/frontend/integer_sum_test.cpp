// Sums and means of integers: exact, or refused.
#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::integer_sum_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int32_t greatest = std::numeric_limits<std::int32_t>::max(), least = std::numeric_limits<std::int32_t>::min();

Tensor whole(const std::vector<std::int32_t>& numbers, const Shape& shape) { return {numbers, shape}; }

TEST(IntegerSum, ThatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of([] { sum(whole({greatest, 1}, {2})); }),
              HasSubstr("sum: the total does not fit: the number 2147483648 is not exact in i32, which holds whole numbers from -2147483648 to "
                        "2147483647; sum cast(x, DType::f32), which rounds, or take the mean"));
  EXPECT_THAT(error_of([] { sum(whole({1, greatest, 2, 1}, {2, 2}), {0}); }), HasSubstr("the number 2147483648 is not exact in i32"));
  EXPECT_THAT(error_of([] { sum(whole({1, 2, least, -1}, {2, 2}), {1}); }), HasSubstr("the number -2147483649 is not exact in i32"));
  EXPECT_THAT(error_of([] { cumsum(whole({greatest, 1, -2}, {3})); }), HasSubstr("cumsum: the total does not fit: the number 2147483648"));
  EXPECT_THAT(error_of([] { sum(cast(whole({-1, 1}, {2}), DType::u32)); }), HasSubstr("the number 4294967296 is not exact in u32"));
  EXPECT_EQ(sum(whole({greatest, 1, -2}, {3})).item(), greatest - 1);  // what overflows on the way does not matter
  EXPECT_THAT(cumsum(whole({greatest, least, 1}, {3})).to_vector<std::int32_t>(), ElementsAre(greatest, -1, 0));
}

TEST(IntegerSum, OfManyBytesIsRefused) {
  constexpr std::int64_t many = 8'421'505;  // one more than i32 holds at 255 each
  const Tensor bytes = Tensor::filled({DType::u8, {many}}, 255);
  EXPECT_THAT(error_of([&] { sum(bytes); }), HasSubstr("sum: the total does not fit: the number 2147483775 is not exact in i32"));
  EXPECT_EQ(sum(slice(bytes, 0, 0, many - 1)).item(), 255.0 * (many - 1));
  EXPECT_EQ(sum(Tensor::filled({DType::u8, {many}}, 254)).item(), 254.0 * many);
  EXPECT_EQ(sum(bytes > 3).item(), many);
}

/// In a trace, and in eager runs of a trace, the values are not known before.
TEST(IntegerSum, IsCheckedWhereItIsComputed) {
  NEEDS_CODEGEN();
  const std::string wrong = "exact_total: the total does not fit i32; sum cast(x, DType::f32), which rounds, or take the mean";
  constexpr std::int64_t many = 8'421'505;
  const Tensor bytes = Tensor::filled({DType::u8, {many}}, 255);
  for (const InputKind kind : {InputKind::fixed, InputKind::batch}) {
    auto total = compile([](const Tensor& x) { return sum(x); }, {.kinds = {kind}});
    EXPECT_THAT(error_of([&] { total(bytes); }), HasSubstr(wrong));
    EXPECT_EQ(total(Tensor::filled({DType::u8, {many}}, 254)).item(), 254.0 * many);
    EXPECT_EQ(total(slice(bytes, 0, 0, many - 1)).item(), 255.0 * (many - 1));
    EXPECT_THAT(error_of([&] { total(whole({greatest, 1}, {2})); }), HasSubstr(wrong));
    EXPECT_THAT(error_of([&] { total(whole({least, -1}, {2})); }), HasSubstr(wrong));
    EXPECT_EQ(total(whole({greatest, 1, -2}, {3})).item(), greatest - 1);
    EXPECT_THAT(error_of([&] { total(cast(whole({-1, 1}, {2}), DType::u32)); }), HasSubstr("exact_total: the total does not fit u32"));
    auto columns = compile([](const Tensor& x) { return sum(x, {0}); }, {.kinds = {kind}});
    EXPECT_THAT(error_of([&] { columns(whole({1, greatest, 2, 1}, {2, 2})); }), HasSubstr(wrong));
    EXPECT_THAT(columns(whole({1, greatest, 2, -1}, {2, 2})).to_vector<std::int32_t>(), ElementsAre(3, greatest - 1));
    auto rows = compile([](const Tensor& x) { return sum(x, {1}); }, {.kinds = {kind}});
    EXPECT_THAT(error_of([&] { rows(whole({1, 2, least, -1}, {2, 2})); }), HasSubstr(wrong));
    auto running = compile([](const Tensor& x) { return cumsum(x); }, {.kinds = {kind}});
    EXPECT_THAT(error_of([&] { running(whole({greatest, 1, -2}, {3})); }), HasSubstr(wrong));
    EXPECT_THAT(running(whole({greatest, least, 1}, {3})).to_vector<std::int32_t>(), ElementsAre(greatest, -1, 0));
  }
}

/// A step that meets one leaves its parameters as they were.
TEST(IntegerSum, ThatDoesNotFitUndoesTheStep) {
  for (const Mode mode : modes()) {
    const Parameter p("p", Tensor(1.0f));
    auto step = compile(
        [&](const Tensor& x) {
          p.assign(p.read() + 1.0f);
          return sum(x);
        },
        {.mode = mode});
    step(whole({1, 2}, {2}));
    EXPECT_THAT(error_of([&] { step(whole({greatest, 1}, {2})); }), HasSubstr("the total does not fit"));
    EXPECT_EQ(p.read().item(), 2);
  }
}

/// Neither the order of the terms nor their wrapping sum shows in a mean.
TEST(IntegerSum, IsExactInAMean) {
  const struct {
    Tensor x;
    double mean;
  } cases[] = {{whole({greatest, 1, -greatest, 0}, {4}), 0.25},
               {whole({greatest, greatest, greatest, greatest}, {4}), 2147483647},
               {whole({least, least, least, least + 4}, {4}), -2147483647},
               {whole({greatest, greatest, least, least, 16777217, 2, -16777219, 3}, {8}), 0.125},
               {cast(whole({-1, -1, -1, 0}, {4}), DType::u32), 3221225471.25},
               {cast(whole({1, 2, 3, 5}, {4}), DType::u8), 2.75},
               {whole({1, 2, 0, 5}, {4}) > 0, 0.75}};
  for (const Mode mode : modes())
    for (const InputKind kind : {InputKind::fixed, InputKind::batch})
      for (const auto& c : cases) {
        auto step = compile([](const Tensor& x) { return mean(x); }, {.mode = mode, .kinds = {kind}});
        EXPECT_EQ(step(c.x).item(), static_cast<double>(static_cast<float>(c.mean))) << c.x;
      }
}

TEST(IntegerSum, IsExactInAMeanOfManyBytes) {
  const Tensor bytes = Tensor::filled({DType::u8, {20'000'000}}, 255);
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& x) { return mean(x); }, {.mode = mode});
    EXPECT_FLOAT_EQ(static_cast<float>(step(bytes).item()), 255);
  }
}

TEST(IntegerSum, IsExactInAMeanOverAxes) {
  const Tensor x = whole({greatest, 1, 7, -greatest, 2, 8, 3, 3, -15, 1, 2, 0}, {2, 2, 3});
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& t) { return std::tuple(mean(t, {1}), mean(t, {0, 2}, true)); }, {.mode = mode, .kinds = {InputKind::fixed}});
    const auto [middle, ends] = step(x);
    EXPECT_THAT(middle.to_vector<float>(), ElementsAre(0, 1.5f, 7.5f, 2, 2.5f, -7.5f));
    EXPECT_THAT(ends.to_vector<float>(), ElementsAre(357913941.0f, -357913939.0f));
  }
}

}  // namespace
}  // namespace sinter::test::integer_sum_test
