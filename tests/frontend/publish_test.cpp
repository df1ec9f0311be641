// Clones of a step read whole sets of published values while another step assigns.
#include <array>
#include <atomic>
#include <thread>

#include "frontend/core/trace.h"
#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::test::publish_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t inner = 32, columns = 512, rounds = 1000;

Parameter filled(const std::string& name, float value) { return {name, Tensor::filled({DType::f32, {inner, columns}}, value)}; }

/// Weights whose elements are all equal, a step that adds one to each, and one that predicts: every result is 32 times the same number unless the
/// weights that it read were of two times. The right operands are wide, so that a compiled step packs them.
struct Counter {
  Parameter a = filled("a", 1), b = filled("b", 1);
  Step<void()> next;
  Step<std::tuple<Tensor, Tensor>(Tensor)> predict;
  Tensor ones = Tensor::filled({DType::f32, {1, inner}}, 1);

  explicit Counter(Mode mode)
      : next(compile(
            [this] {
              for (const Parameter& p : {a, b}) {
                const Tensor w = p.read();
                p.assign(where(w < static_cast<float>(rounds), w + 1.0f, w - static_cast<float>(rounds - 1)));
              }
            },
            {.name = "next", .mode = mode})),
        predict(compile([this](const Tensor& x) { return std::tuple(matmul(x, a), matmul(x, b)); }, {.name = "predict", .mode = mode})) {
    predict(ones);
  }
  void publish() const { sinter::publish({a, b}); }
};

/// The number that all weights were when the step read them; -1 if they were not all one number.
float count_of(Step<std::tuple<Tensor, Tensor>(Tensor)>& predict, const Tensor& ones) {
  const auto [a, b] = predict(ones);
  const float first = a.view().as<float>()[0];
  for (const Tensor* t : {&a, &b})
    for (std::int64_t i = 0; i < columns; ++i)
      if (t->view().as<float>()[i] != first) return -1;
  return first / static_cast<float>(inner);
}

/// How many predictions the threads make together; SINTER_PREDICTIONS asks for more.
std::int64_t predictions(Mode mode) {
  const char* asked = std::getenv("SINTER_PREDICTIONS");
  if (mode == Mode::eager) return 4'000;
  return asked ? std::atoll(asked) : 100'000;
}

TEST(Publish, NoCloneReadsATornSetWhileAStepAssigns) {
  for (const Mode mode : modes()) {
    Counter model(mode);
    constexpr std::size_t clones = 4;
    std::array<std::int64_t, clones> torn{}, changes{};
    std::atomic<std::size_t> running{clones};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < clones; ++t)
      threads.emplace_back([&, t, own = model.predict.clone()]() mutable {
        const std::string error = error_of([&] {
          float before = 0;
          for (std::int64_t i = 0, end = predictions(mode) / static_cast<std::int64_t>(clones); i < end || changes[t] < 20; ++i) {
            const float now = count_of(own, model.ones);
            torn[t] += now < 0;
            changes[t] += now != before;
            before = now;
          }
        });
        if (!error.empty()) ADD_FAILURE() << error;
        --running;
      });
    std::int64_t published = 0;
    for (; running > 0; ++published) {
      for (int i = 0; i < 3; ++i) model.next();
      model.publish();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(torn, Each(0)) << "of " << predictions(mode) << " predictions, " << published << " sets were published";
    EXPECT_GT(published, 20);
  }
}

TEST(Publish, ACloneReadsWhatWasThereWhenItWasMadeAndThenWhatIsPublished) {
  for (const Mode mode : modes()) {
    Counter model(mode);
    auto one = model.predict.clone();
    model.next();
    auto two = model.predict.clone(), too = one.clone();
    EXPECT_EQ(count_of(model.predict, model.ones), 2) << "the original reads the parameters themselves";
    EXPECT_EQ(count_of(one, model.ones), 1);
    EXPECT_EQ(count_of(two, model.ones), 2);
    EXPECT_EQ(count_of(too, model.ones), 1) << "the clone of a clone";
    model.next();
    model.publish();
    model.next();
    auto late = model.predict.clone();
    for (auto* clone : {&one, &two, &too, &late}) EXPECT_EQ(count_of(*clone, model.ones), 3);
    EXPECT_EQ(count_of(model.predict, model.ones), 4);
    for (int i = 0; i < 3; ++i) {  // each is new to the packed weights
      model.next();
      model.publish();
      EXPECT_EQ(count_of(one, model.ones), count_of(model.predict, model.ones));
    }
  }
}

