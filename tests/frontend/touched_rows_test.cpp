// Tables of which a step changes only the rows of its batch.
#include "frontend/nn/mask.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::touched_rows_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Make = std::function<std::shared_ptr<optim::Optimizer>()>;
template <class O, class Options>
Make maker(Options options) {
  return [options] { return std::make_shared<O>(options); };
}

/// Those that leave rows without a gradient as they are.
std::vector<std::pair<std::string, Make>> by_rows() {
  using namespace optim;
  const Common lazy{.lazy = true};
  return {{"SGD", maker<SGD>(SGDOptions{.learning_rate = 0.3})},
          {"Adagrad", maker<Adagrad>(AdagradOptions{.learning_rate = 0.3})},
          {"lazy SGD", maker<SGD>(SGDOptions{.learning_rate = 0.3, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1, .common = lazy})},
          {"lazy RMSprop", maker<RMSprop>(RMSpropOptions{.momentum = 0.5, .centered = true, .common = lazy})},
          {"lazy Adadelta", maker<Adadelta>(AdadeltaOptions{.common = lazy})},
          {"lazy Adam", maker<Adam>(AdamOptions{.amsgrad = true, .common = lazy})},
          {"lazy AdamW", maker<AdamW>(AdamWOptions{.common = lazy})},
          {"lazy NAdam", maker<NAdam>(NAdamOptions{.common = lazy})},
          {"lazy Lion", maker<Lion>(LionOptions{.common = lazy})},
          {"lazy group", maker<Adam>(AdamOptions{.common = {.groups = {{.pattern = "table", .lazy = true}}}})}};
}

std::vector<float> all_of(const Parameter& table, const optim::Optimizer& optimizer) {
  std::vector<float> all = table.read().to_vector<float>();
  for (const Parameter& state : optimizer.state())
    if (state.type() == table.type())
      for (const float value : state.read().to_vector<float>()) all.push_back(value);
  return all;
}

struct Trained {
  std::vector<float> after;  ///< the table and what the optimizer keeps of it
  std::string explained;
};

/// Some steps that pick rows of a table: `picks` indices of each of so many samples.
Trained run(const Make& make, const Shape& row, std::int64_t rows, std::vector<std::string> without, std::int64_t picks = 3, int threads = 3) {
  const Parameter table("table", random(row.insert(0, rows), 1));
  const Tensor to = random(row.insert(0, 1).insert(0, 1), 2);
  const auto optimizer = make();
  auto step = compile(
      [&](const Tensor& index) {
        const Tensor picked = gather_rows(table, index), loss = mean(square(picked * (to + 1) - to));
        optimizer->update({table}, grad(loss, {table}));
        return loss;
      },
      {.threads = threads, .force = true, .without = std::move(without)}, Spec{{DType::i32, {Dim::batch(), picks}}, InputKind::batch});
  for (const auto& [samples, stream] : {std::pair{11, 5}, {1, 6}, {40, 7}, {11, 8}})
    (void)step(reshape(random_labels(samples * picks, static_cast<std::uint32_t>(rows), static_cast<std::uint64_t>(stream)), {samples, picks}));
  return {all_of(table, *optimizer), step.explain()};
}

TEST(TouchedRows, ChangeNoByte) {
  NEEDS_CODEGEN();
  for (const auto& [name, make] : by_rows())
    for (const auto& [row, rows] : {std::pair{Shape{5}, 300}, {Shape{16}, 64}, {Shape{33}, 2000}, {Shape{2, 19}, 50}, {Shape{4}, 2}}) {
      const Trained alone = run(make, row, rows, {}), all = run(make, row, rows, {"touched_rows"});
      EXPECT_EQ(alone.after, all.after) << name << ", " << rows << " rows " << row;
      EXPECT_EQ(alone.after, run(make, row, rows, {}, 3, 1).after) << name << ", on one thread";
      EXPECT_THAT(alone.explained, HasSubstr("rows to which it adds something")) << name;
      EXPECT_THAT(all.explained, Not(HasSubstr("rows to which it adds something")));
    }
}

/// Rows that are one number lie in the lanes of vectors: these, and what moves all rows, are computed as a whole.
TEST(TouchedRows, AreNotAllRowsOfWhatElseMoves) {
  NEEDS_CODEGEN();
  using namespace optim;
  for (const auto& [name, make] :
       std::vector<std::pair<std::string, Make>>{{"momentum", maker<SGD>(SGDOptions{.momentum = 0.9})},
                                                 {"weight decay", maker<SGD>(SGDOptions{.weight_decay = 0.1})},
                                                 {"RMSprop", maker<RMSprop>(RMSpropOptions{})},
                                                 {"Adam", maker<Adam>(AdamOptions{})},
                                                 {"a norm of all gradients", maker<SGD>(SGDOptions{.common = {.clip = {.global_norm = 0.1}}})},
                                                 {"an average", maker<SGD>(SGDOptions{.common = {.average_decay = 0.9}})}})
    EXPECT_THAT(run(make, {5}, 30, {}).explained, Not(HasSubstr("rows to which it adds something"))) << name;
  const Make sgd = maker<SGD>(SGDOptions{.learning_rate = 0.3});
  for (const Shape& row : {Shape{1}, Shape{}}) EXPECT_EQ(run(sgd, row, 300, {}).after, run(sgd, row, 300, {"touched_rows"}).after) << row;
}

