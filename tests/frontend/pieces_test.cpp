// Data that a generator makes, and numbers that are not finite.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <limits>

#include "frontend/core/finite.h"
#include "runtime/chrome_trace.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::pieces_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Dataset line(std::int64_t samples, std::uint64_t stream) {
  const Tensor x = random({samples, 3}, stream);
  return {x, reshape(sum(x * Tensor({1, -2, 0.5f}, {3}), {1}), {samples, 1})};
}

struct Linear {
  nn::Sequential model;
  Trainer trainer;
  Linear()
      : model((seed(4), nn::Sequential{nn::Dense(3, 1)})),
        trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 0.05}), {.mode = modes().back()}) {}
  std::vector<float> weights() const { return model.parameters()[0].read().to_vector<float>(); }
};

/// Three pieces an epoch, of 40, 40 and 20 samples.
std::optional<Dataset> three(std::int64_t, std::int64_t piece) {
  if (piece == 3) return std::nullopt;
  return line(100, 1).slice(piece * 40, std::min<std::int64_t>(100, piece * 40 + 40));
}

TEST(Generator, SameAsDataInMemory) {
  Linear whole, pieces, on_this_thread;
  const FitOptions options{.epochs = 4, .batch_size = 20, .shuffle = false, .verbose = false};
  FitOptions alone = options;
  alone.prefetch = 0;
  const auto expected = whole.trainer.fit(line(100, 1), options), got = pieces.trainer.fit(three, options),
             other = on_this_thread.trainer.fit(three, alone);
  for (std::size_t e = 0; e < 4; ++e) {
    EXPECT_EQ(got[e].loss, expected[e].loss);
    EXPECT_EQ(other[e].loss, expected[e].loss);
  }
  EXPECT_EQ(pieces.weights(), whole.weights());
  EXPECT_EQ(on_this_thread.weights(), whole.weights());
}

TEST(Generator, AnEndlessOneStopsWithTheEpoch) {
  Linear l;
  std::vector<std::pair<std::int64_t, std::int64_t>> asked;
  const auto endless = [&](std::int64_t epoch, std::int64_t piece) -> std::optional<Dataset> {
    asked.emplace_back(epoch, piece);
    return line(50, static_cast<std::uint64_t>(10 * epoch + piece));
  };
  std::vector<float> rates;
  const auto schedule = [&](std::int64_t step, std::int64_t steps) {
    rates.push_back(static_cast<float>(steps - step));
    return 0.01f;
  };
  const auto history =
      l.trainer.fit(endless, {.epochs = 2, .batch_size = 25, .steps_per_epoch = 3, .prefetch = 0, .verbose = false, .schedule = schedule});
  EXPECT_EQ(history.size(), 2u);
  EXPECT_THAT(rates, ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(asked, ElementsAre(std::pair(1, 0), std::pair(1, 1), std::pair(2, 0), std::pair(2, 1)));
  Linear ahead;
  EXPECT_EQ(ahead.trainer
                .fit([](std::int64_t epoch, std::int64_t piece) { return std::optional(line(50, static_cast<std::uint64_t>(10 * epoch + piece))); },
                     {.epochs = 2, .batch_size = 25, .steps_per_epoch = 3, .prefetch = 5, .verbose = false, .schedule = schedule})[1]
                .loss,
            history[1].loss);
}

TEST(Generator, GoesOnIntoTheNextEpochWhileOneIsTrainedOn) {
  Linear l;
  std::atomic<std::int64_t> newest{0};
  const auto one_piece = [&](std::int64_t epoch, std::int64_t piece) -> std::optional<Dataset> {
    newest = epoch;
    newest.notify_all();
    return piece ? std::nullopt : std::optional(line(20, static_cast<std::uint64_t>(epoch)));
  };
  struct Wait : Callback {
    std::atomic<std::int64_t>& newest;
    explicit Wait(std::atomic<std::int64_t>& value) : newest(value) {}
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      if (step == 3) return;
      for (std::int64_t seen; (seen = newest) <= step;) newest.wait(seen);  // step s is the only one of epoch s
    }
  };
  const auto history =
      l.trainer.fit(one_piece, {.epochs = 3, .batch_size = 20, .prefetch = 2, .verbose = false, .callbacks = {std::make_shared<Wait>(newest)}});
  EXPECT_EQ(history.size(), 3u);
  EXPECT_EQ(newest, 3);
}

