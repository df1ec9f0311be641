// sinter train and predict: rows by conditions, columns, scaling, norms and principal components.
#include "ir/error.h"
#include "tests/cli/cli.h"

namespace sinter::test::preprocessing_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Preprocessing : public Cli {
 protected:
  std::string table(const std::string& name, const std::string& text) const {
    write_bytes(file(name), text);
    return file(name);
  }
  /// 40 rows, of which every fourth has no class, and every fifth has class 1.
  std::string transactions() const {
    std::string text = "amount,hour,Class\n";
    for (int i = 0; i < 40; ++i) text += str(i * 3 % 17, ",", i % 24, ",", i % 4 == 3 ? "" : i % 5 ? "0" : "1", "\n");
    return table("transactions.csv", text);
  }
  Arguments train(const std::string& data, const std::string& target) const {
    return {"train", "--data", data, "--target", target, "--hidden", "4", "--epochs", "1", "-o", file("model.sinter")};
  }
  Finished predict(const std::string& data) const { return sinter_with({"predict", file("model.sinter"), "--data", data}); }
};

TEST_F(Preprocessing, RowsByConditionsThatTheModelKeeps) {
  EXPECT_THAT(sinter_with(train(transactions(), "hour") + Arguments{"--keep", "Class not empty", "--train-on", "Class == 0"}),
              Prints(AllOf(HasSubstr(" rows to train on, 6 to validate"), HasSubstr("30 of 40 rows used: Class not empty"),
                           HasSubstr(" of 24 rows that are not held out: Class == 0"))));
  const Finished run = predict(table("new.csv", "amount,hour,Class\n5,1,\n6,2,0\n7,3,\n8,4,1\n"));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("row,hour\n2,"), HasSubstr("\n4,"), Not(HasSubstr("\n1,")), Not(HasSubstr("\n3,"))));
  EXPECT_THAT(run.err, HasSubstr("warning: 2 of 4 rows are left out, that of line 2 first: the model is for rows with Class not empty"));
  EXPECT_THAT(predict(table("none.csv", "amount,hour,Class\n5,1,\n")),
              Fails(failure, HasSubstr("has no row that the model's conditions keep, so that there is nothing to predict")));
  EXPECT_THAT(sinter_with({"inspect", file("model.sinter")}),
              Prints(AllOf(HasSubstr("\nrows: Class not empty\n"), HasSubstr("rows to train on: Class == 0"))));
}

TEST_F(Preprocessing, ClassesBehindTheNumberOfTheRow) {
  EXPECT_THAT(sinter_with(train(transactions(), "Class") + Arguments{"--categorical", "Class", "--keep", "Class not empty, amount >= 1"}),
              Prints(HasSubstr("rows used: Class not empty, amount >= 1")));
  const Finished run = predict(table("new.csv", "amount,hour,Class\n0,1,1\n6,2,0\n"));
  EXPECT_THAT(run.out, HasSubstr("row,Class,p(0),p(1)\n2,"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("1 of 2 rows are left out"), HasSubstr("accuracy ")));  // of the rows that are left
}

TEST_F(Preprocessing, ScalingsNormsAndComponents) {
  EXPECT_THAT(sinter_with(train(transactions(), "hour") + Arguments{"--columns", "amount", "--scaling", "min_max,hour=none"}),
              Prints(AllOf(HasSubstr("1 feature"), HasSubstr("Class: left out"))));
  EXPECT_THAT(predict(table("new.csv", "amount\n5\n")), Prints(HasSubstr("hour\n")));
  EXPECT_THAT(sinter_with(train(transactions(), "hour") + Arguments{"--normalize", "l1", "--pca", "2"}), Prints(HasSubstr("2 features")));
  EXPECT_THAT(sinter_with({"inspect", file("model.sinter")}), Prints(HasSubstr("features: pca_1 pca_2\n")));
  EXPECT_THAT(sinter_with(train(transactions(), "hour") + Arguments{"--pca", "0.5"}), Prints(HasSubstr("to validate, ")));
}

TEST_F(Preprocessing, RefusesWhatItCannotDo) {
  const auto fails = [&](const Arguments& options, const std::string& what) {
    EXPECT_THAT(sinter_with(train(transactions(), "hour") + options), Fails(failure, HasSubstr(what)));
  };
  fails({"--keep", "Class = 0"}, "[--keep] 'Class = 0' has no comparison at = ");
  fails({"--train-on", "Class"}, "[--train-on] 'Class' is no condition");
  fails({"--keep", "Class == 7"}, "[--keep] no row of ");
  fails({"--train-on", "Class == 7"}, "meets all conditions of --keep and --train-on: Class == 7");
  fails({"--keep", "Clas == 7"}, "there is no column 'Clas'; the nearest is 'Class'");
  fails({"--scaling", "log"}, "[--scaling] scaling must be standard, min_max or none, got 'log'");
  fails({"--scaling", "hours=none"}, "there is no column 'hours'; the nearest is 'hour'");
  fails({"--pca", "2.5"}, "[--pca] must be a whole number of components, or a share of the variance below 1, got 2.5");
  fails({"--pca", "9"}, "--pca must be from 1 to ");
  fails({"--columns", "day"}, "there is no column 'day'");
  EXPECT_THAT(sinter_with(train(transactions(), "hour") + Arguments{"--normalize", "l3"}),
              Fails(bad_command_line, HasSubstr("must be l1, l2 or max")));
  const Arguments arrays{"train", "--data", fixture("x.npy"), "--labels", fixture("labels.npy")};
  for (const char* option : {"--columns", "--keep", "--train-on"})
    EXPECT_THAT(sinter_with(arrays + Arguments{option, "x == 1"}), Fails(failure, HasSubstr(str("[", option, "] is for the fields of a table"))));
  EXPECT_THAT(sinter_with(arrays + Arguments{"--pca", "2"}), Fails(failure, HasSubstr("--scaling and --pca are for tables")));
}

}  // namespace
}  // namespace sinter::test::preprocessing_test
