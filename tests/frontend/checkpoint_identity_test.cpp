// A checkpoint goes on only in the run that it is of: options, data, model, loss and optimizer.
#include "frontend/checkpoint/data_digest.h"
#include "runtime/file/container.h"
#include "tests/frontend/helpers.h"
#include "tests/soak/run.h"

namespace sinter::test::checkpoint_identity_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// A run whose parts a test changes. Two epochs of 6 steps.
struct Program {
  Dataset data = rings(45, 1);
  FitOptions fit{.epochs = 2, .batch_size = 8, .validation = rings(20, 2), .class_weights = {1, 2}, .seed = 5, .verbose = false};
  Activation activation = Activation::relu;
  float penalty = 1e-4f, smoothing = 0.05f, regularizer = 1e-5f, target_shift = 0.25f;
  optim::AdamOptions optimizer{.learning_rate = 0.02};
  bool frozen = false;
  Mode mode = Mode::eager;
  std::vector<std::string> warnings = {};

  void run(const std::string& folder) {
    seed(12);
    nn::Dense first(2, 9, activation, {.penalty = {.l2 = penalty}});
    nn::Sequential model{first, nn::Dense(9, 2)};
    if (frozen) first.set_trainable(false);
    const Tensor shift({target_shift, 0}, {2});
    const auto loss = loss::categorical({.from_logits = true, .label_smoothing = smoothing});
    const auto weight = model.parameters()[2];
    Trainer trainer(model, loss, optim::Adam(optimizer),
                    {.mode = mode,
                     .regularizer = [&] { return sum(square(weight + reshape(shift, {1, 2}))) * regularizer; },
                     .log = [&](const std::string& line) { warnings.push_back(line); }});
    fit.checkpoint = {.folder = folder};
    trainer.fit(data, fit);
  }
};

/// What a program says when it goes on for another epoch, with one change.
std::string after(const std::function<void(Program&)>& change, const std::function<void(Program&)>& both = [](Program&) {}) {
  const TemporaryFolder folder;
  Program before;
  both(before);
  before.run(folder.path);
  Program now;
  both(now);
  now.fit.epochs = 3;
  change(now);
  std::string error = error_of([&] { now.run(folder.path); });
  EXPECT_THAT(now.warnings, IsEmpty());
  return error;
}

TEST(CheckpointIdentity, TheSameProgramGoesOn) {
  for (const Mode mode : modes()) EXPECT_EQ(after([](Program&) {}, [&](Program& p) { p.mode = mode; }), "");
  EXPECT_EQ(after([](Program& p) { p.fit.prefetch = 1, p.fit.find_non_finite = true; }), "");
}

TEST(CheckpointIdentity, OtherDataOfTheSameSize) {
  const char* other = "the checkpoint was made with data that has other samples now; use the same, or a folder of its own for this run";
  EXPECT_THAT(after([](Program& p) { p.data = rings(45, 3); }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.data.x = rings(45, 3).x; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) {
                auto y = p.data.y[0].to_vector<std::int32_t>();
                y[22] = 1 - y[22];
                p.data.y = Tensor(y, {45});
              }),
              HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.data.weights = rings(45, 3).weights; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.data.weights = {}; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.fit.validation = rings(20, 4); }), HasSubstr("was made with validation data that has other samples now"));
  EXPECT_THAT(after([](Program& p) { p.fit.validation = {}; }), HasSubstr("was made with validation data that is not there now"));
}

/// Of a generator the piece is compared in which the checkpoint was made.
TEST(CheckpointIdentity, AGeneratorThatGivesAnotherPiece) {
  struct Stop : Callback {
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      if (step == 5) throw std::runtime_error("the end");
    }
  };
  for (const std::int64_t other_piece : {-1, 0, 1}) {  // of 20 samples each; the last checkpoint is behind the first batch of piece 1
    const TemporaryFolder folder;
    const auto run = [&](std::int64_t other, const std::vector<std::shared_ptr<Callback>>& callbacks) {
      seed(12);
      nn::Sequential model{nn::Dense(2, 2)};
      Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD(), {.mode = Mode::eager});
      const auto piece = [&](std::int64_t, std::int64_t number) -> std::optional<Dataset> {
        if (number == 3) return std::nullopt;
        return rings(20, static_cast<std::uint64_t>(number + (number == other ? 100 : 0)));
      };
      trainer.fit(piece, {.epochs = 1, .batch_size = 8, .verbose = false, .callbacks = callbacks, .checkpoint = {folder.path, 1}});
    };
    EXPECT_THROW(run(-1, {std::make_shared<Stop>()}), std::runtime_error);
    const std::string error = error_of([&] { run(other_piece, {}); });
    if (other_piece == 1)
      EXPECT_THAT(error, HasSubstr("[fit] piece 1 of epoch 1 has other samples than when the checkpoint was made; a generator must"));
    else EXPECT_EQ(error, "") << other_piece;
  }
}

