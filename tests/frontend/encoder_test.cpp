// What becomes of the columns of a table.
#include "frontend/data/encoder.h"

#include <limits>

#include "frontend/data/csv.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

data::Table table(const std::string& text, const data::CsvOptions& options = {}) {
  const TemporaryFolder folder;
  write_bytes(folder / "table.csv", text);
  return data::read_csv(folder / "table.csv", options);
}

/// A column x of these fields beside y of 0, 1, 2, …
data::Table column(const std::vector<std::string>& fields) {
  data::Table result({"x", "y"});
  for (const std::string& field : fields) result.add_row({field, std::to_string(result.rows())});
  return result;
}

TEST(Encoder, StandardizesAndKeepsItsWays) {
  const data::Table t = table("age,city,id,price\n20,Bonn,1,100\n40,,2,300\nNA,Ulm,3,200\n");
  const data::Encoder encoder = data::Encoder::fit(t, {.target = "price", .ignore = {"id"}});
  EXPECT_THAT(encoder.feature_names(), ElementsAre("age", "age missing", "city=Bonn", "city=Ulm"));
  EXPECT_THAT(encoder.features(t).to_vector<float>(), ElementsAre(-1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1));
  const auto y = encoder.target(t).to_vector<float>();
  EXPECT_NEAR(encoder.unscaled(y[1]), 300, 1e-4);
  EXPECT_FALSE(encoder.is_classification());
  const data::Encoder same = data::Encoder::from_json(encoder.to_json());
  const data::Table other = table("city,age\nUlm,30\nKiel,60\n");
  EXPECT_THAT(same.features(other).to_vector<float>(), ElementsAre(0, 0, 0, 1, 3, 0, 0, 0));
}

TEST(Encoder, TargetsMayBeClasses) {
  const data::Table t = table("x,kind\n1,b\n2,a\n3,b\n");
  const data::Encoder encoder = data::Encoder::fit(t, {.target = "kind"});
  EXPECT_TRUE(encoder.is_classification());
  EXPECT_THAT(encoder.target(t).to_vector<std::int32_t>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(encoder.classes(), ElementsAre("a", "b"));
  const data::Encoder digits = data::Encoder::fit(table("x,d\n1,10\n2,9\n"), {.target = "d", .categorical = {"d"}});
  EXPECT_THAT(digits.classes(), ElementsAre("9", "10"));
  EXPECT_THAT(error_of([&] { encoder.target(table("x,kind\n1,c\n")); }), HasSubstr("line 2: 'c' is not one of the 2 classes of 'kind'"));
}

TEST(Encoder, RefusesWhatItCannotUse) {
  using data::Encoder;
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,\n2,3\n"), {.target = "y"}); }), HasSubstr("the target 'y' is missing in 1 rows"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,\n2,\n"), {}); }), HasSubstr("column 'y' has no fields; leave it out with ignore"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n"), {.target = "z"}); }), HasSubstr("there is no column 'z'"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("y\n1\n2\n"), {.target = "y"}); }), HasSubstr("there is no column to predict from"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,a\n2,a\n"), {.target = "y"}); }),
              HasSubstr("the target 'y' has a single class, 'a', so there is nothing to learn"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n"), {.decimal = ';'}); }), HasSubstr("decimal must be . or , but is ;"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n3,4\n"), {.rows = {1, 2}}); }),
              HasSubstr("row 2 is outside of [0, 2), the rows of the table"));
  const Encoder encoder = Encoder::fit(table("x,y\n1,2\n2,3\n"), {.target = "y"});
  EXPECT_THAT(error_of([&] { encoder.features(table("x\n1\nno\n")); }),
              HasSubstr("column 'x' holds numbers, but 1 of its 2 fields are not numbers that f32 can hold: line 3 'no'; fix them"));
  EXPECT_THAT(error_of([&] { encoder.target(table("y\n1\nNA\n")); }), HasSubstr("the target 'y' has no value in line 3; leave such rows out"));
  EXPECT_THAT(error_of([&] { encoder.features(table("z\n1\n")); }), HasSubstr("there is no column 'x'; the nearest is 'z'"));
  EXPECT_THAT(error_of([] { Encoder::from_json("{"); }), HasSubstr("[encoder] the description is damaged"));
  EXPECT_THAT(error_of([] { Encoder::from_json(R"({"version":1,"target":3,"columns":[]})"); }), HasSubstr("target 3 of 0 columns"));
  EXPECT_THAT(error_of([] { Encoder::from_json(R"({"version":1,"target":1e40,"columns":[]})"); }), HasSubstr("target 1e+40 is no whole number"));
  std::string many = "id,y\n";
  for (int i = 0; i < 1100; ++i) many += str("a", i, ",1\n");
  EXPECT_THAT(error_of([&] { Encoder::fit(table(many), {}); }),
              HasSubstr("has 1100 different texts, more than 1000 categories; is it an identifier?"));
}

