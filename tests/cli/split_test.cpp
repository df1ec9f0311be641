// Which rows sinter train learns from and which it judges by: --split and --folds.
#include <sinter/sinter.h>

#include <regex>

#include "cli/task.h"
#include "tests/cli/cli.h"

namespace sinter::test::split_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SplitCommand : public Cli {
 protected:
  SplitCommand() {
    std::string text = "x,word,kind\n";
    for (int i = 0; i < 100; ++i) text += str(i % 10 ? i : i + 1000, ",w", i % 25, ",", i % 10 ? "usual" : "rare", "\n");
    write_bytes(file("rows.csv"), text);
  }
  Arguments learning(const Arguments& more) const {
    return Arguments{"train", "--data", file("rows.csv"), "--ignore", "word", "--hidden", "4", "--epochs", "20", "-o", file("model.sinter")} + more;
  }
  cli::TaskSettings settings(const std::string& target) const {
    cli::TaskSettings result;
    result.data = file("rows.csv");
    result.target = target;
    return result;
  }
};

TEST_F(SplitCommand, StratifiedKeepsTheShareOfEachClass) {
  cli::TaskSettings s = settings("kind");
  s.stratified = true;
  const cli::TaskData data = cli::load(s);
  for (s.seed = 0; s.seed < 5; ++s.seed) {
    const std::vector<std::size_t> rows = cli::held_out(data, s).test;
    EXPECT_EQ(rows.size(), 20u);
    EXPECT_EQ(std::ranges::count_if(rows, [](std::size_t row) { return row % 10 == 0; }), 2) << s.seed;
  }
  EXPECT_THAT(sinter_with(learning({"--target", "kind", "--split", "stratified"})),
              Prints(AllOf(HasSubstr("80 rows to train on, 20 to validate"), HasSubstr("validation: accuracy "))));
}

TEST_F(SplitCommand, FoldsLearnFromTheirOwnRowsOnly) {
  cli::TaskSettings s = settings("x");
  const cli::TaskData data = cli::load(s);
  std::vector<int> held_out(100);
  for (const data::RowSplit& rows : cli::folds(data, 4, s)) {
    double sum = 0;
    for (const std::size_t row : rows.train) sum += static_cast<double>(row % 10 ? row : row + 1000);
    const cli::Task task = data.task(rows);
    EXPECT_NEAR(task.encoder->unscaled(0), sum / 75, 1e-9);
    EXPECT_EQ(task.train.size(), 75);
    ASSERT_EQ(task.validation->size(), 25);
    for (const std::size_t row : rows.test) ++held_out[row];
  }
  EXPECT_EQ(held_out, std::vector<int>(100, 1));
  s.text = "word";
  s.target = "kind";
  const cli::TaskData texts = cli::load(s);
  data::RowSplit rows;
  for (std::size_t row = 0; row < 100; ++row) (row % 25 < 5 ? rows.train : rows.test).push_back(row);
  EXPECT_EQ(texts.task(rows).vocabulary->words().size(), 5u);
}

TEST_F(SplitCommand, FoldsOfClassesAreStratified) {
  const cli::TaskSettings s = settings("kind");
  for (const data::RowSplit& rows : cli::folds(cli::load(s), 5, s))
    EXPECT_EQ(std::ranges::count_if(rows.test, [](std::size_t row) { return row % 10 == 0; }), 2);
}

