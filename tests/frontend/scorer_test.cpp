// Predictions from any thread, while models are replaced.
#include "frontend/serve/scorer.h"

#include <atomic>
#include <barrier>
#include <fstream>
#include <thread>

#include "frontend/core/trace.h"
#include "ir/graph.h"
#include "tests/frontend/served_models.h"
#include "tests/support/allocations.h"

namespace sinter::test::scorer_test {
namespace {

using serve::Scorer;
using testing::ElementsAre;
using testing::HasSubstr;

class Scoring : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  static std::vector<float> score(const Scorer& scorer, const std::vector<float>& sample) {
    std::vector<float> out(static_cast<std::size_t>(scorer.outputs()));
    scorer.score(sample, out);
    return out;
  }

  const TemporaryFolder folder_;
  const std::vector<float> sample_{0.5f, -1, 2};
};

TEST_F(Scoring, GivesProbabilitiesOfClassesAndNumbers) {
  for (const Mode mode : modes()) {
    save_dense(file("classes.sinter"), 3, 4, true);
    const Scorer classes(file("classes.sinter"), {.mode = mode});
    EXPECT_EQ(classes.inputs(), 3);
    EXPECT_EQ(classes.outputs(), 4);
    EXPECT_THAT(classes.model()->classes(), ElementsAre("0", "1", "2", "3"));
    EXPECT_FALSE(classes.model()->encoder());
    Trainer trainer = Trainer::load(file("classes.sinter"), {.mode = mode});
    EXPECT_EQ(score(classes, sample_), softmax(trainer.predict(Tensor(sample_, {1, 3}))).to_vector<float>());

    save_dense(file("two.sinter"), 3, 1, false);
    Trainer two = Trainer::load(file("two.sinter"), {.mode = mode});
    const float number = two.predict(Tensor(sample_, {1, 3})).to_vector<float>()[0];
    EXPECT_THAT(score(Scorer(file("two.sinter"), {.mode = mode}), sample_), ElementsAre(number));
    two.set_metadata("task", "classes");
    two.save(file("two.sinter"));
    const float second = sigmoid(Tensor({number}, {1})).to_vector<float>()[0];
    EXPECT_THAT(score(Scorer(file("two.sinter"), {.mode = mode}), sample_), ElementsAre(1 - second, second));
  }
}

TEST_F(Scoring, GivesTheErrorOfAModelThatReproducesItsSamples) {
  for (const Mode mode : modes()) {
    save_dense(file("self.sinter"), 3, 3, false);
    Trainer trainer = Trainer::load(file("self.sinter"), {.mode = mode});
    trainer.set_metadata("task", "self");
    trainer.save(file("self.sinter"));
    const Scorer scorer(file("self.sinter"), {.mode = mode});
    EXPECT_EQ(scorer.outputs(), 1);
    const Tensor x(sample_, {1, 3});
    EXPECT_NEAR(score(scorer, sample_)[0], mean(square(trainer.predict(x) - x)).to_vector<float>()[0], 1e-6);
  }
}

TEST_F(Scoring, TakesAnEncoderAndItsUnits) {
  const data::Table houses{{"area", "price"}, {{"50", "80", "120"}, {"100", "180", "320"}}};
  const data::Encoder encoder = save_model_of(file("houses.sinter"), houses, {.target = "price"});
  const Scorer scorer(file("houses.sinter"), here);
  ASSERT_TRUE(scorer.model()->encoder());
  EXPECT_THAT(scorer.model()->encoder()->columns_read(), ElementsAre("area"));
  EXPECT_EQ(scorer.model()->unit(), encoder.target_unit());
  EXPECT_EQ(scorer.model()->offset(), encoder.unscaled(0));
  save_model_of(file("payments.sinter"), payments(), {.target = "kind"});
  std::vector<std::string> warnings;
  const Scorer of_payments(file("payments.sinter"),
                           {.mode = here.mode, .threads = 0, .log = [&](const std::string& text) { warnings.push_back(text); }});
  EXPECT_THAT(of_payments.model()->classes(), ElementsAre("fraud", "normal", "odd"));
  EXPECT_THAT(warnings, testing::IsEmpty());
}

TEST_F(Scoring, RowsAreScoredAsOneByOne) {
  save_dense(file("model.sinter"), 3, 4, true);
  const Scorer scorer(file("model.sinter"), here);
  const std::vector<float> in = random({70, 3}, 4).to_vector<float>();
  for (const std::size_t rows : {70u, 1u, 33u, 70u}) {
    std::vector<float> out(rows * 4);
    scorer.score_rows(std::span(in).first(rows * 3), out);
    for (std::size_t r = 0; r < rows; ++r)
      EXPECT_EQ(score(scorer, {in.begin() + static_cast<std::ptrdiff_t>(3 * r), in.begin() + static_cast<std::ptrdiff_t>(3 * r + 3)}),
                std::vector<float>(out.begin() + static_cast<std::ptrdiff_t>(4 * r), out.begin() + static_cast<std::ptrdiff_t>(4 * r + 4)));
  }
  scorer.score_rows({}, {});
}

TEST_F(Scoring, TakesImagesAndBytesAsTheModelSeesThem) {
  std::vector<std::uint8_t> bytes(8 * 6);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(37 * i);
  nn::Sequential model{nn::Flatten(), nn::Dense(6, 3)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = Mode::eager});
  EXPECT_THAT(error_of([&] { (void)trainer.recorded_predictions(); }), HasSubstr("[recorded_predictions] the shapes of the data are not known yet"));
  (void)trainer.evaluate({Tensor(bytes, {8, 2, 3}), random_labels(8, 3, 1), 1.0f / 255});
  EXPECT_EQ(trainer.recorded_predictions().graph.inputs()[0].type, (Type{DType::f32, {Dim::batch(), 2, 3}}));
  const Scorer scorer(trainer, here);
  std::vector<float> sample(6), scores(3);
  for (std::size_t i = 0; i < 6; ++i) sample[i] = static_cast<float>(bytes[i]) / 255;
  trainer.predict_one(sample, scores);
  EXPECT_EQ(score(scorer, sample), scores);
}

