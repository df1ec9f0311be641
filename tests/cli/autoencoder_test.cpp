// sinter train --target self, and what evaluate, predict, inspect and streams make of such a model.
#include <sinter/sinter.h>

#include "tests/cli/cli.h"

namespace sinter::test::autoencoder_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The numbers of the first column of a table, without its name.
std::vector<double> numbers_of(const std::string& table) {
  std::istringstream lines(table.substr(table.find('\n') + 1));
  std::vector<double> numbers;
  for (std::string line; std::getline(lines, line);) numbers.push_back(std::stod(line));
  return numbers;
}

class Autoencoder : public Cli {
 protected:
  Autoencoder() {
    // Two numbers that depend on a third; of kind 1 they do not.
    std::string text = "a,b,c,kind\n";
    for (int i = 0; i < 200; ++i) {
      const double t = (i * 37 % 100) / 50.0 - 1;
      const bool is_odd = i % 20 == 7;
      text += str(t, ",", (is_odd ? -2 : 2) * t + 1, ",", 3 - t, ",", is_odd ? 1 : 0, "\n");
    }
    write_bytes(file("rows.csv"), text);
  }
  Arguments learning(const std::string& data, const Arguments& more = {}) const {
    return Arguments{"train", "--data",          data,   "--target", "self", "--hidden",          "8,1,8", "--epochs",
                     "150",   "--learning-rate", "0.02", "--quiet",  "-o",   file("model.sinter")} +
           more;
  }
  Finished predict(const Arguments& more) const { return sinter_with(Arguments{"predict", file("model.sinter")} + more); }
  Finished evaluate(const std::string& data) const { return sinter_with({"evaluate", file("model.sinter"), "--data", data}); }
  /// The answers to lines of standard input.
  Finished streamed(const std::string& format, const std::string& lines) const {
    write_bytes(file("lines"), lines);
    return run("/bin/sh", {"-c", std::string("exec ") + SINTER_CLI_PROGRAM + " predict " + file("model.sinter") + " --stream " + format + " < " +
                                     file("lines")});
  }
  const Arguments normal{"--ignore", "kind", "--train-on", "kind == 0"};
};

const char* const errors_of_200 =
    "^200 samples\nmean_squared_error [0-9.e-]+\nmedian [0-9.e-]+\npercentile_90 [0-9.e-]+\npercentile_99 [0-9.e-]+\ngreatest [0-9.e-]+\n$";

TEST_F(Autoencoder, OfATableTellsRowsThatAreUnlikeThoseItLearntFrom) {
  EXPECT_THAT(sinter_with(learning(file("rows.csv"), normal + Arguments{"--report", file("page.html")})),
              Prints(ContainsRegex("^validation: mean squared error [0-9.e-]+\nsaved ")));
  EXPECT_THAT(read_bytes(file("page.html")), HasSubstr("The model reproduces its features."));
  const Finished predicted = predict({"--data", file("rows.csv")});
  EXPECT_THAT(predicted, Prints(StartsWith("error\n")));
  const std::vector<double> errors = numbers_of(predicted.out);
  ASSERT_EQ(errors.size(), 200u);
  double normal_mean = 0, odd_mean = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) (i % 20 == 7 ? odd_mean : normal_mean) += errors[i];
  EXPECT_GT(odd_mean / 10, 10 * normal_mean / 190);
  EXPECT_THAT(evaluate(file("rows.csv")), Prints(ContainsRegex(errors_of_200)));
  EXPECT_THAT(sinter_with({"inspect", file("model.sinter")}),
              Prints(AllOf(HasSubstr("features: a b c\nrows to train on: kind == 0\nreproduces its samples\n"), Not(HasSubstr("predicts:")))));
}

TEST_F(Autoencoder, PrintsTheMeanOfTheSquaredDifferencesOfEachRow) {
  ASSERT_EQ(sinter_with(learning(file("rows.csv"), normal + Arguments{"--epochs", "1"})).status, 0);
  Trainer trainer = Trainer::load(file("model.sinter"));
  const Tensor x = data::Encoder::from_json(trainer.metadata("encoder")).features(data::read_csv(file("rows.csv")));
  const std::vector<float> expected = mean(square(trainer.predict(x) - x), {1}).to_vector<float>();
  const std::vector<double> errors = numbers_of(predict({"--data", file("rows.csv")}).out);
  ASSERT_EQ(errors.size(), expected.size());
  for (std::size_t i = 0; i < errors.size(); ++i) EXPECT_NEAR(errors[i], static_cast<double>(expected[i]), 1e-6) << i;
}

