#include "runtime/buffer.h"
#include "tests/frontend/helpers.h"

namespace sinter::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Grad, OfAProduct) {
  const Parameter w("w", Tensor({2, 3}, {2}));
  const Tensor x({5, 7}, {2});
  const std::vector<Tensor> g = grad(sum(w * x * w), std::vector{w});
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(20, 42));
}

TEST(Grad, UndoesBroadcasting) {
  const Parameter b("b", Tensor({1, 2}, {2}));
  const std::vector<Tensor> g = grad(sum(Tensor({1, 2, 3, 4, 5, 6}, {3, 2}) * b), std::vector{b});
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(9, 12));
}

TEST(Grad, StopsAtDetachAndAssign) {
  const Parameter w("w", Tensor(3.0f));
  const Tensor y = square(w);
  EXPECT_EQ(grad(y.detach() * w, std::vector{w})[0].item(), 9);
  w.assign(y);
  EXPECT_EQ(grad(square(w), std::vector{w})[0].item(), 18);
}

TEST(GradErrors, SayWhatIsMissing) {
  const Parameter w("w", Tensor({1, 2}, {2})), unused("unused", Tensor(1.0f));
  EXPECT_THAT(error_of([&] { grad(w * 2.0f, std::vector{w}); }), HasSubstr("grad needs a scalar f32 loss, got f32[2]; take its mean or sum first"));
  EXPECT_THAT(error_of([&] { grad(sum(w), std::vector{w, unused}); }), HasSubstr("the loss does not depend on parameter 'unused'"));
  EXPECT_THAT(error_of([&] { grad(Tensor(1.0f), std::vector{w}); }), HasSubstr("was not computed from trainable parameters"));
  EXPECT_EQ(grad(sum(w), std::vector{w, unused}, {.allow_unused = true})[1].item(), 0);
}

TEST(Grad, DeepRecordsNeedNoStack) {
  const Parameter w("w", Tensor(1.0f));
  Tensor y = w;
  for (int i = 0; i < 200000; ++i) y = y + 0.0f;
  y = {};  // frees the chain
  Tensor z = w;
  for (int i = 0; i < 20000; ++i) z = z + 0.0f;
  EXPECT_EQ(grad(z, std::vector{w})[0].item(), 1);
}

TEST(Grad, TenThousandEagerStepsRunInFlatMemory) {
  const Parameter w("w", random({8, 4}, 1)), b("b", random({4}, 2));
  const std::vector<Parameter> parameters{w, b};
  optim::RMSprop optimizer;
  const Tensor x = random({16, 8}, 3), y = random({16, 4}, 4);
  const auto step = [&] { optimizer.update(parameters, grad(loss::mean_squared_error(sigmoid(matmul(x, w) + b), y), parameters)); };
  for (int i = 0; i < 10; ++i) step();
  const auto before = runtime::memory_use();
  for (int i = 0; i < 10000; ++i) step();
  const auto after = runtime::memory_use();
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.pooled, before.pooled);
}

}  // namespace
}  // namespace sinter::test
