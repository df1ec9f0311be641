// seed(): streams of initial values in threads.
#include <atomic>
#include <future>
#include <thread>

#include "tests/frontend/helpers.h"

namespace sinter::test::seed_test {
namespace {

using ::testing::HasSubstr;

std::vector<float> values() { return nn::Dense(3, 5).weight.read().to_vector<float>(); }

std::vector<float> values_of(std::uint64_t number) {
  seed(number);
  return values();
}

template <class F>
auto in_a_thread(F f) {
  return std::async(std::launch::async, std::move(f)).get();
}

TEST(Seed, OfAThreadIsItsOwn) {
  const auto one = values_of(1), two = values_of(2);
  EXPECT_NE(one, two);
  EXPECT_EQ(in_a_thread([] { return values_of(1); }), one);
  seed(1);
  EXPECT_EQ(in_a_thread([] { return values_of(2); }), two);
  EXPECT_EQ(values(), one) << "what other threads do changes nothing";
}

TEST(Seed, OfAnotherThreadServesOneThatHasNone) {
  const auto one = values_of(1);
  seed(1);
  EXPECT_EQ(in_a_thread(values), one);
}

TEST(Seed, ThatTwoThreadsWouldShareIsRefused) {
  seed(77);
  (void)values();
  const char* wanted =
      "[init] two threads make random numbers from one seed(77), and their order would decide which; call seed with a number of its own in each "
      "thread that makes layers";
  EXPECT_EQ(in_a_thread([] { return error_of(values); }), wanted);
  EXPECT_EQ(in_a_thread([] { return error_of([] { nn::Dropout(0.5); }); }), wanted);
  EXPECT_EQ(in_a_thread([] { return error_of([] { (void)values_of(3); }); }), "") << "as it says";
  EXPECT_EQ(error_of(values), "");
}

/// As the guide shows it: the same bytes as one after the other.
TEST(Seed, TrainingsInThreadsAreThoseOneAfterTheOther) {
  constexpr std::uint64_t count = 6;
  const Dataset data{random({40, 6}, 1), random_labels(40, 3, 2)};
  for (const Mode mode : modes()) {
    const auto trained = [&](std::uint64_t number) {
      seed(number);
      nn::Sequential model{nn::Dense(6, 8, Activation::relu), nn::Dropout(0.25), nn::Dense(8, 3)};
      Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode, .threads = 1});
      trainer.fit(data, {.epochs = 3, .batch_size = 7, .seed = number, .verbose = false});
      return trainer.predict(data.x).to_vector<float>();
    };
    std::vector<std::vector<float>> one_by_one(count), side_by_side(count);
    for (std::uint64_t i = 0; i < count; ++i) one_by_one[i] = trained(i);
    std::atomic<std::uint64_t> next{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (std::uint64_t i; (i = next++) < count;) side_by_side[i] = trained(i);
      });
    threads.clear();
    EXPECT_EQ(side_by_side, one_by_one);
  }
}

}  // namespace
}  // namespace sinter::test::seed_test
