// A step that throws leaves every state as it was, and eager steps keep the rules of compiled ones.
#include "frontend/compile/index_guard.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::undone_step_test {
namespace {

using ::testing::HasSubstr;

Tensor labels(std::vector<std::int32_t> numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return {numbers, {count}};
}

std::vector<std::vector<float>> values_of(const std::vector<Parameter>& parameters) {
  std::vector<std::vector<float>> values;
  for (const Parameter& p : parameters) values.push_back(cast(p.read(), DType::f32).to_vector<float>());
  return values;
}

TEST(UndoneStep, ABadLabelLeavesAllStatesOfATrainer) {
  for (const Mode mode : modes()) {
    seed(3);
    nn::Sequential model{nn::Dense(4, 8), nn::BatchNorm(8), nn::Dense(8, 3)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode});
    const Tensor x = random({6, 4}, 1);
    trainer.train_on_batch(x, labels({0, 1, 2, 0, 1, 2}));
    const auto before = values_of(trainer.parameters());
    EXPECT_THAT(error_of([&] { trainer.train_on_batch(x, labels({0, 1, 2, 0, 1, 3})); }), HasSubstr("outside [0, 3)"));
    EXPECT_EQ(values_of(trainer.parameters()), before);
    trainer.train_on_batch(x, labels({0, 1, 2, 0, 1, 2}));
    EXPECT_NE(values_of(trainer.parameters()), before);
  }
}

/// An index that the step computes from a state is known only while it runs.
TEST(UndoneStep, AnIndexFromAStateLeavesAllStates) {
  for (const Mode mode : modes()) {
    const Parameter next("next", Tensor(std::vector<std::int32_t>{0, 0}, {2}), false), sum_so_far("sum", Tensor(0.0f), false);
    auto step = compile(
        [&](const Tensor& table) {
          sum_so_far.assign(sum_so_far + 1);
          const Tensor total = sum(gather_rows(table, next));
          next.assign(next + 2);
          return total;
        },
        {.mode = mode, .kinds = {InputKind::fixed}});
    const Tensor table = random({3, 2}, 1);
    step(table);
    step(table);
    EXPECT_EQ(sum_so_far.read().item(), 2);
    EXPECT_THAT(error_of([&] { step(table); }), HasSubstr("outside [0, 3)"));
    EXPECT_EQ(sum_so_far.read().item(), 2);
    EXPECT_EQ(next.read().to_vector<std::int32_t>()[0], 4);
  }
}

/// Wherever the index comes from: a part of an input, rows of a table, another element type, running numbers.
TEST(UndoneStep, AnyIndexOutOfRangeLeavesAllStates) {
  const Parameter count("count", Tensor(0.0f), false), table("table", random({3, 2}, 1), false);
  const Tensor good({0, 1, 2, 0}, {2, 2}), bad({0, 1, 2, 3}, {2, 2});
  using Function = Tensor (*)(const Tensor& x, const Parameter& table);
  const std::vector<Function> functions{
      [](const Tensor& x, const Parameter& t) { return sum(gather_rows(t, x)); },
      [](const Tensor& x, const Parameter& t) { return sum(gather_rows(t, slice(x, 1, 1, 2))); },
      [](const Tensor& x, const Parameter& t) { return sum(gather_rows(t, gather_rows(x, Tensor(std::vector<std::int32_t>{0, 1}, {2})))); },
      [](const Tensor& x, const Parameter& t) { return sum(gather_rows(t, cast(reshape(x, {4}), DType::u32))); },
      [](const Tensor& x, const Parameter&) { return sum(one_hot(x + 0, 3)); },
  };
  for (const Mode mode : modes())
    for (std::size_t i = 0; i < functions.size(); ++i) {
      auto step = compile(
          [&, i](const Tensor& x) {
            count.assign(count + 1);
            return functions[i](x, table);
          },
          {.mode = mode, .kinds = {InputKind::fixed}});
      count.assign(Tensor(0.0f));
      step(cast(good, DType::i32));
      EXPECT_THAT(error_of([&] { step(cast(bad, DType::i32)); }), HasSubstr("outside [0, 3)")) << i;
      EXPECT_EQ(count.read().item(), 1) << i;
    }
}

/// Columns of words, each of another table: they are checked before the step, which needs no copy of what it assigns.
TEST(UndoneStep, ColumnsOfAnInputAreCheckedBefore) {
  NEEDS_CODEGEN();
  const Parameter first("first", random({5, 2}, 1)), second("second", random({70, 2}, 2));
  auto step = compile([&](const Tensor& words) {
    const Tensor loss =
        sum(gather_rows(first, reshape(slice(words, 1, 0, 1), {Dim::batch()}))) + sum(gather_rows(second, cast(slice(words, 1, 1, 3), DType::u32)));
    optim::SGD(optim::SGDOptions{.learning_rate = 0.5}).update({first, second}, grad(loss, {first, second}));
    return loss;
  });
  const auto words = [](std::int32_t a, std::int32_t b, std::int32_t c) {
    return Tensor(std::vector<std::int32_t>{4, 69, 68, 900, 0, 60, 60, 900, a, b, c, -1}, {3, 4});
  };
  step(words(3, 5, 6));
  EXPECT_TRUE(IndexGuard(step.graph()).is_complete());
  const auto before = values_of({first, second});
  EXPECT_THAT(error_of([&] { step(words(5, 5, 6)); }), HasSubstr("gather_rows: index 5 is outside [0, 5), at [2, 0] of input 'x0'"));
  EXPECT_THAT(error_of([&] { step(words(3, -2, 6)); }), HasSubstr("gather_rows: index -2 is outside [0, 70), at [2, 1] of input 'x0'"));
  EXPECT_THAT(error_of([&] { step(words(3, 5, 70)); }), HasSubstr("gather_rows: index 70 is outside [0, 70), at [2, 2] of input 'x0'"));
  EXPECT_THAT(error_of([&] { step.run(words(3, 5, 70), {.steps = 3, .batch = 1}); }), HasSubstr("index 70 is outside [0, 70), at [2, 2]"));
  EXPECT_EQ(values_of({first, second}), before);
}

