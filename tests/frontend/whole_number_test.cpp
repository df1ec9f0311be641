// Reductions, running sums and comparisons of integers and bool: exact. Products wrap as the element type does; sums: integer_sum_test.cpp.
#include <numeric>

#include "tests/frontend/mistakes.h"
#include "tests/frontend/verbs.h"

namespace sinter::test::whole_number_test {
namespace {

using ::testing::ElementsAre;

constexpr std::int32_t least = -2147483647 - 1, most = 2147483647;

Tensor whole(const std::vector<std::int32_t>& values, const Shape& shape) { return {values, shape}; }

TEST(WholeNumbers, AreSummedExactly) {
  const Tensor x = whole({16777217, 2, -5, most - 16777217, -1, 4}, {2, 3});  // no f32 holds the first
  EXPECT_EQ(to_string(sum(x).type()), "i32[]");
  EXPECT_THAT(sum(x, {1}).to_vector<std::int32_t>(), ElementsAre(16777214, most - 16777214));
  EXPECT_THAT(sum(x, {0}, true).to_vector<std::int32_t>(), ElementsAre(most, 1, -1));
  EXPECT_THAT(cumsum(x, 1).to_vector<std::int32_t>(), ElementsAre(16777217, 16777219, 16777214, most - 16777217, most - 16777218, most - 16777214));
  EXPECT_THAT(prod(whole({65536, 65535, 3, -4}, {2, 2}), {1}).to_vector<std::int32_t>(), ElementsAre(-65536, -12));
  EXPECT_THAT(prod(cast(whole({65536, 65535, 3, 4}, {2, 2}), DType::u32), {1}).to_vector<std::uint32_t>(), ElementsAre(4294901760u, 12u));
  EXPECT_EQ(sum(cast(whole({-2, 1}, {2}), DType::u32)).item(), 4294967295.0);
}

TEST(WholeNumbers, HaveAGreatestAndALeast) {
  const Tensor x = whole({5, least, most, 0}, {4});
  EXPECT_EQ(max(x).item(), most);
  EXPECT_EQ(min(x).item(), least);
  EXPECT_EQ(min(whole({least, least}, {2})).item(), least);
  EXPECT_EQ(max(whole({-7, -9}, {2})).item(), -7);
  const Tensor u = cast(x, DType::u32);
  EXPECT_EQ(max(u).item(), 2147483648.0);
  EXPECT_EQ(min(u).item(), 0);
  EXPECT_EQ(max(cast(whole({-1, 3}, {2}), DType::u32)).item(), 4294967295.0);
}

TEST(WholeNumbers, OfOneByteAreSummedAsI32) {
  const Tensor bytes(std::vector<std::uint8_t>{200, 100, 3, 4}, {2, 2});
  EXPECT_EQ(to_string(sum(bytes, {1}).type()), "i32[2]");
  EXPECT_THAT(sum(bytes, {1}).to_vector<std::int32_t>(), ElementsAre(300, 7));
  EXPECT_THAT(cumsum(bytes).to_vector<std::int32_t>(), ElementsAre(200, 300, 3, 7));
  EXPECT_EQ(prod(bytes, {1}).to_vector<std::int32_t>()[0], 20000);
  EXPECT_EQ(to_string(max(bytes, {0}).type()), "u8[2]");
  EXPECT_THAT(max(bytes, {0}).to_vector<std::uint8_t>(), ElementsAre(200, 100));
  EXPECT_THAT(min(bytes, {0}).to_vector<std::uint8_t>(), ElementsAre(3, 4));
}

TEST(WholeNumbers, OfTruthAreCounted) {
  const Tensor yes = Tensor({1, -2, 3, 4}, {2, 2}) > 0;
  EXPECT_EQ(sum(yes).item(), 3);
  EXPECT_EQ(to_string(sum(yes).type()), "i32[]");
  EXPECT_EQ(to_string(max(yes, {1}).type()), "bool[2]");
  EXPECT_THAT(max(yes, {1}).to_vector<std::uint8_t>(), ElementsAre(1, 1)) << "is any true?";
  EXPECT_THAT(min(yes, {1}).to_vector<std::uint8_t>(), ElementsAre(0, 1)) << "are all true?";
  EXPECT_THAT(cumsum(yes).to_vector<std::int32_t>(), ElementsAre(1, 1, 1, 2));
}

TEST(WholeNumbers, HaveAMeanInF32) {
  EXPECT_EQ(to_string(mean(whole({1, 2}, {2})).type()), "f32[]");
  EXPECT_EQ(mean(whole({1, 2}, {2})).item(), 1.5);
  EXPECT_EQ(mean(whole({most, most, most, most}, {4})).item(), 2147483648.0) << "no sum that wraps";
  EXPECT_EQ(mean(Tensor({1, -2, 3, 4}, {4}) > 0).item(), 0.75);
  EXPECT_EQ(mean(Tensor(std::vector<std::uint8_t>{255, 0}, {2})).item(), 127.5);
}

TEST(WholeNumbers, AreCompared) {
  const Tensor a = whole({1, 5, 3}, {3}), b = whole({1, 4, 7}, {3});
  EXPECT_THAT((a == b).to_vector<std::uint8_t>(), ElementsAre(1, 0, 0));
  EXPECT_THAT((a != b).to_vector<std::uint8_t>(), ElementsAre(0, 1, 1));
  EXPECT_THAT((a == 5).to_vector<std::uint8_t>(), ElementsAre(0, 1, 0));
  EXPECT_THAT((3 != a).to_vector<std::uint8_t>(), ElementsAre(1, 1, 0));
  EXPECT_THAT(((a > 2) == (b > 2)).to_vector<std::uint8_t>(), ElementsAre(1, 1, 1));
  EXPECT_THAT((whole({16777216}, {1}) == whole({16777217}, {1})).to_vector<std::uint8_t>(), ElementsAre(0));
  expect_errors({{"operands must have one element type, got i32[3] and f32[3]; convert one with cast", [&] { (void)(a == random({3}, 1)); }}});
}

/// == of tensors is a tensor; of two parameters it asks, as before, whether they are the same one.
TEST(WholeNumbers, EqualityOfParametersIsIdentity) {
  const Parameter p("p", Tensor({1, 2}, {2})), q("q", Tensor({1, 3}, {2}));
  const Parameter same = p;
  static_assert(std::is_same_v<decltype(p == q), bool>);
  static_assert(std::is_same_v<decltype(p != q), bool>);
  static_assert(std::is_same_v<decltype(p == Tensor()), Tensor>);
  static_assert(std::is_same_v<decltype(p == 1.0), Tensor>);
  EXPECT_TRUE(p == same);
  EXPECT_TRUE(p != q);
  EXPECT_THAT(equal(p, q).to_vector<std::uint8_t>(), ElementsAre(1, 0));
  EXPECT_THAT((p == q.read()).to_vector<std::uint8_t>(), ElementsAre(1, 0));
  EXPECT_THAT((p != 1).to_vector<std::uint8_t>(), ElementsAre(0, 1));
}

TEST(WholeNumbers, AreTheSameCompiled) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) {
    const Tensor i = cast(x * 4e5f, DType::i32), u = cast(i, DType::u32), yes = x > 0;
    return std::tuple(sum(i), sum(i, {1}), prod(u, {0}), max(i, {1}), min(u, {0}), min(i, {0, 1}), cumsum(i, 0), mean(i, {1}), sum(yes),
                      min(yes, {1}), mean(yes), sum(i * 3 + cast(yes, DType::i32), {0}));
  });
  for (const std::int64_t n : {1, 9, 70}) {
    const VerifyReport report = step.verify(random({n, 21}, 5));
    EXPECT_TRUE(report.ok()) << report;
  }
}

/// Of many samples, which the chunks of a step reduce in parts.
TEST(WholeNumbers, AreCountedExactlyInLargeBatches) {
  NEEDS_CODEGEN();
  const std::int64_t n = 30000;
  std::vector<std::int32_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1 << 15);
  auto step = compile([](const Tensor& x) { return std::tuple(sum(x), max(x), min(x)); });
  const auto [total, greatest, smallest] = step(whole(values, {n}));
  const std::int64_t wanted = std::accumulate(values.begin(), values.end(), std::int64_t{0});
  EXPECT_EQ(total.item(), static_cast<double>(wanted));
  EXPECT_EQ(greatest.item(), (1 << 15) + n - 1);
  EXPECT_EQ(smallest.item(), 1 << 15);
}

}  // namespace
}  // namespace sinter::test::whole_number_test
