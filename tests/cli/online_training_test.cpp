// What a served model learns from labelled records.
#include "cli/online_training.h"

#include "tests/cli/cli.h"

namespace sinter::test::online_training_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OnlineTraining : public Cli {
 protected:
  /// A model of a table whose loss takes targets as `y`.
  void save(const data::Table& table, const data::EncoderOptions& options, const Losses& losses, const Tensor& y, std::int64_t outputs) const {
    const data::Encoder encoder = data::Encoder::fit(table, options);
    seed(1);
    nn::Sequential network{nn::Dense(encoder.width(), outputs)};
    Trainer trainer(network, losses, optim::SGD({.learning_rate = 0.5}), {.mode = Mode::eager});
    (void)trainer.evaluate({encoder.features(table), y});
    trainer.set_metadata("encoder", encoder.to_json());
    trainer.save(path);
  }
  /// Lets it learn from these records in one step; the steps.
  std::int64_t learn(const std::vector<std::string>& records, const cli::OnlineTrainingSettings& settings = {}) const {
    serve::Scorer scorer(path);
    cli::ModelFolder models(learnt);
    cli::OnlineTraining training(path, scorer, models, settings);
    for (const std::string& record : records) training.add(record);
    training.publish();
    EXPECT_EQ(scorer.generation(), training.steps() ? 2 : 1);
    return training.labelled();
  }
  /// The answer of the newest model to a record.
  std::string answer(const std::string& record) const {
    const serve::Scorer scorer(newest_checkpoint(learnt).value_or(path));
    serve::RecordScorer records(scorer);
    records.add(record);
    return std::string(records.flush().front().text);
  }

  const std::string path = file("model.sinter"), learnt = file("learnt");
  const data::Table kinds{{"amount", "kind"}, {{"1", "2", "3", "4"}, {"small", "small", "great", "great"}}};
};

const std::string first = R"({"amount":1,"kind":"small"})", last = R"({"amount":4,"kind":"great"})";

TEST_F(OnlineTraining, TakesClassesAsNumbersAsOneHotAndAsShares) {
  const Tensor numbers = Tensor(std::vector<std::int32_t>{1, 1, 0, 0}, {4}), one_hot({0, 1, 0, 1, 1, 0, 1, 0}, {4, 2}), shares({1, 1, 0, 0}, {4, 1});
  const data::EncoderOptions options{.target = "kind"};
  const auto expect_learnt = [&] {
    std::vector<std::string> records;
    for (int i = 0; i < 80; ++i) records.push_back(i % 2 ? first : last);
    EXPECT_EQ(learn(records, {.batch_size = 4}), 80);
    EXPECT_THAT(answer(first), HasSubstr("\"prediction\":\"small\""));
    EXPECT_THAT(answer(last), HasSubstr("\"prediction\":\"great\""));
    std::filesystem::remove_all(learnt);
  };
  save(kinds, options, loss::sparse_categorical_crossentropy_from_logits, numbers, 2);
  expect_learnt();
  save(kinds, options, loss::categorical_crossentropy_from_logits, one_hot, 2);
  expect_learnt();
  save(kinds, options, loss::binary_crossentropy_from_logits, shares, 1);
  expect_learnt();
}

TEST_F(OnlineTraining, TakesNumbersInTheUnitOfTheTarget) {
  const data::Table prices{{"area", "price"}, {{"1", "2", "3"}, {"100", "200", "300"}}};
  save(prices, {.target = "price"}, loss::mean_squared_error, Tensor({-1, 0, 1}, {3, 1}), 1);
  std::vector<std::string> records;
  for (int i = 0; i < 60; ++i) records.push_back(str("[", 1 + i % 3, ",", 100 * (1 + i % 3), "]"));
  EXPECT_EQ(learn(records, {.format = {.columns = {"area", "price"}}, .batch_size = 3, .learning_rate = 0.2}), 60);
  const std::string text = answer("{\"area\":2}");
  EXPECT_NEAR(std::stod(text.substr(text.find(':') + 1)), 200, 10) << text;
}

