// Conditions for rows: how they are written, and which rows meet them.
#include "frontend/data/condition.h"

#include "tests/frontend/helpers.h"

namespace sinter::test::condition_test {
namespace {

using data::Comparison;
using data::Condition;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Condition, IsReadFromTextAndWrittenAgain) {
  const struct {
    const char *text, *column;
    Comparison comparison;
    const char *value, *written;
  } cases[] = {
      {"Class == 0", "Class", Comparison::equal, "0", "Class == 0"},
      {"Class==0", "Class", Comparison::equal, "0", "Class == 0"},
      {" total amount  >=  1.5 ", "total amount", Comparison::greater_equal, "1.5", "total amount >= 1.5"},
      {"x<=-1", "x", Comparison::less_equal, "-1", "x <= -1"},
      {"x < 3", "x", Comparison::less, "3", "x < 3"},
      {"x > 3", "x", Comparison::greater, "3", "x > 3"},
      {"town != 'Bonn, new'", "town", Comparison::not_equal, "Bonn, new", "town != Bonn, new"},
      {"'a < b' == \" x \"", "a < b", Comparison::equal, " x ", "'a < b' == ' x '"},
      {"'it''s' == 'x''y'", "it's", Comparison::equal, "x'y", "'it''s' == 'x''y'"},
      {"Class == ''", "Class", Comparison::empty, "", "Class is empty"},
      {"Class != \"\"", "Class", Comparison::not_empty, "", "Class not empty"},
      {"Class not empty", "Class", Comparison::not_empty, "", "Class not empty"},
      {"Class is not empty", "Class", Comparison::not_empty, "", "Class not empty"},
      {"Class not missing", "Class", Comparison::not_empty, "", "Class not empty"},
      {"the 'Class' is missing", "the 'Class'", Comparison::empty, "", "'the ''Class''' is empty"},
      {"'x not empty' == empty", "x not empty", Comparison::equal, "empty", "'x not empty' == 'empty'"},
  };
  for (const auto& c : cases) {
    const Condition condition = std::string(c.text);
    EXPECT_EQ(condition.column, c.column) << c.text;
    EXPECT_EQ(condition.comparison, c.comparison) << c.text;
    EXPECT_EQ(condition.value, c.value) << c.text;
    EXPECT_EQ(condition.text(), c.written);
    const Condition again = condition.text();
    EXPECT_EQ(again.column, c.column) << c.text;
    EXPECT_EQ(again.value, c.value) << c.text;
    EXPECT_EQ(again.text(), c.written);
  }
}

TEST(Condition, RefusesTextThatIsNone) {
  const auto error = [](const std::string& text) { return error_of([&] { (void)Condition(text); }); };
  EXPECT_EQ(error("Class"), "[condition] 'Class' is no condition; write a column, one of == != < <= > >= and a value, or a column and not empty");
  EXPECT_THAT(error(""), HasSubstr("[condition] '' is no condition"));
  EXPECT_THAT(error("Class = 0"), HasSubstr("'Class = 0' has no comparison at = "));
  EXPECT_THAT(error("Class ! 0"), HasSubstr("has no comparison at ! "));
  EXPECT_THAT(error("== 0"), HasSubstr("'== 0' names no column"));
  EXPECT_THAT(error(" not empty"), HasSubstr("is no condition"));
  EXPECT_THAT(error("'' is empty"), HasSubstr("names no column"));
  EXPECT_THAT(error("Class == "), HasSubstr("has no value"));
  EXPECT_THAT(error("Class < ''"), HasSubstr("has no value"));
  EXPECT_THAT(error("'Class == 0"), HasSubstr("has a quote without a second one"));
  EXPECT_THAT(error("Class == 'a' b"), HasSubstr("has text around a quoted one, or no second quote: 'a' b"));
  EXPECT_EQ(error_of([] { Condition("age >= old").check({}); }), "[condition] 'age >= old' compares numbers, but 'old' is none");
  Condition("age >= 1,5").check({.decimal = ','});
}

TEST(Condition, SaysWhichRowsMeetIt) {
  const data::Table t{{"x", "kind"}, {{"1", "2.0", "", "-3", "1e1", "NA"}, {"a", "b", "a", "", "c", "1.0"}}};
  const auto rows = [&](std::vector<Condition> conditions, const data::CellRules& rules = {}) { return data::rows_where(t, conditions, rules); };
  EXPECT_THAT(rows({}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(rows({"x == 2"}), ElementsAre(1));        // by value
  EXPECT_THAT(rows({"x != 2"}), ElementsAre(0, 3, 4));  // a missing one is not known to differ
  EXPECT_THAT(rows({"x < 2"}), ElementsAre(0, 3));
  EXPECT_THAT(rows({"x <= 2"}), ElementsAre(0, 1, 3));
  EXPECT_THAT(rows({"x > 2"}), ElementsAre(4));
  EXPECT_THAT(rows({"x >= 2"}), ElementsAre(1, 4));
  EXPECT_THAT(rows({"x is empty"}), ElementsAre(2, 5));
  EXPECT_THAT(rows({"x not empty", "kind == a"}), ElementsAre(0));
  EXPECT_THAT(rows({"kind == 1"}), ElementsAre(5));
  EXPECT_THAT(rows({"kind not empty"}, {.missing = {"c"}}), ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(error_of([&] { (void)rows({"kind > 1"}); }), "[condition] column 'kind' is compared with a number, but line 1 has 'a'");
  EXPECT_EQ(error_of([&] { (void)rows({"kin == a"}); }), "[encoder] there is no column 'kin'; the nearest is 'kind'");
}

}  // namespace
}  // namespace sinter::test::condition_test