TEST(CheckpointIdentity, OtherOptions) {
  EXPECT_THAT(after([](Program& p) { p.fit.class_weights = {1, 3}; }), HasSubstr("was made with FitOptions::class_weights 1 2, now it is 1 3"));
  EXPECT_THAT(after([](Program& p) { p.fit.class_weights = {}; }), HasSubstr("was made with FitOptions::class_weights 1 2, now it is none"));
  EXPECT_THAT(after([](Program& p) { p.fit.shuffle = false; }), HasSubstr("was made with FitOptions::shuffle 1, now it is 0"));
  EXPECT_THAT(after([](Program& p) { p.fit.steps_per_epoch = 6; }), HasSubstr("was made with FitOptions::steps_per_epoch 0, now it is 6"));
  EXPECT_THAT(after([](Program& p) { p.fit.seed += std::uint64_t{1} << 32; }),
              HasSubstr("was made with FitOptions::seed of which the upper half is 0, now it is 1"));
  EXPECT_THAT(after([](Program& p) { p.optimizer.learning_rate = 0.03; }),
              HasSubstr("was made with a learning rate of 0.02 at the start of fit, now it is 0.03"));
}

TEST(CheckpointIdentity, AnotherSchedule) {
  const auto constant = [](Program& p) { p.fit.schedule = schedule::constant(0.01); };
  EXPECT_EQ(after([](Program& p) { p.optimizer.learning_rate = 0.5; }, constant), "") << "the schedule says every rate";
  EXPECT_THAT(after(constant), HasSubstr("the checkpoint was made without a schedule; use the same"));
  EXPECT_THAT(after([](Program& p) { p.fit.schedule = {}; }, constant), HasSubstr("the checkpoint was made with a schedule; use the same"));
  EXPECT_THAT(after([](Program& p) { p.fit.schedule = schedule::piecewise({11}, {0.01, 0.001}); }, constant),
              HasSubstr("a schedule that gives the learning rate 0.01 in step 11 of fit, now it gives 0.001; use the same"));
  EXPECT_THAT(after([](Program&) {}, [](Program& p) { p.fit.schedule = schedule::cosine(0.01); }),
              HasSubstr("the same epochs if it depends on the number"));
}

TEST(CheckpointIdentity, AnotherModelLossOrOptimizer) {
  EXPECT_THAT(after([](Program& p) { p.activation = Activation::tanh; }), HasSubstr("the checkpoint was made with another model: `"));
  EXPECT_THAT(after([](Program& p) { p.activation = Activation::tanh; }), HasSubstr("tanh("));
  EXPECT_THAT(after([](Program& p) { p.smoothing = 0.1f; }), HasSubstr("the checkpoint was made with another loss: `"));
  const char* other = "the checkpoint was made with another optimizer, regularizer, penalty or set of frozen layers: `";
  EXPECT_THAT(after([](Program& p) { p.optimizer.beta1 = 0.8; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.optimizer.common.clip.norm = 1; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.regularizer = 1e-3f; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.penalty = 1e-3f; }), HasSubstr(other));
  EXPECT_THAT(after([](Program& p) { p.frozen = true; }), HasSubstr("the checkpoint has 'adam/dense_1.weight/m', which the trainer lacks"));
  EXPECT_THAT(after([](Program& p) { p.target_shift = 0.5f; }), HasSubstr("frozen layers: the values of train/captured/"));
}

