// Trainer::predict in batches.
#include "tests/frontend/helpers.h"

namespace sinter::test::predict_test {
namespace {

using ::testing::HasSubstr;

TEST(Predict, InBatchesIsThatOfAll) {
  const Dataset data{{random({50, 6}, 1), random({50, 3}, 2)}, {random({50, 2}, 3), random({50, 1}, 4)}};
  struct Two : nn::Model {
    nn::Dense left{6, 5, Activation::tanh}, right{3, 5, Activation::relu}, a{5, 2}, b{10, 1};
    Two() : Model("two") { add(left), add(right), add(a), add(b); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override {
      const Tensor x = left(in[0]), y = right(in[1]);
      return {a(x + y), b(concat({x, y}, -1))};
    }
  };
  for (const Mode mode : modes()) {
    seed(5);
    Trainer trainer(Two(), {{loss::mean_squared_error}, {loss::mean_squared_error}}, optim::SGD(), {.mode = mode});
    trainer.fit(data, {.verbose = false});
    const std::vector<Tensor> all = trainer.predict_all(data.x, 50);
    for (const std::int64_t batch : {1, 7, 49}) {
      const std::vector<Tensor> parts = trainer.predict_all(data.x, batch);
      ASSERT_EQ(parts.size(), 2u);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(parts[i].shape(), all[i].shape());
        EXPECT_EQ(parts[i].to_vector<float>(), all[i].to_vector<float>()) << batch;
      }
    }
    EXPECT_THAT(error_of([&] { (void)trainer.predict_all(data.x, 0); }), HasSubstr("[predict] batch_size must be at least 1, got 0"));
    std::vector<float> room(2);
    EXPECT_THAT(error_of([&] { trainer.predict_one(std::vector<float>(6), room); }),
                HasSubstr("[predict_one] takes one sample of numbers, but the model has 2 inputs; use predict"));
  }
}

/// An output that has no row for each sample is of all of them.
TEST(Predict, OfAnOutputWithoutRowsIsThatOfAll) {
  const Tensor x = random({20, 3}, 1);
  nn::Sequential model{nn::Lambda([](const Tensor& in) { return mean(in, {0}); })};
  for (const Mode mode : modes()) {
    Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = mode});
    EXPECT_EQ(trainer.predict(x, 4).shape(), Shape({3}));
    EXPECT_EQ(trainer.predict(x, 4).to_vector<float>(), trainer.predict(x).to_vector<float>());
  }
}

TEST(Predict, RefusesOtherElementTypesThanItWasTrainedOn) {
  const TemporaryFolder folder;
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(2, 3)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = mode});
    const Tensor x = random({6, 2}, 1);
    trainer.fit({cast(x, DType::u8), random_labels(6, 3, 2), 1.0f / 255}, {.verbose = false});
    trainer.save(folder / "model.sinter");
    Trainer loaded = Trainer::load(folder / "model.sinter", {.mode = mode});
    const std::string wanted = "[predict] the first data had x of u8[6,2] (samples first), now they are f32[6,2]";
    EXPECT_THAT(error_of([&] { (void)trainer.predict(x); }), HasSubstr(wanted));
    EXPECT_THAT(error_of([&] { (void)loaded.predict(x); }), HasSubstr("now they are f32[6,2]"));
    EXPECT_EQ(trainer.predict(cast(x, DType::u8)).to_vector<float>(), loaded.predict(cast(x, DType::u8)).to_vector<float>());
  }
}

/// Of images in bytes, as evaluate takes them.
TEST(Predict, OfBytesIsScaled) {
  std::vector<std::uint8_t> bytes(30 * 4);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  const Dataset data{Tensor(bytes, {30, 4}), random_labels(30, 2, 1), 1.0f / 255};
  for (const Mode mode : modes()) {
    seed(6);
    nn::Sequential model{nn::Dense(4, 2)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD(), {.mode = mode});
    trainer.fit(data, {.verbose = false});
    EXPECT_EQ(trainer.predict(data.x, 8).to_vector<float>(), trainer.predict(data.x, 30).to_vector<float>());
  }
}

}  // namespace
}  // namespace sinter::test::predict_test