// ---- numbers or categories ----

TEST(CellRules, TellWhatAFieldSays) {
  data::CellRules plain, comma;
  comma.missing = {"-"};
  comma.decimal = ',';
  for (const char* field : {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"}) EXPECT_TRUE(plain.is_missing(field)) << field;
  EXPECT_FALSE(plain.is_missing("-"));
  EXPECT_TRUE(comma.is_missing("-"));
  EXPECT_EQ(plain.number("-1.5e3"), -1500);
  EXPECT_EQ(plain.number("+1"), 1);
  EXPECT_EQ(comma.number("-1,5e3"), -1500);
  EXPECT_EQ(comma.number("3"), 3);
  EXPECT_EQ(plain.number("1e-5000"), std::nullopt);
  for (const char* field : {"1,5", "inf", "1e39", "nan", "-NAN"}) {
    EXPECT_EQ(plain.number(field), std::nullopt) << field;
    EXPECT_TRUE(plain.resembles_number(field)) << field;
  }
  EXPECT_EQ(comma.number("1.5"), std::nullopt);
  EXPECT_TRUE(comma.resembles_number("1.5"));
  for (const char* field : {"", "-", "1.5 m", "+-1", "++1", "0x10", "1.5.2", "1,2,3", "one"}) {
    EXPECT_EQ(plain.number(field), std::nullopt) << field;
    EXPECT_FALSE(plain.resembles_number(field)) << field;
  }
}

TEST(Encoder, AFewTextsDoNotMakeCategoriesOfNumbers) {
  for (const char* wrong : {"-", "1.5 m", "n.a.", "2,5", "inf", "-Infinity", "1e200", "1e999999", "NAN", "+-1"})
    EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1", "2", wrong, "4", "5.5"}), {}); }),
                HasSubstr(str("[encoder] column 'x' holds numbers, but 1 of its 5 fields are not numbers that f32 can hold: line 3 '", wrong,
                              "'; fix them, say what they mean with missing or decimal, or name the column in categorical or ignore")));
  const data::Table read = table("x,y\n1,1\n-,2\n\n\"1.5 m\",3\n7,4\n8,5\n");  // by the lines of the file
  EXPECT_THAT(error_of([&] { data::Encoder::fit(read, {.target = "x"}); }),
              HasSubstr("2 of its 5 fields are not numbers that f32 can hold: line 3 '-', line 5 '1.5 m';"));
  EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1", "a", "b", "c", "d", "e", "f", "2", "3", "4", "5", "6", "7"}), {}); }),
              HasSubstr("line 2 'a', line 3 'b', line 4 'c', line 5 'd', line 6 'e' and 1 more;"));
}

TEST(Encoder, WhatTheTextsMeanMayBeSaid) {
  const data::Encoder missing = data::Encoder::fit(column({"1", "-", "3", "n.a."}), {.missing = {"-", "n.a."}});
  EXPECT_THAT(missing.feature_names(), ElementsAre("x", "x missing", "y"));
  const data::Encoder comma = data::Encoder::fit(column({"1,5", "2,5", "-3"}), {.target = "x", .decimal = ','});
  EXPECT_NEAR(comma.unscaled(0), 1.0 / 3, 1e-12);
  EXPECT_NEAR(comma.unscaled(1) - comma.unscaled(0), comma.target_unit(), 1e-12);
  EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1,5", "2.5", "-3"}), {.decimal = ','}); }), HasSubstr("line 2 '2.5'"));
  EXPECT_THAT(data::Encoder::fit(column({"1", "-", "3"}), {.categorical = {"x"}}).feature_names(), ElementsAre("x=1", "x=3", "x=-", "y"));
  // All numbers have a decimal comma: still no categories.
  EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1,5", "2,5", "3,5"}), {}); }),
              HasSubstr("3 of its 3 fields are not numbers that f32 can hold"));

  // Later tables are read in the same way, by the encoder of a file too.
  const data::Encoder again = data::Encoder::from_json(data::Encoder::fit(column({"1,5", "-", "2,5"}), {.missing = {"-"}, .decimal = ','}).to_json());
  EXPECT_THAT(again.features(column({"-", "2,5"})).to_vector<float>(), ElementsAre(0, 1, testing::_, 1, 0, testing::_));
  EXPECT_THAT(error_of([&] { again.features(column({"2.5"})); }), HasSubstr("line 1 '2.5'; fix them"));
}