struct Shifted : nn::Module {
  nn::Dense dense{3, 64};
  Tensor shift = random({4000}, 9);  // as large as what a file is read in place for
  Shifted() : Module("shifted") { add(dense); }
  Tensor forward(const Tensor& x) override { return dense(x) + sum(shift); }
};

TEST_F(Scoring, OutlivesItsFile) {
  Shifted model;
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)trainer.evaluate({random({4, 3}, 1), random({4, 64}, 2)});
  trainer.save(file("model.sinter"));
  const Scorer scorer(file("model.sinter"), here);
  std::ofstream(file("model.sinter"), std::ios::trunc) << "another";  // reading its pages would be a bus error
  const std::vector<float> expected = trainer.predict(Tensor(sample_, {1, 3})).to_vector<float>(), got = score(scorer, sample_);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4);
}

TEST_F(Scoring, FollowsWhatATrainerPublishes) {
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(3, 2)};
    auto trainer = std::make_optional<Trainer>(model, loss::mean_squared_error, optim::SGD({.learning_rate = 0.1}), TrainerOptions{.mode = mode});
    const Tensor x = random({4, 3}, 1), y = random({4, 2}, 2), sample(sample_, {1, 3});
    trainer->train_on_batch(x, y);
    const Scorer scorer(*trainer, {.mode = mode});
    const std::vector<float> first = trainer->predict(sample).to_vector<float>();
    EXPECT_EQ(score(scorer, sample_), first);
    trainer->train_on_batch(x, y);
    EXPECT_EQ(score(scorer, sample_), first);
    trainer->publish();
    const std::vector<float> second = trainer->predict(sample).to_vector<float>();
    EXPECT_NE(second, first);
    EXPECT_EQ(score(scorer, sample_), second);
    trainer.reset();
    EXPECT_EQ(score(scorer, sample_), second);
  }
}

struct SumOfTwo : nn::Model {
  nn::Dense dense{3, 3};
  SumOfTwo() : Model("sum") { add(dense); }
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {dense(in[0] + in[1])}; }
};

TEST_F(Scoring, RefusesWhatItCannotServe) {
  const Tensor x = random({4, 3}, 1);
  const auto refused = [&](auto&& model, const Columns& in) {
    Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
    (void)trainer.evaluate({in, x});
    return error_of([&] { Scorer(trainer, here); });
  };
  EXPECT_THAT(refused(SumOfTwo(), {x, x}), HasSubstr("serves models of one input and one output, this one has 2 and 1"));
  EXPECT_THAT(refused(nn::Sequential{nn::Embedding(5, 3)}, {random_labels(4, 5, 1)}),
              HasSubstr("serves models from f32[N, numbers...] to f32[N, numbers...], this one is from i32[N] to f32[N,3]"));
  save_dense(file("model.sinter"), 3, 4, true);
  const Scorer scorer(file("model.sinter"), here);
  std::vector<float> out(4);
  EXPECT_EQ(error_of([&] { scorer.score(std::vector<float>(2), out); }), "[scorer] a sample has 3 numbers and a result 4, got room for 2 and 4");
  EXPECT_EQ(error_of([&] { scorer.score_rows(std::vector<float>(6), out); }),
            "[scorer] rows are of 3 numbers and their results of 4, got 6 and 4 numbers");
  EXPECT_THAT(error_of([&] { Scorer(file("model.sinter"), {.threads = -1}); }), HasSubstr("threads must not be negative, got -1"));
  EXPECT_THAT(error_of([&] { Scorer(file("none.sinter"), here); }), HasSubstr("none.sinter"));

  Trainer trainer = Trainer::load(file("model.sinter"));
  trainer.set_metadata("encoder", "{");
  trainer.save(file("broken.sinter"));
  EXPECT_THAT(error_of([&] { Scorer(file("broken.sinter"), here); }), HasSubstr("broken.sinter] "));
  trainer.set_metadata("encoder", data::Encoder::fit(payments(), {.target = "kind"}).to_json());
  trainer.save(file("other.sinter"));
  EXPECT_THAT(error_of([&] { Scorer(file("other.sinter"), here); }),
              HasSubstr("its encoder makes 4 numbers of a record and names 3 outputs, but the model is from f32[N,3] to f32[N,4]"));
}

