// Warnings of what trains a model less well than it could, and silence about what is right.
#include "frontend/train/advice.h"

#include "tests/frontend/helpers.h"

namespace sinter::test::advice_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Dataset classes_of(std::int64_t samples, std::uint32_t classes) { return {random({samples, 4}, 1), random_labels(samples, classes, 2)}; }

struct Run {
  /// A Trainer's warnings in two epochs.
  static std::vector<std::string> of(nn::Module& model, const Losses& losses, const Dataset& data, Mode mode) {
    std::vector<std::string> warnings;
    Trainer trainer(model, losses, optim::SGD({.learning_rate = 0.01}),
                    {.mode = mode, .log = [&](const std::string& text) { warnings.push_back(text); }});
    (void)trainer.fit(data, {.epochs = 2, .batch_size = 8, .validation = data, .verbose = false});
    (void)trainer.evaluate(data);
    return warnings;
  }
};

TEST(Advice, SoftmaxBeforeALossThatAppliesIt) {
  const Dataset data = classes_of(24, 3);
  for (const Mode mode : modes()) {
    nn::Sequential twice{nn::Dense(4, 3, Activation::softmax)}, layer{nn::Dense(4, 3), nn::Softmax(), nn::Reshape({3})},
        gates{nn::Dense(4, 3), nn::Sigmoid()};
    EXPECT_THAT(
        Run::of(twice, loss::sparse_categorical_crossentropy_from_logits, data, mode),
        ElementsAre(AllOf(StartsWith("[train, "),
                          HasSubstr("] sparse_categorical_crossentropy_from_logits applies softmax or sigmoid itself, but its predictions come "
                                    "from a softmax (dense_1, "),
                          HasSubstr("): the model learns less; leave that activation out, or take the loss without _from_logits"))));
    EXPECT_THAT(Run::of(layer, loss::categorical_crossentropy_from_logits, data, mode), ElementsAre(HasSubstr("from a softmax (softmax_1, ")));
    EXPECT_THAT(Run::of(gates, loss::categorical({.from_logits = true}), data, mode), ElementsAre(HasSubstr("from a sigmoid (sigmoid_1, ")));
  }
}

TEST(Advice, LogitsForALossOfProbabilities) {
  for (const Mode mode : modes()) {
    nn::Sequential linear{nn::Dense(4, 3)}, number{nn::Dense(4, 1)};
    linear.parameter("dense_1.bias").assign(Tensor({-9, 0, 2}, {3}));
    number.parameter("dense_1.bias").assign(Tensor({9.0f}, {1}));
    EXPECT_THAT(
        Run::of(linear, loss::sparse_categorical_crossentropy, classes_of(24, 3), mode),
        ElementsAre(AllOf(StartsWith("[fit] sparse_categorical_crossentropy takes probabilities, but the model's output for the first samples has -"),
                          HasSubstr(", which it clips: the model hardly learns; take the loss of that name with _from_logits, or give the last "
                                    "layer a softmax or sigmoid"))));
    EXPECT_THAT(Run::of(number, loss::binary_crossentropy, classes_of(24, 2), mode),
                ElementsAre(HasSubstr("binary_crossentropy takes probabilities")));
  }
}

TEST(Advice, OfALossOfOnesOwn) {
  nn::Sequential linear{nn::Dense(4, 1)};
  linear.parameter("dense_1.bias").assign(Tensor({9.0f}, {1}));
  const Loss own("own", [](const Tensor& p, const Tensor& y) { return square(p - y); },
                 {.predictions = Predictions::probabilities, .settings = {{"power", 2}}});
  EXPECT_EQ(own.predictions(), Predictions::probabilities);
  EXPECT_EQ(loss::mean_squared_error.predictions(), Predictions::numbers);
  EXPECT_EQ(loss::binary_crossentropy_from_logits.predictions(), Predictions::logits);
  EXPECT_EQ(loss::categorical_crossentropy.predictions(), Predictions::proportions);
  EXPECT_EQ(text_of(own.settings()), "power 2");
  const Dataset data{random({24, 4}, 1), random({24, 1}, 2)};
  EXPECT_THAT(Run::of(linear, own, data, Mode::eager), ElementsAre(HasSubstr("[fit] own takes probabilities")));
  EXPECT_THAT(Run::of(linear, Loss([](const Tensor& p, const Tensor& y) { return square(p - y); }), data, Mode::eager), IsEmpty());
}

TEST(Advice, OfTheOutputThatIsMeant) {
  struct Two : nn::Model {
    nn::Dense a{4, 1}, b{4, 1};
    Two() : Model("two") { add(a), add(b); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {a(in[0]), b(in[0]) + 7}; }
  };
  Two model;
  const Tensor y = cast(random({24, 1}, 4) > 0, DType::f32);
  EXPECT_THAT(Run::of(model, {{loss::mean_squared_error}, {loss::binary_crossentropy}}, {.x = {random({24, 4}, 1)}, .y = {y, y}}, Mode::eager),
              ElementsAre(HasSubstr("binary_crossentropy takes probabilities, but output 2 for the first samples has ")));
}

