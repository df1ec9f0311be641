// Sizes beyond what positions and numbers in 32 bits reach are refused at once.
#include "frontend/train/row_numbers.h"
#include "ir/sanitizers.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::position_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t beyond = (std::int64_t{1} << 31) + 10;

/// The error of tracing a function of such rows: nothing is computed.
std::string refused(Tensor (*f)(const Tensor&)) {
  return error_of([&] { compile(f, Spec::batch(DType::f32, {beyond})); });
}

TEST(Position, BeyondI32IsRefused) {
  NEEDS_CODEGEN();
  const auto rule = HasSubstr("2147483658 elements of a row are more than positions in i32 reach (2147483647); work on parts of them");
  EXPECT_THAT(refused([](const Tensor& x) { return argmax(x); }), rule);
  EXPECT_THAT(refused([](const Tensor& x) { return argmin(x); }), rule);
  EXPECT_THAT(refused([](const Tensor& x) { return top_k(x, 3).values; }), rule);
  EXPECT_THAT(refused([](const Tensor& x) { return sort(x); }), rule);
  EXPECT_THAT(refused([](const Tensor& x) { return argsort(x, -1, true); }), rule);
  EXPECT_EQ(refused([](const Tensor& x) { return x * 2; }), "");
}

TEST(Position, NumbersOfElementsBeyondU32AreRefused) {
  const std::int64_t many = (std::int64_t{1} << 32) + 1;
  EXPECT_THAT(error_of([&] { iota({many}); }), HasSubstr("4294967297 elements are more than numbers in u32 reach (2^32); make parts of them"));
  EXPECT_THAT(error_of([&] { random_uniform({many}, Tensor(0.0f), 1); }), HasSubstr("4294967297 elements are more than numbers in u32 reach"));
}

/// Of a batch that nobody has touched yet: it takes no memory.
TEST(Position, NumbersOfABatchBeyondU32AreRefused) {
  NEEDS_CODEGEN();
  if (SINTER_ADDRESS_SANITIZER || SINTER_THREAD_SANITIZER) GTEST_SKIP() << "a sanitizer writes to new memory";
  auto step = compile([](const Tensor& x) { return sum(cast(iota(x.shape()), DType::f32)); });
  EXPECT_EQ(step(Tensor::zeros({DType::boolean, {4, 1}})).item(), 6);
  EXPECT_THAT(error_of([&] { step(Tensor::zeros({DType::boolean, {(std::int64_t{1} << 32) + 1, 1}})); }),
              HasSubstr("iota: 4294967297 elements are more than numbers in u32 reach (2^32); make parts of them"));
}

TEST(Position, SamplesBeyondI32AreRefused) {
  EXPECT_THAT(error_of([] { require_row_numbers("evaluate", beyond); }),
              HasSubstr("[evaluate] rows are numbered in i32: at most 2147483647 samples at a time, got 2147483658; pass parts of them"));
  require_row_numbers("evaluate", beyond - 11);
}

}  // namespace
}  // namespace sinter::test::position_test
