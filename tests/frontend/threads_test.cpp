// Trainers, fits and steps in several threads and processes.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <thread>

#include "tests/frontend/helpers.h"

namespace sinter::test::threads_test {
namespace {

const Dataset& blobs() {
  static const Dataset data{random({96, 20}, 1), random_labels(96, 7, 2)};
  return data;
}

/// A classifier with its trainer, the same from each seed.
struct Training {
  nn::Sequential model;
  Trainer trainer;

  Training(Mode mode, std::uint64_t seed_value)
      : model((seed(seed_value), nn::Sequential{nn::Dense(20, 33, Activation::relu), nn::BatchNorm(33), nn::Dropout(0.2), nn::Dense(33, 7)})),
        trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode, .threads = 2, .force = true}) {}

  std::vector<std::vector<float>> fit(const FitOptions& options) {
    trainer.fit(blobs(), options);
    std::vector<std::vector<float>> values;
    for (const Parameter& p : trainer.parameters())
      if (p.type().dtype == DType::f32) values.push_back(p.read().to_vector<float>());
    return values;
  }
};

TEST(Threads, TwoTrainersTrainWhatEachTrainsAlone) {
  for (const Mode mode : modes()) {
    const FitOptions options{.epochs = 8, .batch_size = 10, .validation = blobs(), .verbose = false};
    const auto one = Training(mode, 1).fit(options), two = Training(mode, 2).fit(options);
    Training a(mode, 1), b(mode, 2);
    auto other = std::async(std::launch::async, [&] { return b.fit(options); });
    EXPECT_EQ(a.fit(options), one);
    EXPECT_EQ(other.get(), two);
  }
}

/// The original compiles new shapes, drops old ones and goes from one to another while clones of it are made and run.
TEST(Threads, AStepIsClonedWhileItRuns) {
  for (const Mode mode : modes()) {
    const Parameter w("w", random({20}, 4)), b("b", random({20}, 5));
    auto predict = compile([&](const Tensor& x) { return tanh(x * w + b); }, {.mode = mode});
    const Tensor x = random({5, 20}, 1), more = random({2, 3, 20}, 2);
    const auto wanted = predict(x).to_vector<float>(), wanted_more = predict(more).to_vector<float>();
    auto cloning = std::async(std::launch::async, [&] {
      bool same = true;
      for (int i = 0; i < 100; ++i) {
        auto clone = predict.clone();
        same = same && clone(x).to_vector<float>() == wanted && clone(more).to_vector<float>() == wanted_more;
      }
      return same;
    });
    bool same = true;
    for (std::int64_t i = 0; cloning.wait_for(std::chrono::seconds(0)) != std::future_status::ready; ++i) {
      same = same && predict(x).to_vector<float>() == wanted && predict(more).to_vector<float>() == wanted_more;
      if (i < 9) predict(random({2, 1 + i, 1, 20}, 3));
    }
    EXPECT_TRUE(same);
    EXPECT_TRUE(cloning.get());
  }
}

void (*sigint_handler())(int) {
  struct sigaction now{};
  sigaction(SIGINT, nullptr, &now);
  return now.sa_handler;
}

/// Two fits with stop_on_interrupt: whichever ends first, the other still stops at an interrupt, and then the handler is the program's again.
TEST(Threads, AnInterruptStopsAFitAfterAnotherHasEnded) {
  class Wait : public Callback {
   public:
    std::function<void()> at_step_2 = [] {};
    std::int64_t steps = 0;
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      steps = step;
      if (step == 2) at_step_2();
    }
  };
  const auto before = sigint_handler();
  for (const bool first_ends_first : {true, false}) {
    const FitOptions plain{.epochs = 1, .batch_size = 8, .verbose = false, .stop_on_interrupt = true};
    std::promise<void> first_runs, other_ended;
    auto first = std::make_shared<Wait>(), second = std::make_shared<Wait>();
    FitOptions first_options = plain, second_options = plain;
    first_options.callbacks = {first}, second_options.callbacks = {second};
    Training a(Mode::eager, 1), b(Mode::eager, 2);
    first->at_step_2 = [&] {
      first_runs.set_value();
      if (first_ends_first) return;
      other_ended.get_future().wait();
      std::raise(SIGINT);
    };
    second->at_step_2 = [&] {
      if (!first_ends_first) return;
      other_ended.get_future().wait();
      std::raise(SIGINT);
    };
    auto running = std::async(std::launch::async, [&] {
      a.fit(first_options);
      if (first_ends_first) other_ended.set_value();
    });
    first_runs.get_future().wait();
    b.fit(second_options);
    if (!first_ends_first) other_ended.set_value();
    running.wait();
    EXPECT_EQ(first->steps, first_ends_first ? 12 : 2);
    EXPECT_EQ(second->steps, first_ends_first ? 2 : 12);
    EXPECT_EQ(sigint_handler(), before);
  }
}

TEST(Threads, AnInterruptStopsAllFitsThatRun) {
  class Meet : public Callback {
   public:
    explicit Meet(std::function<void()> f) : f_(std::move(f)) {}
    std::int64_t steps = 0;
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      steps = step;
      if (step == 1) f_();
    }

   private:
    std::function<void()> f_;
  };
  std::promise<void> first_runs, raised;
  const auto first = std::make_shared<Meet>([&] { first_runs.set_value(), raised.get_future().wait(); });
  const auto second = std::make_shared<Meet>([&] { std::raise(SIGINT), raised.set_value(); });
  const auto options = [](const std::shared_ptr<Callback>& callback) {
    return FitOptions{.epochs = 1, .batch_size = 8, .verbose = false, .callbacks = {callback}, .stop_on_interrupt = true};
  };
  Training a(Mode::eager, 1), b(Mode::eager, 2);
  auto running = std::async(std::launch::async, [&] { a.fit(options(first)); });
  first_runs.get_future().wait();
  b.fit(options(second));
  running.wait();
  EXPECT_EQ(first->steps, 1);
  EXPECT_EQ(second->steps, 1);
}

/// A child has none of its parent's threads, but its memory, among it what was compiled.
TEST(Threads, AForkedChildCompilesAndComputesTheSame) {
  NEEDS_CODEGEN();
  const Parameter w("w", random({20}, 4)), b("b", random({20}, 5));
  const Tensor x = random({300, 20}, 1), more = random({2, 3, 20}, 2);
  const auto f = [&](const Tensor& t) { return tanh(t * w + b); };
  auto predict = compile(f, {.threads = 2, .force = true});
  const auto wanted = predict(x).to_vector<float>();
  auto other = compile(f);
  const auto wanted_more = other(more).to_vector<float>();
  Training trained(Mode::graph, 1);
  const auto values = trained.fit({.epochs = 2, .batch_size = 8, .verbose = false});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    auto clone = predict.clone();
    wrong |= predict(x).to_vector<float>() == wanted ? 0 : 1;
    wrong |= predict(more).to_vector<float>() == wanted_more ? 0 : 2;  // compiled here
    publish({w, b});
    wrong |= clone(x).to_vector<float>() == wanted ? 0 : 4;
    wrong |= Training(Mode::graph, 1).fit({.epochs = 2, .batch_size = 8, .verbose = false}) == values ? 0 : 8;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(predict(x).to_vector<float>(), wanted);
}

}  // namespace
}  // namespace sinter::test::threads_test