/// Correct pairs of model and loss: nothing is said, whatever numbers come out.
TEST(Advice, NothingOfModelsThatAreRight) {
  for (const Mode mode : modes()) {
    nn::Sequential logits{nn::Dense(4, 3)}, shares{nn::Dense(4, 3, Activation::softmax)}, gates{nn::Dense(4, 3, Activation::sigmoid)},
        counts{nn::Dense(4, 3), nn::Exponential()}, attention{nn::Dense(4, 3, Activation::softmax), nn::Dense(3, 3)},
        chances{nn::Dense(4, 1), nn::HardSigmoid()}, logs{nn::Dense(4, 3), nn::LogSoftmax()},
        dropped{nn::Dense(4, 9), nn::BatchNorm(9), nn::Dropout(0.3), nn::Dense(9, 3)};
    const Dataset data = classes_of(24, 3);
    EXPECT_THAT(Run::of(logits, loss::sparse_categorical_crossentropy_from_logits, data, mode), IsEmpty());
    EXPECT_THAT(Run::of(shares, loss::sparse_categorical_crossentropy, data, mode), IsEmpty());
    EXPECT_THAT(Run::of(gates, loss::categorical_crossentropy, data, mode), IsEmpty());   // the perceptron of ten sigmoids
    EXPECT_THAT(Run::of(counts, loss::categorical_crossentropy, data, mode), IsEmpty());  // which divides by their sum
    EXPECT_THAT(Run::of(attention, loss::sparse_categorical_crossentropy_from_logits, data, mode), IsEmpty());
    EXPECT_THAT(Run::of(chances, loss::binary_crossentropy, classes_of(24, 2), mode), IsEmpty());
    EXPECT_THAT(Run::of(logs, loss::sparse_categorical_crossentropy_from_logits, data, mode), IsEmpty());  // log_softmax twice is once
    EXPECT_THAT(Run::of(dropped, loss::sparse_categorical_crossentropy_from_logits, data, mode), IsEmpty());
    EXPECT_THAT(Run::of(shares, loss::mean_squared_error, {data.x, random({24, 3}, 3)}, mode), IsEmpty());
  }
}

// ---- a step of one's own ----

/// What a training step says of itself in two calls, with two batch sizes.
template <class F>
std::vector<std::string> told(F&& function, Mode mode) {
  std::vector<std::string> warnings;
  auto step = compile(function, {.name = "mine", .mode = mode, .log = [&](const std::string& text) { warnings.push_back(text); }});
  for (const std::int64_t samples : {8, 5}) (void)step(random({samples, 4}, 1), random_labels(samples, 3, 2));
  return warnings;
}

TEST(Advice, TrainingWithoutATrainingScope) {
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(4, 6), nn::BatchNorm(6), nn::Dropout(0.2), nn::Dense(6, 3)};
    const std::vector<Parameter> parameters = model.trainable_parameters();
    optim::SGD optimizer;
    const auto step = [&](const Tensor& x, const Tensor& y) {
      const Tensor loss = loss::categorical_crossentropy_from_logits(model(x), y);
      optimizer.update(parameters, grad(loss, parameters));
      return loss;
    };
    EXPECT_THAT(
        told(step, mode),
        ElementsAre(AllOf(StartsWith("[mine, "),
                          HasSubstr("] updates parameters, but batch_norm_1, dropout_1 run as in prediction; declare an nn::TrainingScope before "
                                    "the model is called"))));
    const auto with_scope = [&](const Tensor& x, const Tensor& y) {
      const nn::TrainingScope training;
      return step(x, y);
    };
    EXPECT_THAT(told(with_scope, mode), IsEmpty());
    const nn::TrainingScope around;  // or around the calls
    EXPECT_THAT(told(step, mode), IsEmpty());
  }
}

TEST(Advice, NamesThreeLayersAndCountsTheRest) {
  nn::Sequential model;
  for (int i = 0; i < 5; ++i) model += nn::Dropout(0.1);
  model += nn::GRU(4, 3, {.recurrent_dropout = 0.1});
  const auto step = [&](const Tensor& x, const Tensor&) {
    const Tensor loss = mean(model(reshape(x, {-1, 1, 4})));
    const std::vector<Parameter> parameters = model.trainable_parameters();
    optim::SGD().update(parameters, grad(loss, parameters));
    return loss;
  };
  EXPECT_THAT(told(step, Mode::eager), ElementsAre(HasSubstr("but dropout_1, dropout_2, dropout_3 and 3 more run as in prediction")));
}

