// Models that a program saved, in the command line.
#include <sinter/sinter.h>

#include <algorithm>

#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace sinter::test::program_model_test {
namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;

class ProgramModels : public Cli {};

/// One output tells two classes apart, and what ends in sigmoid or softmax gives probabilities.
TEST_F(ProgramModels, OfClassesArePredictedWith) {
  std::string text = "x,y\n";
  for (int i = 0; i < 24; ++i) text += str(i, i < 12 ? ",low\n" : ",high\n");
  const std::string path = file("levels.csv");
  write_bytes(path, text);
  const data::Table rows = data::read_csv(path);
  const data::Encoder encoder = data::Encoder::fit(rows, {.target = "y"});
  const Tensor x = encoder.features(rows), classes = encoder.target(rows);
  const Tensor high = reshape(cast(equal(classes, encoder.classes()[0] == "high" ? 0 : 1), DType::f32), {24, 1});
  const Tensor second = encoder.classes()[1] == "high" ? high : 1 - high;
  const auto save = [&](nn::Sequential model, const Loss& loss, const Tensor& y) {
    Trainer trainer(model, loss, optim::Adam({.learning_rate = 0.1}), {.mode = Mode::eager});
    trainer.fit({x, y}, {.epochs = 60, .verbose = false});
    trainer.set_metadata("encoder", encoder.to_json());
    trainer.save(file("model.sinter"));
  };
  const Arguments predict{"predict", file("model.sinter"), "--data", path, "-o", file("out.csv")};
  const auto expect_right = [&](const char* what) {
    EXPECT_THAT(sinter_with(predict), AllOf(Field(&Finished::status, 0), Field(&Finished::err, HasSubstr("accuracy 1")))) << what;
    const data::Table out = data::read_csv(file("out.csv"));
    ASSERT_EQ(out.rows(), 24u);
    for (const std::size_t r : {std::size_t{0}, std::size_t{23}}) {
      EXPECT_EQ(out.fields(0)[r], r ? "high" : "low") << what;
      const double first = std::stod(std::string(out.fields(1)[r])), other = std::stod(std::string(out.fields(2)[r]));
      EXPECT_NEAR(first + other, 1, 1e-6) << what;
      EXPECT_GT(std::max(first, other), 0.95) << what << ": softmax of probabilities is at most 0.73";
    }
  };
  save(nn::Sequential{nn::Dense(1, 1)}, loss::binary_crossentropy_from_logits, second);
  expect_right("a logit");
  save(nn::Sequential{nn::Dense(1, 1, Activation::sigmoid)}, loss::binary_crossentropy, second);
  expect_right("a probability");
  save(nn::Sequential{nn::Dense(1, 2)}, loss::categorical_crossentropy_from_logits, classes);
  expect_right("logits");
  save(nn::Sequential{nn::Dense(1, 2, Activation::softmax)}, loss::categorical_crossentropy, classes);
  expect_right("probabilities");
}

TEST_F(ProgramModels, ThatSayNothingPredictNumbers) {
  Trainer trainer(nn::Sequential{nn::Flatten(), nn::Dense(4, 2)}, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  const Tensor x({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  (void)trainer.evaluate({x, Tensor::zeros({DType::f32, {2, 2}})});
  trainer.save(file("model.sinter"));
  data::HostArray samples{DType::f32, {2, 2, 2}, std::vector<std::byte>(8 * sizeof(float))};
  x.copy_to(samples.bytes.data());
  data::write_npy(file("x.npy"), samples);
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", file("x.npy")}),
              Prints(testing::ContainsRegex("^output 1,output 2\n-?[0-9.e-]+,-?[0-9.e-]+\n-?[0-9.e-]+,-?[0-9.e-]+\n$")));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", houses}),
              Fails(failure, HasSubstr("seems to be a table, but the model was trained on arrays; give samples as .npy or IDX")));
}

TEST_F(ProgramModels, OfTextsTakeTexts) {
  const std::vector<std::string> texts{"good film", "bad film", "good", "bad"};
  const data::Vocabulary vocabulary = data::Vocabulary::fit(texts);
  Trainer trainer(nn::Sequential{nn::Embedding(vocabulary.size(), 4), nn::GlobalAveragePool(), nn::Dense(4, 1)},
                  loss::binary_crossentropy_from_logits, optim::Adam({.learning_rate = 0.1}), {.mode = Mode::eager});
  trainer.fit({vocabulary.encode_all(texts), Tensor({1, 0, 1, 0}, {4})}, {.epochs = 60, .verbose = false});
  trainer.set_vocabulary(vocabulary);
  trainer.set_metadata("task", "classes");
  trainer.save(file("model.sinter"));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--text", "Good!", "--text", "bad"}),
              Prints(testing::ContainsRegex("^prediction,p\\(0\\),p\\(1\\)\n1,.*\n0,.*\n$")));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", houses}), Fails(failure, HasSubstr("takes texts; give them with --text")));
}

TEST_F(ProgramModels, OfSeveralOutputsAreRefused) {
  struct Heads : nn::Model {
    nn::Dense a{2, 1}, b{2, 1}, c{2, 3};
    Heads() : Model("heads") { add(a), add(b), add(c); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {a(in[0]), b(in[0]), c(in[0])}; }
  };
  Trainer trainer(Heads(), {{loss::mean_squared_error}, {loss::mean_squared_error}, {loss::mean_squared_error}}, optim::SGD(), {.mode = Mode::eager});
  const auto zeros = [](std::int64_t width) { return Tensor::zeros({DType::f32, {4, width}}); };
  (void)trainer.evaluate({zeros(2), {zeros(1), zeros(1), zeros(3)}});
  trainer.set_metadata("task", "numbers");
  trainer.save(file("heads.sinter"));
  EXPECT_THAT(sinter_with({"predict", file("heads.sinter"), "--data", houses}),
              Fails(failure, HasSubstr("heads.sinter] has 3 outputs, and tables and arrays take models of one; predict in a program with "
                                       "Trainer::predict_all")));
}

TEST_F(ProgramModels, OfOneOutputTellTwoClassesOfArraysApart) {
  const Tensor x({-2, -1, 1, 2}, {4, 1}), y({0, 0, 1, 1}, {4, 1});
  Trainer trainer(nn::Sequential{nn::Dense(1, 1)}, loss::binary_crossentropy_from_logits, optim::Adam({.learning_rate = 0.1}), {.mode = Mode::eager});
  trainer.fit({x, y}, {.epochs = 60, .verbose = false});
  trainer.set_metadata("task", "classes");
  trainer.save(file("model.sinter"));
  data::HostArray samples{DType::f32, {4, 1}, std::vector<std::byte>(4 * sizeof(float))};
  x.copy_to(samples.bytes.data());
  const std::vector<std::byte> bytes = data::npy_bytes(samples, "x.npy");
  write_bytes(file("x.npy"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", file("x.npy")}),
              Prints(testing::ContainsRegex("prediction,p\\(0\\),p\\(1\\)\n0,.*\n0,.*\n1,.*\n1,")));
}

}  // namespace
}  // namespace sinter::test::program_model_test
