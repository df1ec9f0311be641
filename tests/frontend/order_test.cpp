// The order of elements along an axis: argmax, argmin, argsort, sort, flip, top_k.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>

#include "tests/frontend/mistakes.h"
#include "tests/frontend/verbs.h"

namespace sinter::test::order_test {
namespace {

using ::testing::ElementsAre;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

std::vector<std::int32_t> places(const Tensor& x) { return x.to_vector<std::int32_t>(); }

TEST(Order, OfTheGreatestAndTheLeast) {
  const Tensor x({3, 1, 2, 0, 5, 5}, {2, 3});
  EXPECT_THAT(places(argmax(x)), ElementsAre(0, 1));
  EXPECT_THAT(places(argmin(x)), ElementsAre(1, 0));
  EXPECT_THAT(places(argmax(x, 0)), ElementsAre(0, 1, 1));
  EXPECT_THAT(places(argmin(x, 0)), ElementsAre(1, 0, 0));
  EXPECT_EQ(to_string(argmax(x, 0, true).type()), "i32[1,3]");
  EXPECT_EQ(to_string(argmin(random({2, 3, 4}, 1), 1).type()), "i32[2,4]");
  EXPECT_THAT(places(argmin(Tensor({1, nan, -inf}, {3}))), ElementsAre(1)) << "NaN before all";
}

TEST(Order, SortsStably) {
  const Tensor x({2, nan, 1, inf, 2, -inf, nan, 1}, {8});
  EXPECT_THAT(places(argsort(x)), ElementsAre(5, 2, 7, 0, 4, 3, 1, 6)) << "NaN counts as the greatest";
  EXPECT_THAT(places(argsort(x, -1, true)), ElementsAre(1, 6, 3, 0, 4, 2, 7, 5));
  EXPECT_THAT(sort(Tensor({3, 1, 2, 6, 5, 4}, {2, 3})).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(sort(Tensor({3, 1, 2, 6, 5, 4}, {2, 3}), 1, true).to_vector<float>(), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(sort(Tensor({3, 1, 2, 1, 5, 0}, {3, 2}), 0).to_vector<float>(), ElementsAre(2, 0, 3, 1, 5, 1));
}

/// The positions of the k greatest by the standard library.
template <class T>
std::vector<std::int32_t> greatest(std::span<const T> row, std::size_t k) {
  std::vector<std::int32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const T x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
    const bool first = (x != x && y == y) || x > y, second = (y != y && x == x) || y > x;
    return first != second ? first : a < b;
  });
  order.resize(k);
  return order;
}

/// Short and long rows are ordered in different ways, few and many of them too.
TEST(Order, AgreesWithTheStandardLibraryForAnyNumberOfElements) {
  constexpr std::int64_t rows = 3;
  for (const std::int64_t elements : {1, 2, 63, 64, 255, 256, 257, 1000, 5000, 70001}) {
    // Ties, both zeros, infinities and NaN among them.
    Tensor x = floor(random({rows, elements}, elements, -300, 300) * 0.5);
    x = where(x == 7.0f, inf, where(x == 9.0f, -inf, where(x == 11.0f, -0.0f, where(x == 13.0f, nan, x))));
    const std::vector<float> values = x.to_vector<float>();
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{63}, std::int64_t{64}, elements / 2, elements}) {
      if (k < 1 || k > elements) continue;
      std::vector<std::int32_t> wanted;
      for (std::int64_t row = 0; row < rows; ++row)
        for (const std::int32_t place :
             greatest(std::span(values).subspan(static_cast<std::size_t>(row * elements), static_cast<std::size_t>(elements)),
                      static_cast<std::size_t>(k)))
          wanted.push_back(place);
      for (const Mode mode : modes()) {
        auto step = compile([k](const Tensor& t) { return top_k(t, k).indices; }, {.mode = mode});
        EXPECT_EQ(places(step(x)), wanted) << k << " of " << elements;
      }
    }
  }
}

TEST(Order, OfManyIntegersIsExact) {
  std::vector<std::int32_t> numbers(3000);
  std::uint32_t number = 1;
  for (std::int32_t& x : numbers) x = static_cast<std::int32_t>(number = number * 1664525 + 1013904223);
  numbers[7] = numbers[2000] = 2147483647;
  numbers[8] = numbers[1000] = -2147483647 - 1;
  std::vector<std::uint32_t> bits(numbers.begin(), numbers.end());
  const Tensor x(numbers, {1, 3000}), y = cast(x, DType::u32);
  for (const Mode mode : modes()) {
    auto step = compile([](const Tensor& a, const Tensor& b) { return std::tuple(argsort(a, -1, true), argsort(b, -1, true)); }, {.mode = mode});
    const auto [of_signed, of_unsigned] = step(x, y);
    EXPECT_EQ(places(of_signed), greatest(std::span<const std::int32_t>(numbers), 3000));
    EXPECT_EQ(places(of_unsigned), greatest(std::span<const std::uint32_t>(bits), 3000));
  }
}