/// Steps that rightly have layers in inference mode.
TEST(Advice, NothingOfStepsThatAreRight) {
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(4, 6), nn::BatchNorm(6), nn::Dropout(0.2), nn::Dense(6, 3)}, teacher{nn::Dense(4, 3), nn::Dropout(0.5)},
        plain{nn::Dense(4, 3)};
    optim::SGD optimizer;
    const auto train = [&](const Tensor& loss, const nn::Module& trained) {
      const std::vector<Parameter> parameters = trained.trainable_parameters();
      optimizer.update(parameters, grad(loss, parameters));
      return loss;
    };
    // Prediction and evaluation.
    EXPECT_THAT(told([&](const Tensor& x, const Tensor& y) { return loss::categorical_crossentropy_from_logits(model(x), y); }, mode), IsEmpty());
    // A saliency map: gradients without an update.
    EXPECT_THAT(told([&](const Tensor& x, const Tensor&) { return grad(sum(model(x)), {x})[0]; }, mode), IsEmpty());
    // A teacher that predicts, outside of the scope of what learns from it.
    EXPECT_THAT(told(
                    [&](const Tensor& x, const Tensor&) {
                      const Tensor wanted = teacher(x);
                      const nn::TrainingScope training;
                      return train(mean(square(model(x) - wanted)), model);
                    },
                    mode),
                IsEmpty());
    // Frozen features and a new head.
    teacher.set_trainable(false);
    EXPECT_THAT(told([&](const Tensor& x, const Tensor&) { return train(mean(square(plain(x) - teacher(x))), plain); }, mode), IsEmpty());
    // Dropout of rate 0.
    nn::Sequential none{nn::Dense(4, 3), nn::Dropout(0)};
    EXPECT_THAT(told([&](const Tensor& x, const Tensor&) { return train(mean(square(none(x))), none); }, mode), IsEmpty());
  }
}

// ---- generators ----

Dataset of_class(std::int32_t its, std::int64_t samples) {
  return {random({samples, 4}, static_cast<std::uint64_t>(its)),
          Tensor(std::vector<std::int32_t>(static_cast<std::size_t>(samples), its), {samples})};
}

std::vector<std::string> fit_pieces(const Generator& generator, FitOptions options = {.epochs = 2}) {
  options.verbose = false;
  std::vector<std::string> warnings;
  nn::Sequential model{nn::Dense(4, 4)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(),
                  {.mode = Mode::eager, .log = [&](const std::string& text) { warnings.push_back(text); }});
  (void)trainer.fit(generator, options);
  return warnings;
}

TEST(Advice, PiecesOfASingleClassEach) {
  const Generator sorted = [](std::int64_t, std::int64_t piece) {
    return piece == 4 ? std::nullopt : std::optional(of_class(static_cast<std::int32_t>(piece), 16));
  };
  EXPECT_THAT(
      fit_pieces(sorted),
      ElementsAre("[fit] each of the first 3 pieces of the generator has samples of a single class, and a model that sees one class at a time "
                  "forgets the others; mix the classes within pieces, or set FitOptions::shuffle_buffer to as many pieces as have all of them"));
  EXPECT_THAT(fit_pieces(sorted, {.epochs = 2, .shuffle_buffer = 4}), IsEmpty());  // which is the advice
  // A first class of many pieces.
  const Generator long_runs = [](std::int64_t, std::int64_t piece) {
    return piece == 9 ? std::nullopt : std::optional(of_class(piece < 7 ? 0 : 1, 16));
  };
  EXPECT_THAT(fit_pieces(long_runs), ElementsAre(HasSubstr("each of the first 8 pieces")));
}

TEST(Advice, NothingOfPiecesThatAreRight) {
  const auto pieces = [](std::int64_t count, auto make) {
    return Generator([=](std::int64_t, std::int64_t piece) { return piece == count ? std::nullopt : std::optional<Dataset>(make(piece)); });
  };
  EXPECT_THAT(fit_pieces(pieces(5, [](std::int64_t) { return classes_of(16, 4); })), IsEmpty());
  EXPECT_THAT(fit_pieces(pieces(5, [](std::int64_t) { return of_class(1, 16); })), IsEmpty());  // there is one class only
  EXPECT_THAT(fit_pieces(pieces(12, [](std::int64_t piece) { return of_class(static_cast<std::int32_t>(piece % 4), 1); })),
              IsEmpty());  // one sample each
  EXPECT_THAT(
      fit_pieces(pieces(9, [](std::int64_t piece) { return piece == 1 ? classes_of(16, 4) : of_class(static_cast<std::int32_t>(piece % 4), 16); })),
      IsEmpty());  // one is mixed
  EXPECT_THAT(fit_pieces(pieces(2, [](std::int64_t piece) { return of_class(static_cast<std::int32_t>(piece), 64); })),
              IsEmpty());  // too few to tell
}

TEST(Advice, NumbersAreNoClasses) {
  ClassesOfPieces classes;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(classes.look({random({30, 2}, 1), Tensor::filled({DType::f32, {30, 1}}, i)}), "");
}

}  // namespace
}  // namespace sinter::test::advice_test
