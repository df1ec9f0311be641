// Layers: what they compute in training and outside, their parameters, their errors.
#include <cmath>

#include "tests/frontend/helpers.h"

namespace sinter::test::layer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Dropout, DropsInTrainingAlone) {
  seed(1);
  nn::Dropout dropout(0.25);
  const Tensor x = Tensor::filled({DType::f32, {50, 40}}, 1);
  EXPECT_EQ(sum(dropout(x)).item(), 2000);
  const nn::TrainingScope training;
  const std::vector<float> once = dropout(x).to_vector<float>(), again = dropout(x).to_vector<float>();
  EXPECT_NE(once, again);
  const auto zeros = std::count(once.begin(), once.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(zeros), 500, 60);
  EXPECT_EQ(std::count(once.begin(), once.end(), static_cast<float>(1 / 0.75)), 2000 - zeros);
  EXPECT_EQ(dropout.draws.read().to_vector<std::uint32_t>(), std::vector<std::uint32_t>{2});
  EXPECT_THAT(error_of([] { nn::Dropout(1); }), HasSubstr("[Dropout] the rate must be in [0, 1), got 1"));
}

TEST(Dropout, EagerAndCompiledDropTheSame) {
  std::vector<std::vector<float>> results;
  for (const Mode mode : modes())
    for (const int threads : {1, 3}) {
      seed(4);
      nn::Sequential model{nn::Dense(20, 30, nn::Activation::relu), nn::Dropout(0.5), nn::Dense(30, 3)};
      optim::Adam adam;
      auto step = compile(
          [&](const Tensor& x) {
            const nn::TrainingScope training;
            const Tensor loss = mean(square(model(x)));
            const auto parameters = model.trainable_parameters();
            adam.update(parameters, grad(loss, parameters));
            return loss;
          },
          {.mode = mode, .threads = threads, .force = true});
      std::vector<float> losses;
      for (int i = 0; i < 5; ++i) losses.push_back(static_cast<float>(step(random({64, 20}, 3)).item()));
      results.push_back(losses);
    }
  for (const auto& result : results)
    for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], results[0][i], 1e-5 * results[0][i]);
}

TEST(Dropout, MasksOfImagesAreTheSameOnEveryPath) {
  const Tensor images = Tensor::filled({DType::f32, {9, 12, 10, 20}}, 1);
  std::vector<std::vector<float>> results;
  for (const Mode mode : modes())
    for (const int threads : {1, 2, 3, 4}) {
      seed(6);
      nn::Dropout elements(0.4);
      nn::SpatialDropout channels(0.3);
      auto step = compile(
          [&](const Tensor& x) {
            const nn::TrainingScope training;
            return channels(elements(x));
          },
          {.mode = mode, .threads = threads, .force = true});
      (void)step(images);
      results.push_back(step(images).to_vector<float>());
    }
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_GT(std::count(results[0].begin(), results[0].end(), 0.0f), 9000);
}

TEST(BatchNorm, NormalizesTheBatchAndKeepsStatistics) {
  for (const Mode mode : modes()) {
    nn::BatchNorm norm(2, {.momentum = 0.5, .epsilon = 1e-3});
    auto train = compile(
        [&](const Tensor& x) {
          const nn::TrainingScope training;
          return norm(x);
        },
        {.mode = mode});
    auto predict = compile([&](const Tensor& x) { return norm(x); }, {.mode = mode});
    const Tensor x({1, 10, 3, 20}, {2, 2});
    const float a = static_cast<float>(1 / std::sqrt(1.001)), b = static_cast<float>(5 / std::sqrt(25.001));
    EXPECT_THAT(train(x).to_vector<float>(), testing::Pointwise(testing::FloatNear(1e-6f), std::vector<float>{-a, -b, a, b}));
    EXPECT_THAT(norm.running_mean.read().to_vector<float>(), ElementsAre(1, 7.5));
    EXPECT_THAT(norm.running_variance.read().to_vector<float>(), ElementsAre(1, 13));
    EXPECT_THAT(predict(x).to_vector<float>(),
                testing::Pointwise(testing::FloatNear(1e-6f),
                                   std::vector<float>{0, static_cast<float>(2.5 / std::sqrt(13.001)), static_cast<float>(2 / std::sqrt(1.001)),
                                                      static_cast<float>(12.5 / std::sqrt(13.001))}));
  }
  EXPECT_THAT(error_of([] { nn::BatchNorm(0); }), HasSubstr("[BatchNorm] needs at least 1 feature, got 0"));
  EXPECT_THAT(error_of([] { nn::BatchNorm(3, {.momentum = 1}); }), HasSubstr("momentum must be in [0, 1), got 1"));
  nn::BatchNorm norm(3);
  EXPECT_THAT(error_of([&] { norm(Tensor::zeros({DType::f32, {4, 2}})); }),
              HasSubstr("[batch_norm] input must be [batch, ..., 3], got f32[4,2]; the layer was built for 3 features"));
}