TEST(Publish, AnAssignmentOutsideOfStepsIsSeenWhenItIsPublished) {
  for (const Mode mode : modes()) {
    Counter model(mode);
    auto clone = model.predict.clone();
    model.a.assign(Tensor::filled(model.a.type(), 7));
    model.b.assign(Tensor::filled(model.b.type(), 7));
    EXPECT_EQ(count_of(clone, model.ones), 1);
    model.publish();
    EXPECT_EQ(count_of(clone, model.ones), 7);
  }
}

/// What a clone compiles itself reads the same values as what it took over.
TEST(Publish, ANewShapeReadsTheSameValues) {
  for (const Mode mode : modes()) {
    const Parameter factor("factor", Tensor(2.0f));
    auto twice = compile([&](const Tensor& x) { return x * factor; }, {.mode = mode});
    twice(Tensor({1, 2}, {2}));
    auto clone = twice.clone();
    factor.assign(Tensor(3.0f));
    EXPECT_THAT(clone(Tensor({1, 2}, {1, 2})).to_vector<float>(), ElementsAre(2, 4));
    publish({factor});
    EXPECT_THAT(clone(Tensor({1, 2}, {2, 1})).to_vector<float>(), ElementsAre(3, 6));
    EXPECT_THAT(clone(Tensor({1, 2}, {1, 1, 2})).to_vector<float>(), ElementsAre(3, 6));
  }
}

TEST(Publish, AStepFromAFileIsClonedInBothModes) {
  NEEDS_CODEGEN();
  const TemporaryFolder folder;
  const Parameter factor("factor", Tensor(2.0f));
  compile([&](const Tensor& x) { return x * factor; }, Spec::batch(DType::f32, {})).save(folder.path + "/step.sinter");
  for (const Mode mode : modes()) {
    Step<Tensor(Tensor)> loaded(load_step(folder.path + "/step.sinter", {.mode = mode}));
    auto clone = loaded.clone();
    publish({factor});  // another cell of the same name
    EXPECT_THAT(clone(Tensor({1, 2}, {2})).to_vector<float>(), ElementsAre(2, 4));
  }
}

TEST(Publish, AModelAndATrainerPublishAllOfTheirParameters) {
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(20, 7), nn::BatchNorm(7)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode});
    const Dataset data{random({64, 20}, 1), random_labels(64, 7, 2)};
    const Tensor x = random({8, 20}, 3);
    trainer.predict(x);
    Step<Tensor(Tensor)> clone(trainer.predict_step().clone());
    const auto untrained = clone(x).to_vector<float>();
    trainer.fit(data, {.epochs = 2, .verbose = false});
    EXPECT_EQ(clone(x).to_vector<float>(), untrained);
    trainer.publish();
    EXPECT_EQ(clone(x).to_vector<float>(), trainer.predict(x).to_vector<float>());
    trainer.fit(data, {.epochs = 2, .verbose = false});
    model.publish();
    EXPECT_EQ(clone(x).to_vector<float>(), trainer.predict(x).to_vector<float>());

    const TemporaryFolder folder;
    trainer.save(folder.path + "/model.sinter");
    Trainer loaded = Trainer::load(folder.path + "/model.sinter", {.mode = mode});
    Step<Tensor(Tensor)> other(loaded.predict_step().clone());
    EXPECT_EQ(other(x).to_vector<float>(), trainer.predict(x).to_vector<float>());
    loaded.fit(data, {.epochs = 1, .verbose = false});
    EXPECT_EQ(other(x).to_vector<float>(), trainer.predict(x).to_vector<float>());
    loaded.publish();
    EXPECT_EQ(other(x).to_vector<float>(), loaded.predict(x).to_vector<float>());
  }
}

TEST(Publish, WhatAClonePredictsAllocatesNothing) {
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  for (const Mode mode : modes()) {
    if (mode == Mode::eager || settings().checked) continue;
    Counter model(mode);
    auto clone = model.predict.clone();
    for (int i = 0; i < 3; ++i) clone(model.ones);
    for (int i = 0; i < 10; ++i) {
      model.next();
      model.publish();
      const std::int64_t before = allocations();
      EXPECT_EQ(count_of(clone, model.ones), static_cast<float>(i + 2));
      EXPECT_EQ(allocations(), before);
    }
  }
}

/// Verify and time of a clone judge its own values and leave those of the model alone.
TEST(Publish, ACloneIsVerifiedOnWhatItReads) {
  for (const Mode mode : modes()) {
    if (mode == Mode::eager) continue;
    Counter model(mode);
    auto clone = model.predict.clone();
    model.next();
    EXPECT_TRUE(clone.verify(model.ones).ok());
    clone.time(model.ones);
    EXPECT_EQ(count_of(clone, model.ones), 1);
    EXPECT_EQ(count_of(model.predict, model.ones), 2);
  }
}