TEST_F(Scoring, SwapsOnlyModelsThatAreAlike) {
  save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  Scorer scorer(file("model.sinter"), here);
  const std::vector<float> sample(static_cast<std::size_t>(scorer.inputs()), 0.5f), before = score(scorer, sample);
  const std::shared_ptr<const serve::ServedModel> old = scorer.model();
  EXPECT_EQ(scorer.generation(), 1);
  const auto refused = [&](const char* name) { return error_of([&] { scorer.swap(file(name)); }); };
  save_dense(file("wide.sinter"), 5, 3, true);
  EXPECT_THAT(refused("wide.sinter"),
              HasSubstr("wide.sinter] takes 5 numbers and gives 3, but the model that is served takes 4 and gives 3; it stays"));
  data::Table others = payments();
  others.names = {"sum", "town", "kind"};
  save_model_of(file("columns.sinter"), others, {.target = "kind"});
  EXPECT_THAT(refused("columns.sinter"), HasSubstr("reads sum, town, but the model that is served amount, town; it stays"));
  save_dense(file("plain.sinter"), 4, 3, false);
  EXPECT_THAT(refused("plain.sinter"), HasSubstr("predicts numbers, but the model that is served the classes fraud, normal, odd; it stays"));
  EXPECT_THAT(refused("gone.sinter"), HasSubstr("gone.sinter"));
  EXPECT_EQ(scorer.generation(), 1);
  EXPECT_EQ(score(scorer, sample), before);

  save_model_of(file("next.sinter"), payments(), {.target = "kind"}, 2);
  scorer.swap(file("next.sinter"));
  EXPECT_EQ(scorer.generation(), 2);
  const std::vector<float> after = score(scorer, sample);
  EXPECT_NE(after, before);
  EXPECT_EQ(after, score(Scorer(file("next.sinter"), here), sample));
  std::vector<float> out(3);
  old->score(sample, out);  // whoever keeps a model goes on with it
  EXPECT_EQ(out, before);
}

// Callers and a swapper begin each round together. No call fails, each result is of one of the two models, and of the new one after a swap.
TEST_F(Scoring, SwapsLoseNoCallAndTearNone) {
  constexpr int rounds = 6, callers = 3, calls = 40;
  std::vector<std::vector<float>> expected;
  for (const char* name : {"a", "b"}) {
    save_dense(file(name), 3, 65, false, name[0]);
    expected.push_back(score(Scorer(file(name), here), sample_));
  }
  ASSERT_NE(expected[0], expected[1]);
  Scorer scorer(file("a"), here);
  std::barrier round(callers + 1);
  std::atomic<int> answered{0}, torn{0}, late{0};
  const auto call = [&](std::vector<float>& out) {
    scorer.score(sample_, out);
    ++answered;
    return out == expected[0] ? 0 : out == expected[1] ? 1 : (++torn, 2);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t)
    threads.emplace_back([&] {
      std::vector<float> out(65);
      for (int r = 1; r <= rounds; ++r) {
        round.arrive_and_wait();
        for (int i = 0; i < calls; ++i) call(out);
        round.arrive_and_wait();  // the swap has returned
        if (call(out) != r % 2) ++late;
      }
    });
  for (int r = 1; r <= rounds; ++r) {
    round.arrive_and_wait();
    scorer.swap(file(r % 2 ? "b" : "a"));
    round.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, callers * rounds * (calls + 1));
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(late, 0);
  EXPECT_EQ(scorer.generation(), 1 + rounds);
}

TEST_F(Scoring, CallsAllocateNothing) {
  NEEDS_CODEGEN();
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  if (settings().checked) GTEST_SKIP() << "a checked step notes what its kernels touch";
  save_dense(file("model.sinter"), 3, 4, true);
  const Scorer scorer(file("model.sinter"), here);
  const std::vector<float> in = random({70, 3}, 4).to_vector<float>();
  std::vector<float> out(70 * 4);
  const auto call = [&] {
    scorer.score(std::span(in).first(3), std::span(out).first(4));
    scorer.score_rows(in, out);
  };
  for (int i = 0; i < 3; ++i) call();
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) call();
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace sinter::test::scorer_test