TEST(LayerNorm, NormalizesEachSample) {
  nn::LayerNorm norm(4, {.epsilon = 1e-9});
  const Tensor y = norm(random({6, 4}, 1));
  for (const float x : mean(y, {-1}).to_vector<float>()) EXPECT_NEAR(x, 0, 1e-6);
  for (const float x : variance(y, {-1}).to_vector<float>()) EXPECT_NEAR(x, 1, 1e-5);
  EXPECT_EQ(norm.parameters().size(), 2u);
  EXPECT_THAT(error_of([] { nn::LayerNorm(4, {.epsilon = 0}); }), HasSubstr("[LayerNorm] epsilon must be a positive number, got 0"));
}

TEST(Embedding, PicksRows) {
  nn::Embedding embedding(5, 3);
  const Tensor index(std::vector<std::int32_t>{4, 0, 4, 2}, {2, 2});
  const Tensor y = embedding(index);
  EXPECT_EQ(to_string(y.shape()), "[2,2,3]");
  const auto table = embedding.weight.read().to_vector<float>(), rows = y.to_vector<float>();
  EXPECT_EQ(rows[0], table[12]);
  EXPECT_EQ(rows[11], table[8]);
  EXPECT_THAT(error_of([&] { embedding(Tensor::zeros({DType::f32, {2}})); }), HasSubstr("[embedding] input must be entry numbers"));
  EXPECT_THAT(error_of([&] { embedding(index + 1); }), HasSubstr("index 5 is outside [0, 5)"));
}

/// The average of embedded words: gathered and summed in one kernel, its gradient scattered by rows of the table in another.
TEST(Embedding, TrainsInAnAverage) {
  std::vector<std::vector<float>> tables;
  RandomStream random(6, 0);
  std::vector<std::int32_t> ids(70 * 37);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(150));
  const Tensor x(ids, {70, 37});
  const auto train = [&](StepOptions options) {
    seed(8);
    nn::Embedding embedding(150, 20);
    nn::Dense dense(20, 1);
    optim::Adam adam({.learning_rate = 0.01});
    const std::vector<Parameter> parameters{embedding.weight, dense.weight, dense.bias};
    auto step = compile(
        [&](const Tensor& words) {
          const Tensor loss = mean(square(dense(mean(embedding(words) * 2, {1})) - 1));
          adam.update(parameters, grad(loss, parameters));
          return loss;
        },
        options);
    for (int i = 0; i < 4; ++i) step(x);
    if (options.mode == Mode::graph) {
      EXPECT_TRUE(step.verify(x).ok()) << step.verify(x);
    }
    tables.push_back(embedding.weight.read().to_vector<float>());
    std::vector<std::int32_t> outside = ids;
    outside.back() = 150;  // one more than there are rows
    EXPECT_THAT(error_of([&] { step(Tensor(outside, {70, 37})); }), HasSubstr("outside [0, 150)"));
    EXPECT_EQ(embedding.weight.read().to_vector<float>(), tables.back()) << "a step that fails changes nothing";
  };
  train({.mode = Mode::eager});
  for (std::size_t i = 0; i < modes().size() - 1; ++i)
    for (const int threads : {1, 2, 3, 4}) train({.mode = Mode::graph, .threads = threads, .force = true});
  for (std::size_t i = 1; i < tables.size(); ++i) {
    EXPECT_EQ(tables[i], tables[1]);
    for (std::size_t k = 0; k < tables[0].size(); ++k) ASSERT_NEAR(tables[i][k], tables[0][k], 1e-4);
  }
}

/// Along the last axis, whatever stands before it.
TEST(Dense, TakesInputsOfAnyRank) {
  seed(3);
  nn::Dense layer(6, 5, Activation::tanh);
  for (const Shape& shape : {Shape{7, 6}, Shape{7, 4, 6}, Shape{7, 2, 3, 6}}) {
    const Tensor x = random(shape, 1);
    const Tensor y = layer(x), rows = layer(reshape(x, {-1, 6}));
    EXPECT_EQ(y.shape(), shape.with(shape.rank() - 1, 5));
    EXPECT_EQ(y.to_vector<float>(), rows.to_vector<float>());
  }
  EXPECT_THAT(error_of([&] { layer(random({6}, 1)); }), HasSubstr("[dense] input must be [batch, ..., features], got f32[6]; reshape it"));
  EXPECT_THAT(error_of([&] { layer(random({2, 6, 4}, 1)); }),
              HasSubstr("[dense] input has 4 features but the layer was built for 6; make it Dense(4, 5)"));
}