TEST(Encoder, ColumnsOfTextsAreCategories) {
  EXPECT_THAT(data::Encoder::fit(column({"a", "b", "1", "c"}), {}).feature_names(), ElementsAre("x=1", "x=a", "x=b", "x=c", "y"));
  EXPECT_THAT(data::Encoder::fit(column({"", "b", "NA", "c"}), {}).feature_names(), ElementsAre("x=b", "x=c", "y"));
}

TEST(Encoder, NumbersAreThoseOfF32) {
  const data::Encoder small = data::Encoder::fit(column({"1e-400", "1", "+1"}), {.target = "x"});  // rounds to 0
  EXPECT_NEAR(small.unscaled(0), 2.0 / 3, 1e-12);
  const data::Encoder large = data::Encoder::fit(column({"3e38", "-3e38"}), {.target = "x"});
  EXPECT_THAT(data::Encoder::from_json(large.to_json()).target(column({"3e38"})).to_vector<float>(), ElementsAre(1));
  const data::Encoder narrow = data::Encoder::fit(column({"1e-20", "2e-20"}), {});
  EXPECT_THAT(error_of([&] { narrow.features(column({"1e30"})); }),
              HasSubstr("column 'x': line 1 has 1e+30, which is too far from the mean 1.5e-20"));
}

// ---- what is learnt from which rows ----

TEST(Encoder, LearnsFromSomeRowsButKnowsTheClassesOfAll) {
  const data::Table t = table("x,town,kind\n1,Bonn,a\n3,Ulm,b\n500,Kiel,c\n,Bonn,a\n");
  const data::Encoder encoder = data::Encoder::fit(t, {.target = "kind", .rows = {1, 0}});
  EXPECT_THAT(encoder.feature_names(), ElementsAre("x", "town=Bonn", "town=Ulm"));
  EXPECT_THAT(encoder.classes(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(encoder.features(t).to_vector<float>(), ElementsAre(-1, 1, 0, 1, 0, 1, 498, 0, 0, 0, 1, 0));
  EXPECT_THAT(encoder.target(t).to_vector<std::int32_t>(), ElementsAre(0, 1, 2, 0));
}

TEST(Encoder, TellsWhatAColumnHolds) {
  const data::Table t = table("x,town,id,price\n1,Bonn,a,5\n,,b,6\n3,Ulm,c,8\n");
  const data::Encoder encoder = data::Encoder::fit(t, {.target = "price", .ignore = {"id"}});
  const auto text = [](const std::vector<data::ColumnSummary>& summary) {
    std::string result;
    for (const data::ColumnSummary& c : summary)
      result += str(c.name, c.is_target ? " target" : "", c.categorical ? " categories " : " numbers ", c.categories, " missing ", c.missing,
                    " unseen ", c.unseen, c.first_unseen, "; ");
    return result;
  };
  EXPECT_EQ(text(encoder.summary(t)),
            "x numbers 0 missing 1 unseen 0; town categories 2 missing 1 unseen 0; price target numbers 0 missing 0 unseen 0; ");
  EXPECT_EQ(text(encoder.summary(table("town,x\nGraz,1\nUlm,\nWien,3\n"))),
            "x numbers 0 missing 1 unseen 0; town categories 2 missing 0 unseen 2Graz; ");
}

// ---- files ----

TEST(Encoder, DamagedDescriptionsAreRefused) {
  const auto column = [](const std::string& fields) {
    return R"({"version":1,"target":-1,"columns":[{"name":"x","mean":0,"deviation":1,)" + fields + "}]}";
  };
  const auto error = [](const std::string& json) { return error_of([&] { data::Encoder::from_json(json); }); };
  EXPECT_EQ(error(column(R"("categorical":false,"missing":true,"categories":[])")), "");
  EXPECT_THAT(error(column(R"("categorical":true,"missing":true,"categories":["a"])")), HasSubstr("column 'x' holds both numbers and categories"));
  EXPECT_THAT(error(column(R"("categorical":false,"missing":false,"categories":["a"])")), HasSubstr("column 'x' holds both numbers and categories"));
  EXPECT_THAT(error(R"({"version":1,"target":-1,"columns":[],"decimal":"x"})"), HasSubstr("decimal is 'x'"));
  data::Table latin({"x"});
  latin.add_row({"K\xf6ln"});
  EXPECT_THAT(error_of([&] { (void)data::Encoder::fit(latin, {}).to_json(); }), HasSubstr("names and categories must be UTF-8"));
}

}  // namespace
}  // namespace sinter::test