TEST(Order, FlipsAnAxis) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(flip(x).to_vector<float>(), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(flip(x, 0).to_vector<float>(), ElementsAre(4, 5, 6, 1, 2, 3));
}

TEST(Order, OfTheGreatestAlongAnyAxis) {
  const Tensor x({3, 1, 2, 4, 5, 0}, {3, 2});
  const TopK best = top_k(x, 2, 0);
  EXPECT_THAT(best.values.to_vector<float>(), ElementsAre(5, 4, 3, 1));
  EXPECT_THAT(places(best.indices), ElementsAre(2, 1, 0, 0));
}

TEST(Order, OfIntegersIsExact) {
  // As f32 the first two are equal.
  const Tensor x(std::vector<std::int32_t>{16777216, 16777217, -2147483647 - 1, 2147483647}, {4});
  EXPECT_THAT(places(argsort(x)), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(places(sort(x, 0, true)), ElementsAre(2147483647, 16777217, 16777216, -2147483647 - 1));
  EXPECT_THAT(places(argmax(x)), ElementsAre(3));
  EXPECT_THAT(places(argmin(x)), ElementsAre(2));
  EXPECT_THAT(places(argmin(cast(x, DType::u32))), ElementsAre(0)) << "what was negative is large";
  const Tensor bytes(std::vector<std::uint8_t>{3, 255, 0}, {3});
  EXPECT_THAT(sort(bytes).to_vector<std::uint8_t>(), ElementsAre(0, 3, 255));
  EXPECT_THAT(places(argmax(bytes > 100)), ElementsAre(1));
  EXPECT_THAT(places(argmin(bytes)), ElementsAre(2));
  EXPECT_THAT(places(top_k(x, 1).indices), ElementsAre(3));
}

TEST(Order, OfIntegersIsTheSameCompiled) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) {
    const Tensor whole = cast(x * 3e9f, DType::i32);  // with some at both ends of the type
    return std::tuple(argsort(whole), sort(cast(whole, DType::u32), -1, true), argmin(whole), argmax(whole, 1, true), flip(whole));
  });
  const Tensor x = random({9, 21}, 4);
  const VerifyReport report = step.verify(x);
  EXPECT_TRUE(report.ok()) << report;
}

TEST(Order, ValuesHaveGradientsAlsoCompiled) {
  const Tensor apart({3, 0, 1, 6, 5, 2, 4, 1, 2, 3, 0, 4, 6, 5}, {7, 2});  // so far that no step of a difference changes the order
  expect_right([&](const Tensor& x, const auto& o) { return sort(x + apart, 1) * o[0]; }, random({5, 7, 2}, 1, -0.25, 0.25), {random({7, 2}, 2)});
  expect_right([&](const Tensor& x, const auto& o) { return top_k(x + apart, 2, 1).values * o[0]; }, random({5, 7, 2}, 1, -0.25, 0.25),
               {random({2, 2}, 2)});
  expect_right([](const Tensor& x, const auto& o) { return flip(x, 1) * o[0]; }, random({5, 7, 2}, 1), {random({7, 2}, 2)});
}

TEST(OrderErrors, SayWhatIsWrong) {
  const Tensor x = random({2, 3}, 1);
  expect_errors({{"axis 2 does not exist in a tensor of 2 dimensions", [&] { argmax(x, 2); }},
                 {"axis -1 does not exist in a tensor of 0 dimensions", [] { sort(Tensor(1.0f)); }},
                 {"k must be from 1 to the 2 elements of a row, got 3", [&] { top_k(x, 3, 0); }},
                 {"order_test.cpp:", [&] { argsort(x, 7); }}});
  if (codegen::is_built()) {
    expect_errors({{"argmax needs an axis of fixed size, got axis 0 of f32[N,3]; do it before the compiled step",
                    [&] { compile([](const Tensor& t) { return argmax(t, 0); })(x); }}});
  }
}

}  // namespace
}  // namespace sinter::test::order_test