TEST(UndoneStep, RunningNumbersAreChecked) {
  const Parameter count("count", Tensor(0.0f), false), places("places", random({4, 2}, 1), false);
  for (const Mode mode : modes()) {
    count.assign(Tensor(0.0f));
    auto step = compile(
        [&](const Tensor& x) {
          count.assign(count + 1);
          return sum(gather_rows(places, iota({x.dim(1)}))) + sum(x);
        },
        {.mode = mode});
    step(random({2, 4}, 1));
    EXPECT_THAT(error_of([&] { step(random({2, 5}, 1)); }), HasSubstr("index 4 is outside [0, 4), at [4] of the indices"));
    EXPECT_EQ(count.read().item(), 1);
  }
}

TEST(UndoneStep, OfManyLeavesAllStates) {
  for (const Mode mode : modes()) {
    const Parameter count("count", Tensor(0.0f), false);
    auto step = compile(
        [&](const Tensor& y) {
          count.assign(count + 1);
          return sum(one_hot(y, 3));
        },
        {.mode = mode});
    EXPECT_THAT(error_of([&] { step.run(labels({0, 1, 2, 0, 1, 7}), {.steps = 3, .batch = 2}); }), HasSubstr("outside [0, 3)"));
    EXPECT_EQ(count.read().item(), 0);
  }
}

/// Of indices that only the step computes; of many steps, the place is that in the step's samples.
TEST(UndoneStep, NamesTheIndexAndItsPlaceInBothModes) {
  for (const Mode mode : modes()) {
    const Parameter count("count", Tensor(0.0f), false);
    auto step = compile(
        [&](const Tensor& x) {
          count.assign(count + 1);
          return sum(one_hot(cast(x, DType::i32), 5));
        },
        {.mode = mode});
    const Tensor x({0, 1, 2, 3, 4, 4, 4, 9}, {4, 2});
    const std::string wanted = "one_hot: index 9 is outside [0, 5), at ";
    EXPECT_THAT(error_of([&] { step(x); }), HasSubstr(wanted + "[3, 1] of the indices"));
    EXPECT_THAT(error_of([&] { step.run(x, {.steps = 3, .batch = 2}); }), HasSubstr(wanted + "[1, 1] of the indices"));
    EXPECT_THAT(error_of([&] { step(x); }), HasSubstr("undone_step_test.cpp:"));
    EXPECT_EQ(count.read().item(), 0);
  }
}

TEST(UndoneStep, WhatTheFunctionThrowsIsUndoneToo) {
  const Parameter count("count", Tensor(0.0f), false);
  auto step = compile(
      [&](const Tensor& x) -> Tensor {
        count.assign(count + 1);
        if (count.read().item() > 0) throw std::runtime_error("no");
        return x;
      },
      {.mode = Mode::eager});
  EXPECT_THROW(step(random({2, 2}, 1)), std::runtime_error);
  EXPECT_EQ(count.read().item(), 0);
}

// ---- rules ----

/// What a compiled step refuses, an eager one refuses with the same words.
TEST(EagerRules, AreThoseOfCompiledSteps) {
  NEEDS_CODEGEN();
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  const std::vector<Function> mistakes{
      [](const Tensor& p, const Tensor& y) { return mean(square(p - y)); },    // [N, 1] - [N] is [N, N]
      [](const Tensor& p, const Tensor&) { return sum(transpose(p)); },        // N last
      [](const Tensor& p, const Tensor&) { return sum(slice(p, 0, 0, 1)); },   // of the batch
      [](const Tensor& p, const Tensor&) { return sum(reshape(p, {4, 1})); },  // of one batch size
      [](const Tensor& p, const Tensor&) { return sum(concat({p, p}, 0)); },   // 2N samples
  };
  std::size_t refused = 0;
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    const auto error = [&](Mode mode) {
      auto step = compile(mistakes[i], {.name = "rules", .mode = mode});
      return error_of([&] { step(random({4, 1}, 1), random({4}, 2)); });
    };
    EXPECT_EQ(error(Mode::eager), error(Mode::graph)) << i;
    refused += !error(Mode::graph).empty();
  }
  EXPECT_GE(refused, 3u);
}

TEST(EagerRules, HoldForALossOfOnesOwn) {
  std::vector<std::string> errors;
  for (const Mode mode : modes()) {
    nn::Sequential model{nn::Dense(2, 1)};
    Trainer trainer(model, [](const Tensor& p, const Tensor& y) { return square(p - y); }, optim::SGD(), {.mode = mode});
    errors.push_back(error_of([&] { trainer.train_on_batch(random({4, 2}, 1), random({4}, 2)); }));
    EXPECT_NE(errors.back(), "");
  }
  EXPECT_EQ(errors.front(), errors.back());
}

TEST(EagerRules, LetAFunctionLookAtItsValues) {
  int calls = 0;
  auto step = compile([&](const Tensor& x) { return ++calls, sum(x).item() > 0 ? x : -x; }, {.mode = Mode::eager});
  EXPECT_EQ(step(Tensor({-1, -2}, {2})).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_GE(calls, 1);
}

}  // namespace
}  // namespace sinter::test::undone_step_test
