#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/runtime/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::runtime::allocations_test {
namespace {

using test::allocations, test::allocations_are_counted;

TEST(Allocations, AreCounted) {
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  const std::int64_t before = allocations();
  void* volatile memory = std::malloc(100);
  std::free(memory);
  EXPECT_GT(allocations(), before);
}

TEST(Allocations, AreRefusedBeyondALimit) {
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  void* volatile within = nullptr, * volatile beyond = nullptr;
  std::int64_t used = 0, refused = 0;
  {
    const test::AllocationLimit limit(1000);
    within = std::malloc(600);
    const volatile std::size_t many = std::size_t{1} << 40;
    beyond = std::calloc(many, many);
    if (!beyond) beyond = std::malloc(500);
    used = limit.used();
    refused = limit.refused();
  }
  EXPECT_NE(within, nullptr);
  EXPECT_EQ(beyond, nullptr);
  EXPECT_EQ(used, 600);
  EXPECT_GT(refused, std::int64_t{1} << 62);
  std::free(within);
}

/// The ops of a training step with buffers from the pool, as the eager mode uses them.
TEST(Allocations, TheInterpreterNeedsNoneAfterWarmUp) {
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  std::mt19937 random(1);
  const auto tensor = [&](std::vector<std::int64_t> extents) { return Tensor(random_array({DType::f32, Shape::fixed(extents)}, -1, 1, random)); };
  const Tensor x = tensor({300, 200}), w = tensor({200, 70}), b = tensor({70});
  const ir::Array labels = random_array({DType::i32, {300}}, 0, 70, random);
  const Tensor index(labels);
  ir::Matmul dw;
  dw.transpose_a = true;
  ir::Sum sum, all;
  sum.first = 0, sum.last = 1;
  all.first = 0, all.last = 2;
  ir::OneHot one_hot;
  one_hot.depth = 70;
  ir::ScatterAddRows scatter;
  scatter.rows = 70;
  const Type matrix{DType::f32, {300, 70}}, weights{DType::f32, {200, 70}}, row{DType::f32, {70}}, scalar{DType::f32, {}},
      square{DType::f32, {70, 70}};
  const auto run = [](const ir::Op& op, std::initializer_list<View> in, const Type& type) {
    Buffer buffer = Buffer::allocate(storage_bytes(type));
    evaluate(op, std::span(in.begin(), in.size()), {type, buffer.data()});
    return buffer;
  };
  const auto step = [&] {
    const Buffer z = run(ir::Dense{}, {x.view(), w.view(), b.view()}, matrix);
    const View zv{matrix, z.data()};
    const Buffer y = run(ir::Sigmoid{}, {zv}, matrix), p = run(ir::Softmax{}, {zv}, matrix), hot = run(one_hot, {index.view()}, matrix);
    const View yv{matrix, y.data()};
    const Buffer d = run(ir::Sub{}, {yv, View{matrix, hot.data()}}, matrix);
    const View dv{matrix, d.data()};
    run(dw, {x.view(), dv}, weights);
    run(sum, {dv}, row);
    run(all, {dv}, scalar);
    run(ir::Argmax{}, {View{matrix, p.data()}}, {DType::i32, {300}});
    run(scatter, {index.view(), dv}, square);
    run(ir::Add{}, {dv, b.view()}, matrix);
  };
  for (const int threads : {1, 2, 4}) {
    const ForcedThreads forced(threads);
    for (int i = 0; i < 3; ++i) step();
    const std::int64_t before = allocations();
    for (int i = 0; i < 20; ++i) step();
    EXPECT_EQ(allocations(), before) << threads << " threads";
  }
}

}  // namespace
}  // namespace sinter::runtime::allocations_test