/// Publishing takes handles: nothing is copied until a step assigns.
TEST(Publish, KeepsAHandleInTheCell) {
  for (const Mode mode : modes()) {
    Counter model(mode);
    const Cell& cell = *model.a.cell();
    EXPECT_FALSE(cell.published);
    EXPECT_EQ(cell.original, nullptr);
    model.publish();
    const CellValue value = *cell.published;
    EXPECT_EQ(value.buffer, cell.buffer);
    EXPECT_EQ(value.version, cell.version);
    model.next();
    EXPECT_NE(cell.buffer, value.buffer);
    EXPECT_NE(cell.version, value.version);
    EXPECT_EQ(cell.published->buffer, value.buffer);
    Cell other = cell;
    other.set(value);
    EXPECT_EQ(other.value().buffer, value.buffer);
    EXPECT_EQ(other.value().version, value.version);
    EXPECT_FALSE(cell.is_assigning());
    EXPECT_EQ(error_of([&] { cell.require_unassigned("wait"); }), "");
  }
}

// ---- errors ----

TEST(PublishError, ACloneOfAStepThatAssignsIsRefused) {
  const char* refused = "clone() is for steps that assign nothing, this one assigns 'a'; run it on one thread, and publish()";
  for (const Mode mode : modes()) {
    Counter model(mode);
    auto uncompiled = model.next.clone();
    EXPECT_THAT(error_of([&] { uncompiled(); }), HasSubstr("clone"));
    model.publish();
    EXPECT_THAT(error_of([&] { uncompiled(); }), HasSubstr(refused));
    auto step = compile(
        [&](const Tensor& x) {
          model.a.assign(model.a * x);
          return x;
        },
        {.mode = mode});
    step(Tensor(1.0f));
    EXPECT_THAT(error_of([&] { step.clone(); }), HasSubstr(refused));
  }
}

TEST(PublishError, AParameterThatTheOriginalHasNotReadAndNobodyPublished) {
  for (const Mode mode : modes()) {
    const Parameter factor("factor", Tensor(2.0f));
    auto twice = compile([&](const Tensor& x) { return x * factor; }, {.mode = mode});
    auto clone = twice.clone();
    const Tensor x({1, 2}, {2});
    EXPECT_THAT(error_of([&] { clone(x); }),
                HasSubstr("reads 'factor', which was never published; publish() the parameters, or call the step once before clone()"));
    publish({factor});
    EXPECT_THAT(clone(x).to_vector<float>(), ElementsAre(2, 4));
  }
}

TEST(PublishError, InsideATraceOrWithoutAParameter) {
  const Parameter p("p", Tensor(2.0f));
  EXPECT_THAT(error_of([&] {
                const Trace trace("scratch");
                publish({p});
              }),
              HasSubstr("[publish] cannot be traced; call it between steps"));
  EXPECT_THAT(error_of([] { publish({Parameter()}); }), HasSubstr("[publish] a parameter was never set"));
}

/// What two threads do to one parameter at the same time is an error, not a torn value. The other thread is one that has stopped in the midst.
TEST(PublishError, WhileAStepOnAnotherThreadAssigns) {
  NEEDS_CODEGEN();
  const auto during = [](const Parameter& p, const auto& f) {
    p.cell()->assigning = true;
    std::string error = error_of(f);
    p.cell()->assigning = false;
    return error;
  };
  Counter model(Mode::graph);
  model.next();
  EXPECT_THAT(during(model.b, [&] { model.publish(); }),
              HasSubstr("[b] a step on another thread is assigning it; publish between steps, on the thread that trains"));
  EXPECT_THAT(during(model.b, [&] { model.predict.clone(); }),
              HasSubstr("[b] a step on another thread is assigning it; clone() on the thread that trains, or publish() first"));
  EXPECT_THAT(during(model.b, [&] { model.predict(model.ones); }),
              HasSubstr("[b] a step on another thread is assigning it; train and predict on one thread, or predict with a clone()"));
  EXPECT_THAT(during(model.b, [&] { model.next(); }), HasSubstr("[b] two steps on two threads assign it at the same time"));
  EXPECT_THAT(during(model.b, [&] { model.b.read(); }), HasSubstr("is assigning it; read it between steps, on the thread that trains"));
  EXPECT_THAT(during(model.b, [&] { model.b.assign(model.a); }), HasSubstr("is assigning it; assign between steps, on the thread that trains"));
  EXPECT_EQ(count_of(model.predict, model.ones), 2) << "nothing was assigned, and nothing stays marked";
  model.next();
  model.publish();
  auto clone = model.predict.clone();
  EXPECT_EQ(during(model.b, [&] { EXPECT_EQ(count_of(clone, model.ones), 3); }), "");
}

}  // namespace
}  // namespace sinter::test::publish_test
