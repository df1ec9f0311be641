// Where tensors have NaN or infinite numbers.
#include "frontend/core/finite.h"

#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::finite_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

TEST(NonFinite, IsFoundWhereverItIs) {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5}, Shape{100, 70}, Shape{40000}, Shape{70000, 2}, Shape{9, 20000}}) {
    const std::int64_t all = shape.elements().factor();
    EXPECT_FALSE(first_non_finite(random(shape, 1)));
    for (const std::int64_t place : {std::int64_t{0}, all / 3, all / 2, all - 1})
      for (const float bad : {nan, -nan, inf, -inf}) {
        std::vector<float> numbers(static_cast<std::size_t>(all), -std::numeric_limits<float>::max());
        for (std::size_t i = 0; i < numbers.size(); i += 2) numbers[i] = std::numeric_limits<float>::max();
        numbers[static_cast<std::size_t>(place)] = bad;
        numbers.back() = place == all - 1 ? bad : nan;  // not the first
        const auto found = first_non_finite(Tensor(numbers, shape));
        ASSERT_TRUE(found) << shape << " " << place;
        EXPECT_EQ(found->place, place) << shape;
        EXPECT_EQ(std::isnan(found->value), std::isnan(bad));
      }
  }
}

TEST(NonFinite, IsFoundAgainAfterAStateWasWrittenInPlace) {
  for (const Mode mode : modes()) {
    const Parameter state("state", Tensor({1, 2, 3}, {3}));
    auto step = compile(
        [&](const Tensor& x) {
          state.assign(state * mean(x));
          return mean(x);
        },
        {.mode = mode});
    step(Tensor({1}, {1}));
    EXPECT_FALSE(first_non_finite(state.read()));
    step(Tensor({inf}, {1}));
    ASSERT_TRUE(first_non_finite(state.read()));
    EXPECT_EQ(first_non_finite(state.read())->value, inf);
  }
}

}  // namespace
}  // namespace sinter::test::finite_test