TEST_F(OnlineTraining, LeavesOutWhatIsNotToBeLearntFrom) {
  const data::Table table{{"amount", "status", "kind"},
                          {{"1", "2", "3", "4"}, {"done", "done", "done", "open"}, {"small", "small", "great", "great"}}};
  save(table, {.target = "kind", .ignore = {"status"}, .keep = {"status == done"}, .train_on = {"amount < 100"}},
       loss::sparse_categorical_crossentropy_from_logits, Tensor(std::vector<std::int32_t>{1, 1, 0}, {3}), 2);
  EXPECT_EQ(learn({R"({"amount":1,"status":"done","kind":"small"})", R"({"amount":1,"status":"open","kind":"small"})",
                   R"({"amount":100,"status":"done","kind":"great"})", R"({"amount":1,"status":"done"})", R"({"amount":1,"status":"done","kind":""})",
                   R"({"amount":"much","status":"done","kind":"small"})", R"({"amount":1,"status":"done","kind":"other"})", "no JSON"}),
            1);
}

TEST_F(OnlineTraining, ForgetsWhatComesAgain) {
  save(kinds, {.target = "kind"}, loss::sparse_categorical_crossentropy_from_logits, Tensor(std::vector<std::int32_t>{1, 1, 0, 0}, {4}), 2);
  serve::Scorer scorer(path);
  cli::ModelFolder models(learnt);
  cli::OnlineTraining training(path, scorer, models, {.batch_size = 3, .publish_every = 2});
  EXPECT_EQ(training.room(), 6u);
  training.add(first);
  EXPECT_EQ(training.room(), 5u);
  training.forget();
  EXPECT_EQ(training.room(), 6u);
  training.publish();
  EXPECT_EQ(scorer.generation(), 1);
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(training.is_due());
    training.add(last);
  }
  EXPECT_TRUE(training.is_due());
  EXPECT_EQ(training.labelled(), 6);
  training.publish();
  EXPECT_EQ(models.steps(), 2);
  EXPECT_EQ(newest_checkpoint(learnt), learnt + "/checkpoint-000000000002.sinter");
}

TEST_F(OnlineTraining, RefusesTargetsThatRecordsDoNotHave) {
  const auto broadcast = [](const Tensor& y, const Tensor& prediction) { return mean(square(prediction - y)); };
  const data::Table prices{{"area", "price"}, {{"1", "2", "3"}, {"100", "200", "300"}}};
  save(prices, {.target = "price"}, broadcast, Tensor({-1, 0, 1, 1, 0, 1}, {3, 2}), 1);
  EXPECT_THAT([&] { learn({}); },
              testing::ThrowsMessage<UserError>(AllOf(HasSubstr("is trained on targets f32["), HasSubstr(",2], but records have a number each"))));
}

TEST_F(OnlineTraining, FoldersKeepTheNewestThreeModels) {
  save(kinds, {.target = "kind"}, loss::sparse_categorical_crossentropy_from_logits, Tensor(std::vector<std::int32_t>{1, 1, 0, 0}, {4}), 2);
  {
    cli::ModelFolder models(learnt);
    EXPECT_EQ(models.newest_or(path), path);
    Trainer trainer = Trainer::load(path);
    for (int i = 0; i < 5; ++i) (void)models.write(trainer, 10);
    EXPECT_THAT([&] { cli::ModelFolder second(learnt); },
                testing::ThrowsMessage<UserError>(HasSubstr("another program writes models to " + learnt + "; give each its own folder")));
  }
  cli::ModelFolder models(learnt);
  EXPECT_EQ(models.newest_or(path), learnt + "/checkpoint-000000000050.sinter");
  EXPECT_EQ(models.steps(), 50);
  EXPECT_FALSE(std::filesystem::exists(learnt + "/checkpoint-000000000020.sinter"));
  EXPECT_TRUE(std::filesystem::exists(learnt + "/checkpoint-000000000030.sinter"));
  EXPECT_THAT([&] { cli::ModelFolder other(path + "/in_a_file"); }, testing::ThrowsMessage<UserError>(HasSubstr("cannot be used: Not a directory")));
}

}  // namespace
}  // namespace sinter::test::online_training_test