/// So many updates of a row are added in chains.
TEST(TouchedRows, OfFrequentRowsKeepTheirSums) {
  NEEDS_CODEGEN();
  const Make sgd = maker<optim::SGD>(optim::SGDOptions{.learning_rate = 0.3});
  constexpr std::int64_t picks = 3000;  // 40 samples of them, of 7 rows
  const std::vector<float> alone = run(sgd, {5}, 7, {}, picks).after;
  EXPECT_EQ(alone, run(sgd, {5}, 7, {"touched_rows"}, picks).after);
  EXPECT_EQ(alone, run(sgd, {5}, 7, {}, picks, 1).after);
}

TEST(TouchedRows, AgreeWithEagerAndReference) {
  NEEDS_CODEGEN();
  for (const auto& [name, make] : by_rows()) {
    const Parameter table("table", random({70, 9}, 1));
    const auto optimizer = make();
    auto step = compile(
        [&](const Tensor& index) {
          const Tensor loss = mean(square(gather_rows(table, index) - 0.5));
          optimizer->update({table}, grad(loss, {table}));
          return loss;
        },
        {.force = true}, Spec{{DType::i32, {Dim::batch()}}, InputKind::batch});
    const Tensor index = random_labels(21, 70, 4);
    (void)step(index);
    const auto report = step.verify(index);
    EXPECT_TRUE(report.ok()) << name << "\n" << report;
  }
}

/// What another state gets is all rows, and so is what is returned.
TEST(TouchedRows, AreNotAllThatOthersGet) {
  NEEDS_CODEGEN();
  for (const bool returned : {false, true}) {
    const Parameter table("table", random({30, 5}, 1)), copy("copy", random({30, 5}, 2));
    auto step = compile(
        [&](const Tensor& index) {
          const Tensor next = table - grad(sum(gather_rows(table, index)), {table})[0];
          table.assign(next);
          if (!returned) copy.assign(next);
          return returned ? next : sum(index);
        },
        {.kinds = {InputKind::batch}});
    const Tensor result = step(Tensor(std::vector<std::int32_t>{3, 3, 7}, {3}));
    std::vector<float> wanted = random({30, 5}, 1).to_vector<float>();
    for (std::size_t column = 0; column < 5; ++column) wanted[15 + column] -= 2, wanted[35 + column] -= 1;
    EXPECT_EQ(table.read().to_vector<float>(), wanted);
    EXPECT_EQ((returned ? result : copy.read()).to_vector<float>(), wanted);
  }
}

/// Of sequences with a mask, words that do not exist have no row.
TEST(TouchedRows, OfPaddingAreNotTouched) {
  NEEDS_CODEGEN();
  // Words that do not exist are those of others, too; of few words, there are so many that they are added in chains.
  for (const auto& [words, samples] : {std::pair{100, 12}, {6, 900}})
    for (const bool lazy : {true, false}) {
      const auto trained = [&, words = words, samples = samples](std::vector<std::string> without) {
        seed(3);
        nn::Sequential model{nn::Embedding(words, 8), nn::GRU(8, 6), nn::Dense(6, 2)};
        const std::vector<Parameter> parameters = model.trainable_parameters();
        optim::Adam optimizer({.learning_rate = 0.01, .common = {.lazy = lazy}});
        auto step = compile(
            [&](const Tensor& x, const Tensor& mask, const Tensor& y) {
              const Tensor loss = loss::sparse_categorical_crossentropy_from_logits(model(nn::with_mask(x, mask)), y);
              optimizer.update(parameters, grad(loss, parameters));
              return loss;
            },
            {.force = true, .without = std::move(without)}, Spec{{DType::i32, {Dim::batch(), Dim::length()}}, InputKind::batch},
            Spec{{DType::boolean, {Dim::batch(), Dim::length()}}, InputKind::batch}, Spec{{DType::i32, {Dim::batch()}}, InputKind::batch});
        const Tensor all = reshape(random_labels(samples * 20, static_cast<std::uint32_t>(words), 9), {samples, 20});
        const Tensor length = reshape(random_labels(samples, 20, 10), {samples, 1}), place = cast(reshape(iota({20}), {1, 20}), DType::i32);
        for (int i = 0; i < 3; ++i) (void)step(all, place < length, random_labels(samples, 2, 11));
        return model.parameters()[0].read().to_vector<float>();
      };
      EXPECT_EQ(trained({}), trained({"touched_rows"})) << words << ", " << lazy;
      EXPECT_EQ(trained({}), trained({"touched_rows", "skip_padding"})) << words << ", " << lazy;
    }
}

}  // namespace
}  // namespace sinter::test::touched_rows_test