TEST_F(SplitCommand, FoldsAreJudgedBeforeTheTraining) {
  const Finished run = sinter_with(learning({"--target", "kind", "--folds", "4"}));
  EXPECT_EQ(run.status, 0) << run;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(run.out, found,
                                std::regex("^fold 1/4: accuracy ([0-9.]+) %\nfold 2/4: accuracy ([0-9.]+) %\nfold 3/4: accuracy ([0-9.]+) %\n"
                                           "fold 4/4: accuracy ([0-9.]+) %\n4 folds: accuracy ([0-9.]+) ± ([0-9.]+) %\n80 rows to train on, 20 ")))
      << run;
  double mean = 0, squares = 0;
  for (std::size_t fold = 1; fold <= 4; ++fold) mean += std::stod(found[fold]) / 4;
  for (std::size_t fold = 1; fold <= 4; ++fold) squares += std::pow(std::stod(found[fold]) - mean, 2);
  EXPECT_NEAR(std::stod(found[5]), mean, 0.01);
  EXPECT_NEAR(std::stod(found[6]), std::sqrt(squares / 3), 0.01);
  EXPECT_THAT(run.out, ContainsRegex("validation: accuracy [0-9.]+ %\nsaved "));
  // The model that is saved is that of a training without folds.
  const std::string saved = read_bytes(file("model.sinter"));
  EXPECT_THAT(sinter_with(learning({"--target", "kind", "--quiet"})), Prints(Not(HasSubstr("fold"))));
  EXPECT_EQ(read_bytes(file("model.sinter")), saved);

  EXPECT_THAT(sinter_with(learning({"--target", "x", "--folds", "3", "--quiet"})),
              Prints(ContainsRegex("^3 folds: R² [0-9.e-]+ ± [0-9.e-]+, root mean squared error [0-9.e-]+ ± [0-9.e-]+\nvalidation: ")));
  EXPECT_THAT(sinter_with(learning({"--target", "self", "--folds", "3", "--quiet"})),
              Prints(ContainsRegex("^3 folds: mean squared error [0-9.e-]+ ± [0-9.e-]+\nvalidation: ")));
}

TEST_F(SplitCommand, OfDataWithATestSet) {
  const Arguments learning{"train", "--data", digits(20), "--epochs", "2", "-o", file("model.sinter")};
  EXPECT_THAT(sinter_with(learning + Arguments{"--folds", "2"}),
              Prints(AllOf(HasSubstr("\n2 folds: accuracy "), HasSubstr("\n20 rows to train on, 10 to validate"))));
  EXPECT_THAT(sinter_with(learning + Arguments{"--target", "self", "--layers", "conv 2 3 relu; flatten; dense 4"}),
              Prints(StartsWith("20 rows to train on, 10 to validate")));
  EXPECT_THAT(sinter_with({"evaluate", file("model.sinter"), "--data", file("digits/t10k-images-idx3-ubyte")}),
              Prints(HasSubstr("10 samples\nmean_squared_error ")));
  EXPECT_THAT(sinter_with(learning + Arguments{"--split", "stratified"}),
              Fails(failure, HasSubstr("[--split] is for rows that are held out, but " + file("digits") + " has a test set")));
}

TEST_F(SplitCommand, RefusesWhatCannotBe) {
  EXPECT_THAT(sinter_with(learning({"--target", "x", "--split", "stratified"})),
              Fails(failure, HasSubstr("[--split] stratified is for classes, but the targets are numbers")));
  EXPECT_THAT(sinter_with(learning({"--target", "x", "--split", "mixed"})),
              Fails(bad_command_line, HasSubstr("[--split] must be random or stratified")));
  EXPECT_THAT(sinter_with(learning({"--target", "kind", "--folds", "11"})),
              Fails(failure, HasSubstr("[--folds] needs from 2 to 10 folds, the number of rows of the smallest class, got 11")));
  EXPECT_THAT(sinter_with(learning({"--target", "x", "--folds", "1"})),
              Fails(failure, HasSubstr("[--folds] needs from 2 to 100 folds, the number of rows, got 1")));
  write_bytes(file("rows.csv"), "x,word,kind\n1,a,b\n2,a,b\n3,a,c\n4,a,b\n5,a,b\n");
  EXPECT_THAT(sinter_with(learning({"--target", "kind", "--split", "stratified"})),
              Fails(failure, HasSubstr("--split stratified needs at least 2 rows of each class, but one class has a single row")));
}

}  // namespace
}  // namespace sinter::test::split_test