TEST_F(Autoencoder, AnswersAStreamWithErrors) {
  ASSERT_EQ(sinter_with(learning(file("rows.csv"), normal)).status, 0);
  const std::vector<double> errors = numbers_of(predict({"--data", file("rows.csv")}).out);
  const std::vector<double> streamed_errors = numbers_of(streamed("csv", read_bytes(file("rows.csv"))).out);
  ASSERT_EQ(streamed_errors.size(), errors.size());
  for (std::size_t i = 0; i < errors.size(); ++i) EXPECT_NEAR(streamed_errors[i], errors[i], 1e-6 * (1 + errors[i])) << i;
  EXPECT_THAT(streamed("json", "{\"a\": 1, \"b\": 3, \"c\": 2}\n").out, ContainsRegex("^\\{\"prediction\":[0-9.e-]+\\}\n$"));
}

TEST_F(Autoencoder, OfArraysAndOfImages) {
  EXPECT_THAT(sinter_with(learning(fixture("x.npy"))), Prints(HasSubstr("mean squared error ")));
  EXPECT_THAT(predict({"--data", fixture("x.npy")}), Prints(StartsWith("error\n")));
  EXPECT_THAT(evaluate(fixture("x.npy")), Prints(HasSubstr("\nmean_squared_error ")));
  EXPECT_THAT(sinter_with({"inspect", file("model.sinter")}), Prints(HasSubstr("reproduces its samples\n")));
  EXPECT_THAT(predict({"--data", fixture("x.npy"), "--labels", fixture("labels.npy")}),
              Fails(failure, HasSubstr("[--labels] is for models that predict, but " + file("model.sinter") + " reproduces its samples")));

  EXPECT_THAT(sinter_with(learning(photos(), {"--channels", "1", "--layers", "conv 4 2 relu; flatten; dense 16", "--validation-split", "0"})),
              Prints(ContainsRegex("^training: mean squared error 0\\.0")));  // of numbers in [0, 1]
  EXPECT_THAT(predict({fixture("grey.png")}), Prints(ContainsRegex("^error\n(0\\.0|[0-9.]+e-)")));
}

TEST_F(Autoencoder, RefusesWhatDoesNotFit) {
  EXPECT_THAT(sinter_with(learning(file("rows.csv"), {"--text", "a"})), Fails(failure, HasSubstr("[--text] is for a target that texts tell, but")));
  EXPECT_THAT(sinter_with(learning(fixture("x.npy"), {"--labels", fixture("labels.npy")})),
              Fails(failure, HasSubstr("[--labels] is for targets, but with --target self the samples are the targets")));
  EXPECT_THAT(sinter_with(learning(file("rows.csv"), {"--split", "stratified"})),
              Fails(failure, HasSubstr("[--split] stratified is for classes, but the targets are numbers")));
  ASSERT_EQ(sinter_with(learning(fixture("x.npy"), {"--epochs", "1"})).status, 0);
  Trainer other(nn::Sequential{nn::Dense(4, 2)}, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)other.evaluate({Tensor::zeros({DType::f32, {2, 4}}), Tensor::zeros({DType::f32, {2, 2}})});
  other.set_metadata("task", "self");
  other.save(file("model.sinter"));
  EXPECT_THAT(streamed("raw", ""), Fails(failure, HasSubstr("reproduces its samples, by the entry 'task', but makes f32[N,2] of f32[N,4]")));
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }\n";
  write_bytes(file("four.npy"), std::string("\x93NUMPY\1\0", 8) + static_cast<char>(head.size()) + '\0' + head + std::string(16, '\0'));
  EXPECT_THAT(predict({"--data", file("four.npy")}),
              Fails(failure, HasSubstr("says that it reproduces its samples, but makes f32[1,2] of f32[1,4]")));
}

TEST_F(Autoencoder, AColumnNamedSelfComesFirstUnlessItIsIgnored) {
  std::string text = "a,self\n";
  for (int i = 0; i < 20; ++i) text += str(i, ",", 2 * i, "\n");
  write_bytes(file("self.csv"), text);
  const Finished column = sinter_with(learning(file("self.csv")));
  EXPECT_THAT(column.out, HasSubstr("validation: R² "));
  EXPECT_EQ(column.err, "warning: the target is the column 'self' of " + file("self.csv") +
                            "; for a model that reproduces the other columns, give --ignore self too\n");
  EXPECT_THAT(sinter_with(learning(file("self.csv"), {"--ignore", "self"})), Prints(HasSubstr("mean squared error ")));
}

}  // namespace
}  // namespace sinter::test::autoencoder_test