TEST(Generator, TellsTheProfileHowLongPiecesAreMadeAndWaitedFor) {
  const std::string path = (std::filesystem::temp_directory_path() / str("sinter_pieces_", getpid(), ".json")).string();
  const Environment wish("SINTER_PROFILE", path.c_str());
  const auto count = [&](const std::string& name) {
    runtime::ChromeTrace::at(path).write();
    const std::string text = read_bytes(path);
    std::size_t times = 0;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) ++times;
    return times;
  };
  const std::size_t made = count("make a piece"), waited = count("wait for a piece");
  Linear l;
  l.trainer.fit(three, {.epochs = 2, .batch_size = 20, .verbose = false});
  EXPECT_EQ(count("make a piece"), made + 8) << "three and an end in each of two epochs";
  EXPECT_EQ(count("wait for a piece"), waited + 8);
  std::filesystem::remove(path);
}

TEST(Generator, ThatEndsBeforeItsStepsWarnsOnce) {
  std::vector<std::string> warnings;
  nn::Sequential model{nn::Dense(3, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(),
                  {.mode = modes().back(), .log = [&](const std::string& line) { warnings.push_back(line); }});
  trainer.fit(three, {.epochs = 2, .batch_size = 20, .steps_per_epoch = 5, .verbose = false});
  EXPECT_THAT(warnings, testing::IsEmpty()) << "there are 5 steps";
  trainer.fit(three, {.epochs = 2, .batch_size = 20, .steps_per_epoch = 6, .verbose = false});
  EXPECT_THAT(warnings,
              ElementsAre("epoch 3 ends after 5 of its 6 steps: the generator has no piece 3; set steps_per_epoch to 0 if its epochs may be "
                          "of any length"));
}

TEST(Generator, WeighsAndValidates) {
  Linear l;
  const auto weighted = [&](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    if (piece == 2) return std::nullopt;
    Dataset data = line(30, 1 + static_cast<std::uint64_t>(piece));
    if (piece == 1) data.weights = Tensor::filled({DType::f32, {30}}, 0);
    return data;
  };
  const auto history = l.trainer.fit(weighted, {.epochs = 30, .batch_size = 10, .validation = line(30, 1), .verbose = false});
  EXPECT_LT(*history.back().validation_loss, *history.front().validation_loss);
}

TEST(Generator, Mistakes) {
  Linear l;
  const auto fit = [&](const Generator& generator, FitOptions options = {}) {
    options.verbose = false;
    return error_of([&] { l.trainer.fit(generator, options); });
  };
  const auto none = [](std::int64_t, std::int64_t) -> std::optional<Dataset> { return std::nullopt; };
  EXPECT_THAT(fit(none), HasSubstr("[fit] the generator has no piece 0 in epoch 1"));
  EXPECT_THAT(fit(Generator()), HasSubstr("[fit] the generator is empty"));
  EXPECT_THAT(fit(three, {.validation_split = 0.5}), HasSubstr("validation_split needs data in memory"));
  EXPECT_THAT(fit(three, {.schedule = schedule::constant(0.1)}), HasSubstr("set steps_per_epoch with a generator"));
  EXPECT_THAT(fit(three, {.steps_per_epoch = -1}), HasSubstr("steps_per_epoch must not be negative, got -1"));
  const auto broken = [](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    if (piece == 1) throw UserError("disk", "is gone");
    return line(10, 1);
  };
  for (const std::size_t prefetch : {0u, 1u, 4u}) EXPECT_THAT(fit(broken, {.prefetch = prefetch}), HasSubstr("[disk] is gone"));
  const auto changing = [](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    return piece ? Dataset{random({5, 4}, 1), random({5, 1}, 2)} : line(10, 1);
  };
  EXPECT_THAT(fit(changing), HasSubstr("[fit] the first data had x of f32[10,3] (samples first), now they are f32[5,4]"));
  const auto ragged = [](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    return piece ? Dataset{random({5, 3}, 1), random({4, 1}, 2)} : line(10, 1);
  };
  EXPECT_THAT(fit(ragged), HasSubstr("[fit, epoch 1, piece 1] x has 5 samples but y has 4"));
}

// ---- numbers that are not finite ----

TEST(NonFiniteData, IsNamed) {
  Linear l;
  const auto with = [](std::size_t place, float value) {
    std::vector<float> x = line(10, 1).x.only().to_vector<float>();
    x[place] = value;
    return Dataset{Tensor(x, {10, 3}), line(10, 1).y};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of([&] { l.trainer.fit(with(7, nan), {.verbose = false}); }),
              HasSubstr("[fit] x has nan at [2, 1], sample number first; leave such samples out or fill them in, as data::Encoder does"));
  EXPECT_THAT(error_of([&] { l.trainer.fit(line(10, 1), {.validation = with(29, -infinity), .verbose = false}); }),
              HasSubstr("[fit, validation] x has -inf at [9, 2]"));
  Dataset bad_target = line(10, 1);
  bad_target.y = Tensor::filled({DType::f32, {10, 1}}, static_cast<double>(nan));
  EXPECT_THAT(error_of([&] { l.trainer.fit(bad_target, {.verbose = false}); }), HasSubstr("[fit] y has nan at [0, 0]"));
  EXPECT_THAT(error_of([&] { l.trainer.fit([&](std::int64_t, std::int64_t) { return std::optional(with(0, nan)); }, {.verbose = false}); }),
              HasSubstr("[fit, epoch 1, piece 0] x has nan at [0, 0]"));
}

TEST(NonFiniteFinder, NamesLayerLineAndOpAndPutsTheStateBack) {
  for (const Mode mode : modes()) {
    seed(2);
    nn::Sequential model{nn::Dense(3, 4, nn::Activation::relu), nn::Lambda([](const Tensor& x) { return log(x); }), nn::Dense(4, 1)};
    model.parameters()[0].assign(Tensor::filled({DType::f32, {3, 4}}, 1));
    Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 1e-3}), {.mode = mode});
    // Positive sums alone for three batches of four, then one sample whose sum is negative: its logarithm is that of 0.
    std::vector<float> x(3 * 16, 1.0f);
    x[3 * 13] = -9;
    const Dataset data{Tensor(x, {16, 3}), Tensor::zeros({DType::f32, {16, 1}})};
    const std::string text = error_of([&] { trainer.fit(data, {.batch_size = 4, .shuffle = false, .verbose = false, .find_non_finite = true}); });
    EXPECT_THAT(text, AllOf(HasSubstr("[lambda_1, pieces_test.cpp:"), HasSubstr("log makes -inf at [1, 0] of f32[4,4] from f32[4,4] from 0 to 3"),
                            HasSubstr("in step 4 of epoch 1; parameters and optimizer are as before that step")))
        << text;
    for (const Parameter& p : trainer.parameters()) {
      EXPECT_FALSE(first_non_finite(p).has_value()) << p.name();
      if (p.name() == "adam/step") {
        EXPECT_EQ(p.read().item(), 3);
      }
    }
    // Training goes on with what is left.
    EXPECT_TRUE(std::isfinite(trainer.fit(data.slice(0, 12), {.batch_size = 4, .verbose = false, .find_non_finite = true})[0].loss));
  }
}

TEST(NonFiniteFinder, NamesAState) {
  Linear l;
  l.model.parameters()[0].assign(Tensor({1, std::numeric_limits<float>::infinity(), 0}, {3, 1}));
  EXPECT_THAT(error_of([&] { l.trainer.fit(line(8, 1), {.verbose = false, .find_non_finite = true}); }),
              HasSubstr("[dense_1.weight] the state holds inf at [1, 0] of f32[3,1], in step 1 of epoch 1"));
}

}  // namespace
}  // namespace sinter::test::pieces_test
