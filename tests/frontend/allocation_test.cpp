// Steps, predict_one and batches of fit allocate nothing after warm-up.
#include <fstream>

#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::test::allocation_test {
namespace {

class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
    if (settings().checked) GTEST_SKIP() << "a checked step notes what its kernels touch";
  }
};

TEST_F(Allocation, NoneInAStep) {
  NEEDS_CODEGEN();
  for (const int threads : {1, 2}) {
    SmallModel m({.threads = threads, .force = true});
    const Tensor x = random({500, 20}, 1), y = random_labels(500, 7, 2), ragged_x = random({33, 20}, 1), ragged_y = random_labels(33, 7, 2);
    for (int i = 0; i < 3; ++i) m.step(x, y), m.step(ragged_x, ragged_y);
    const std::int64_t before = allocations();
    for (int i = 0; i < 100; ++i) m.step(x, y), m.step(ragged_x, ragged_y);
    EXPECT_EQ(allocations() - before, 0) << threads << " threads";
  }
}

TEST_F(Allocation, MemoryStaysFlatOverAHundredThousandSteps) {
  NEEDS_CODEGEN();
  SmallModel m;
  const Tensor x = random({4, 20}, 1), y = random_labels(4, 7, 2);
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    long size = 0, pages = 0;
    file >> size >> pages;
    return pages;
  };
  for (int i = 0; i < 100; ++i) m.step(x, y);
  const long before = resident();
  const std::int64_t count = allocations();
  for (int i = 0; i < 100000; ++i) m.step(x, y);
  EXPECT_EQ(allocations(), count);
  EXPECT_LE(resident() - before, 16) << "pages";
}

TEST_F(Allocation, NoneInPredictOne) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(20, 7, Activation::sigmoid)};
  auto predict = compile([&](const Tensor& x) { return model(x); });
  predict(random({4, 20}, 1));
  std::vector<float> in(20, 0.5f), out(7);
  for (int i = 0; i < 3; ++i) predict.predict_one(in, out);
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) predict.predict_one(in, out);
  EXPECT_EQ(allocations() - before, 0);
}

/// A recurrent layer step by step, with its states in the compiled function.
TEST_F(Allocation, NoneInAStreamOfTimeSteps) {
  NEEDS_CODEGEN();
  nn::LSTM cell(5, 12);
  const Parameter h("h", Tensor::zeros({DType::f32, {1, 12}})), c("c", Tensor::zeros({DType::f32, {1, 12}}));
  auto live = compile(
      [&](const Tensor& x) {
        const std::vector<Tensor> states = cell.step(x, std::vector<Tensor>{h, c});
        h.assign(states[0]);
        c.assign(states[1]);
        return states[0];
      },
      {.kinds = {InputKind::fixed}});
  std::vector<float> in(5, 0.5f), out(12);
  for (int i = 0; i < 3; ++i) live.predict_one(in, out);
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) live.predict_one(in, out);
  EXPECT_EQ(allocations() - before, 0);
}

TEST_F(Allocation, FitAllocatesNoMoreForMoreSteps) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(20, 7)};
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::RMSprop());
  const Dataset data{random({640, 20}, 1), random_labels(640, 7, 2)};
  const auto schedule = [](std::int64_t step, std::int64_t) { return 1e-3f / static_cast<float>(step + 1); };
  const auto count = [&](std::int64_t batch) {
    const std::int64_t before = allocations();
    trainer.fit(data, {.epochs = 1, .batch_size = batch, .verbose = false, .schedule = schedule});
    return allocations() - before;
  };
  count(10), count(32);
  EXPECT_EQ(count(10), count(32));  // 64 steps and 20
}

TEST_F(Allocation, NoneInLeNet) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Conv2D(1, 20, {5}), nn::MaxPool2D({2}), nn::Conv2D(20, 50, {5}),
                       nn::MaxPool2D({2}),     nn::Flatten(),      nn::Dense(800, 40, Activation::relu),
                       nn::Dense(40, 4)};
  const std::vector<Parameter> parameters = model.parameters();
  optim::SGD optimizer({.learning_rate = 0.01, .momentum = 0.9});
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor loss = loss::sparse_categorical_crossentropy_from_logits(model(x), y);
        optimizer.update(parameters, grad(loss, parameters));
        return loss;
      },
      {.threads = 2, .force = true});
  const Tensor x = random({16, 28, 28, 1}, 1), y = random_labels(16, 4, 2), ragged_x = random({3, 28, 28, 1}, 1), ragged_y = random_labels(3, 4, 2);
  for (int i = 0; i < 3; ++i) step(x, y), step(ragged_x, ragged_y);
  const std::int64_t before = allocations();
  for (int i = 0; i < 50; ++i) step(x, y), step(ragged_x, ragged_y);
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(step.compile_count(), 1u);
}

TEST_F(Allocation, NoneForEverythingAtOnce) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(20, 24, Activation::relu, {.penalty = {.l1 = 1e-5f, .l2 = 1e-4f}}),
                       nn::BatchNorm(24),
                       nn::Dropout(0.3),
                       nn::Dense(24, 16, Activation::gelu),
                       nn::LayerNorm(16),
                       nn::Dense(16, 7)};
  Trainer trainer(model, loss::categorical({.from_logits = true, .label_smoothing = 0.05f}),
                  optim::AdamW({.weight_decay = 0.01, .common = {.clip = {.global_norm = 1}, .average_decay = 0.99}}));
  const Dataset data{random({640, 20}, 1), random_labels(640, 7, 2)};
  const auto count = [&](std::int64_t batch) {
    const std::int64_t before = allocations();
    trainer.fit(data, {.epochs = 1,
                       .batch_size = batch,
                       .class_weights = {1, 1, 4, 1, 1, 1, 2},
                       .verbose = false,
                       .schedule = schedule::warm_up(3, schedule::cosine(1e-2))});
    return allocations() - before;
  };
  count(10), count(32);
  EXPECT_EQ(count(10), count(32));  // 64 steps and 20
  EXPECT_EQ(trainer.train_step().compile_count(), 1u);
}

}  // namespace
}  // namespace sinter::test::allocation_test