TEST(CheckpointIdentity, AnOptimizerWithMoreSlots) {
  EXPECT_THAT(after([](Program& p) { p.optimizer.amsgrad = true; }), HasSubstr("the checkpoint has no 'adam/dense_1.weight/"));
}

TEST(CheckpointIdentity, AFileWithoutAGraph) {
  for (const char* graph : {"predict", "evaluate", "train"}) {
    const TemporaryFolder folder;
    Program program;
    program.run(folder.path);
    runtime::Archive archive = runtime::load(*newest_checkpoint(folder.path));
    std::erase_if(archive.graphs, [&](const runtime::NamedGraph& named) { return named.name == graph; });
    runtime::save(*newest_checkpoint(folder.path), archive);
    EXPECT_THAT(error_of([&] { program.run(folder.path); }), HasSubstr(str("the checkpoint lacks the graph '", graph, "'; it is damaged")));
  }
}

/// Files are read for ever: what an older version did not write down is not compared, and its graphs may be others.
TEST(CheckpointIdentity, OfAnOlderVersionGoesOn) {
  const TemporaryFolder folder;
  Program().run(folder.path);
  const std::string path = *newest_checkpoint(folder.path);
  runtime::Archive archive = runtime::load(path);
  std::erase_if(archive.arrays, [](const runtime::NamedArray& array) {
    constexpr const char* known[] = {"batch_size", "steps_per_epoch", "samples of an epoch", "shuffle", "seed", "seed / 2^32"};
    const std::string prefix = "saved.numbers/settings.";
    return array.name.starts_with(prefix) && std::ranges::find(known, array.name.substr(prefix.size())) == std::end(known);
  });
  archive.metadata.erase("version");
  runtime::save(path, archive);
  Program now;
  now.fit.epochs = 3;
  now.data = rings(45, 3);
  now.fit.class_weights = {1, 3};
  now.smoothing = 0.1f;
  now.run(folder.path);
  ASSERT_EQ(now.warnings.size(), 1u);
  EXPECT_THAT(now.warnings[0], HasSubstr("the checkpoint was made with another loss: `"));
  EXPECT_THAT(now.warnings[0], HasSubstr("or another version of Sinter wrote the same differently; training continues"));
}

// ---- the digest ----

TEST(DataDigest, TellsWhereASampleDiffersInTypesAndScale) {
  const auto data = [] { return Dataset{random({3000, 3}, 1), random_labels(3000, 4, 2)}; };
  const auto digest = digest_of(data());
  EXPECT_EQ(digest.size(), 4u);
  EXPECT_EQ(digest_of(data()), digest);
  for (const std::int64_t sample : {0, 1, 1499, 2999}) {
    Dataset other = data();
    other.x[0].array().view().as<float>()[sample * other.x[0].array().view().layout().stride + 2] += 1;
    EXPECT_NE(digest_of(other), digest) << sample;
    other = data();
    other.y[0].array().view().as<std::int32_t>()[sample] += 1;
    EXPECT_NE(digest_of(other), digest) << sample;
  }
  Dataset scaled = data();
  scaled.scale = 2;
  EXPECT_NE(digest_of(scaled), digest);
  EXPECT_NE(digest_of({data().x, cast(data().y[0], DType::u32)}), digest);
  EXPECT_NE(digest_of({reshape(data().x[0], {3000, 1, 3}), data().y}), digest);
  EXPECT_NE(digest_of(data().slice(0, 2999)), digest);
}

/// Of more samples than it reads it takes the first, the last and some from all over.
TEST(DataDigest, OfMuchDataSpreadsOverAllOfIt) {
  const auto data = [] { return Dataset{Tensor::zeros({DType::u8, {100000, 5}}), Tensor::zeros({DType::i32, {100000}})}; };
  const auto digest = digest_of(data());
  const auto changed = [&](std::int64_t first, std::int64_t count) {
    Dataset other = data();
    std::fill_n(other.y[0].array().view().as<std::int32_t>() + first, count, 1);
    return digest_of(other) != digest;
  };
  EXPECT_TRUE(changed(0, 1));
  EXPECT_TRUE(changed(99999, 1));
  for (std::int64_t first = 0; first < 100000; first += 5000) EXPECT_TRUE(changed(first, 25)) << first;
}

}  // namespace
}  // namespace sinter::test::checkpoint_identity_test