TEST(Layer, OfTheLastAxisTakesInputsOfAnyRank) {
  for (const Shape& shape : {Shape{5, 3}, Shape{5, 4, 3}, Shape{5, 2, 2, 3}}) {
    seed(3);
    nn::Sequential model{nn::Dense(3, 4, Activation::relu), nn::LayerNorm(4), nn::BatchNorm(4), nn::Dropout(0.5), nn::Dense(4, 2)};
    const nn::TrainingScope training;
    const std::vector<Parameter> parameters = model.trainable_parameters();
    const auto loss = [&](const Tensor& x) { return mean(square(model(x))); };
    const Tensor x = random(shape, 1);
    for (const Parameter& p : parameters) EXPECT_EQ(grad(loss(x), std::vector{p})[0].shape(), p.shape());
    if (codegen::is_built()) {
      std::vector<Parameter> results;
      for (const Parameter& p : parameters) results.emplace_back("gradient_" + p.name(), Tensor::zeros(p.type()), false);
      auto step = compile([&](const Tensor& batch) {
        const Tensor value = loss(batch);
        const std::vector<Tensor> slopes = grad(value, parameters);
        for (std::size_t i = 0; i < slopes.size(); ++i) results[i].assign(slopes[i]);
        return value;
      });
      const VerifyReport report = step.verify(x);
      EXPECT_TRUE(report.ok()) << report;
    }
  }
}

TEST(Layer, CombinesAndReshapes) {
  const Tensor x = random({3, 4}, 2);
  nn::Add residual{nn::Identity(), nn::Lambda([](const Tensor& t) { return t * 2; })};
  EXPECT_THAT(residual(x).to_vector<float>(), testing::Pointwise(testing::FloatNear(1e-6f), (x * 3).to_vector<float>()));
  nn::Concat both{nn::Identity(), nn::Dense(4, 5)};
  EXPECT_EQ(to_string(both(x).shape()), "[3,9]");
  EXPECT_EQ(both.parameters()[0].name(), "dense_1.weight");
  nn::Sequential shapes{nn::Reshape({2, -1}), nn::Flatten()};
  EXPECT_EQ(to_string(nn::Reshape({2, -1})(x).shape()), "[3,2,2]");
  EXPECT_EQ(shapes(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Layer, FreezesAndPenalizes) {
  nn::Sequential model{nn::Dense(3, 2, nn::Activation::none, {.weight = init::constant(0.5f), .penalty = {.l1 = 0.1f, .l2 = 0.01f}}),
                       nn::BatchNorm(2)};
  EXPECT_NEAR(model.penalty().item(), 6 * (0.1 * 0.5 + 0.01 * 0.25), 1e-6);
  EXPECT_EQ(model.trainable_parameters().size(), 4u);
  model.set_trainable(false);
  EXPECT_TRUE(model.trainable_parameters().empty());
  model.set_trainable(true);
  EXPECT_EQ(model.trainable_parameters().size(), 4u);  // not the running statistics
  EXPECT_EQ(nn::Dense(2, 2).penalty().item(), 0);
  EXPECT_FALSE(nn::Dense(2, 2).has_penalty());
  EXPECT_THAT(error_of([] { nn::Dense(3, 2, nn::Activation::none, {.penalty = {.l2 = -1}}); }),
              HasSubstr("penalties must be at least 0, got l1 = 0 and l2 = -1"));
}

TEST(Layer, SummaryIsATable) {
  nn::Dense shared(8, 8);
  nn::Sequential model{nn::Dense(784, 70, nn::Activation::relu), nn::BatchNorm(70), nn::Dropout(0.2), nn::Dense(70, 10)};
  EXPECT_EQ(model.summary({DType::f32, {Dim::batch(), 784}}),
            "Layer (kind)               Output shape  Parameters\n"
            "===================================================\n"
            "dense_1 (dense)            [N,70]            54,950\n"
            "batch_norm_1 (batch_norm)  [N,70]               280\n"
            "dropout_1 (dropout)        [N,70]                 1\n"
            "dense_2 (dense)            [N,10]               710\n"
            "===================================================\n"
            "Parameters: 55,941 (55,800 trainable, 141 not)\n");
}

}  // namespace
}  // namespace sinter::test::layer_test
