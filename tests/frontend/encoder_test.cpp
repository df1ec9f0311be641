// What becomes of the columns of a table.
#include "frontend/data/encoder.h"

#include "frontend/data/csv.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::encoder_test {
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
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,\n2,3\n"), {.target = "y"}); }), HasSubstr("the target 'y' is missing in 1 row"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,\n2,\n"), {}); }),
              HasSubstr("column 'y' has no fields; leave it out with EncoderOptions::ignore"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n"), {.target = "z"}); }), HasSubstr("there is no column 'z'"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n"), {.target = "y", .ignore = {"y"}}); }),
              HasSubstr("the target 'y' is named in EncoderOptions::ignore too; name it in one of them"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("y\n1\n2\n"), {.target = "y"}); }), HasSubstr("there is no column to predict from"));
  EXPECT_EQ(Encoder::fit(table("y\n1\n2\n"), {.target = "y", .target_alone = true}).width(), 0);
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,a\n2,a\n"), {.target = "y"}); }),
              HasSubstr("the target 'y' has a single class, 'a', so there is nothing to learn"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n"), {.decimal = ';'}); }), HasSubstr("EncoderOptions::decimal must be . or , but is ;"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n3,4\n"), {.rows = {1, 2}}); }),
              HasSubstr("row 2 is outside of [0, 2), the rows of the table"));
  const Encoder encoder = Encoder::fit(table("x,y\n1,2\n2,3\n"), {.target = "y"});
  EXPECT_THAT(error_of([&] { encoder.features(table("x\n1\nno\n")); }),
              HasSubstr("column 'x' holds numbers, but 1 of its 2 fields cannot be read as numbers that f32 can hold: line 3 'no'; fix them"));
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

TEST(Encoder, AFewTextsDoNotMakeCategoriesOfNumbers) {
  for (const char* wrong : {"-", "1.5 m", "n.a.", "2,5", "inf", "-Infinity", "1e200", "1e999999", "NAN", "+-1"})
    EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1", "2", wrong, "4", "5.5"}), {}); }),
                AllOf(HasSubstr(str("[encoder] column 'x' holds numbers, but 1 of its 5 fields cannot be read as numbers that f32 can hold: line 3 '",
                                    wrong, "'; ")),
                      HasSubstr(", or name the column in EncoderOptions::categorical or EncoderOptions::ignore")));
  const data::Table read = table("x,y\n1,1\n-,2\n\n\"1.5 m\",3\n7,4\n8,5\n");  // by the lines of the file
  EXPECT_THAT(error_of([&] { data::Encoder::fit(read, {.target = "x"}); }),
              HasSubstr("2 of its 5 fields cannot be read as numbers that f32 can hold: line 3 '-', line 5 '1.5 m';"));
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
              HasSubstr("3 of its 3 fields cannot be read as numbers that f32 can hold"));

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

TEST(Encoder, ReadsNumbersWithThousandsAndTextsAroundThem) {
  const data::EncoderOptions options{.target = "x", .missing = {"-"}, .thousands = ",", .strip = {"$", "EUR"}};
  const data::Encoder encoder = data::Encoder::fit(column({"25,500.00", "-$15.5", "15.5 EUR", "-25,500"}), options);
  EXPECT_FALSE(encoder.is_classification());
  EXPECT_NEAR(encoder.unscaled(0), 0, 1e-9);
  const data::Encoder again = data::Encoder::from_json(encoder.to_json());  // as predict reads it
  EXPECT_EQ(again.target(column({"$ 25,500", "25500"})).to_vector<float>(), encoder.target(column({"25500", "25,500.0 EUR"})).to_vector<float>());
  EXPECT_EQ(again.to_json(), encoder.to_json());
  EXPECT_THAT(error_of([&] { again.target(column({"2,5"})); }), HasSubstr("line 1 '2,5'"));  // no group of three
  for (const std::string wrong : {"1", "-", ".", "e"})
    EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1", "2"}), {.thousands = wrong}); }), HasSubstr("EncoderOptions::thousands must separate"))
        << wrong;
  for (const std::string wrong : {"", "2x", "-", "+", "."})
    EXPECT_THAT(error_of([&] { data::Encoder::fit(column({"1", "2"}), {.strip = {wrong}}); }), HasSubstr("EncoderOptions::strip lists texts"))
        << wrong;
}

TEST(Encoder, RefusesTargetsAndTellsFeaturesThatLookLikeNumbers) {
  const struct {
    std::vector<std::string> fields;
    const char *like, *advice;
  } cases[] = {
      {{"\"25,500.00\"", "\"1,250.00\"", "\"31,000.50\""}, "line 2 '25,500.00'", "EncoderOptions::thousands = \",\""},
      {{"$15.7", "$1.5", "$20"}, "line 2 '$15.7'", "EncoderOptions::strip = {\"$\"}"},
      {{"15.7 EUR", "3 EUR", "$4"}, "line 2 '15.7 EUR'", "EncoderOptions::strip = {\"EUR\", \"$\"}"},
      {{"-", "3", "-", "4", "-"}, "line 3 '3', line 5 '4'", "EncoderOptions::missing = {\"-\"}"},
      {{"\"$ 1,500.5\"", "\"$ 2,500\"", "-", "-"},
       "line 2 '$ 1,500.5'",
       "EncoderOptions::thousands = \",\" and EncoderOptions::strip = {\"$\"} and EncoderOptions::missing = {\"-\"}"},
  };
  for (const auto& [fields, like, advice] : cases) {
    std::string text = "x,y\n";
    for (std::size_t i = 0; i < fields.size(); ++i) text += fields[i] + "," + std::to_string(i % 2) + "\n";
    const data::Table t = table(text);
    const auto told = AllOf(HasSubstr(like), HasSubstr(str("; read them with ", advice, ", or name the column in EncoderOptions::categorical")));
    std::vector<std::string> warnings;
    const auto log = [&](const std::string& warning) { warnings.push_back(warning); };
    EXPECT_THAT(error_of([&] { data::Encoder::fit(t, {.target = "x", .log = log}); }), AllOf(HasSubstr("the target 'x' is taken for "), told));
    EXPECT_THAT(warnings, ElementsAre());
    (void)data::Encoder::fit(t, {.target = "y", .log = log});
    EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("column 'x' is taken for "), told)));
    (void)data::Encoder::fit(t, {.target = "x", .categorical = {"x"}, .log = log});
    EXPECT_EQ(warnings.size(), 1u);  // meant
  }
  const auto silent = [](const std::vector<std::string>& fields) {
    (void)data::Encoder::fit(column(fields), {.target = "x", .log = [](const std::string& warning) { ADD_FAILURE() << warning; }});
  };
  silent({"<=50K", ">50K"});
  silent({"1st", "2nd", "3rd"});
  silent({"2WD", "4WD"});
  silent({"A1", "A2", "B1"});
  silent({"0-10", "10-20", "20-30"});
  silent({"yes", "no", "1"});
}

TEST(Encoder, NumbersOfOneValueAreOneCategory) {
  const data::Table t = column({"1", "1.0", "01", "2", "2", "x"});
  const data::Encoder encoder = data::Encoder::fit(t, {.categorical = {"x"}});
  EXPECT_THAT(encoder.feature_names(), ElementsAre("x=1", "x=2", "x=x", "y"));
  const data::Encoder classes = data::Encoder::from_json(data::Encoder::fit(t, {.target = "x", .categorical = {"x"}}).to_json());
  EXPECT_THAT(classes.classes(), ElementsAre("1", "2", "x"));
  EXPECT_THAT(classes.target(column({"+1.00", "2e0", "1", "x"})).to_vector<std::int32_t>(), ElementsAre(0, 1, 0, 2));
  EXPECT_EQ(encoder.summary(column({"1.0", "3"}))[0].unseen, 1u);
  // Large ones exactly: f64 cannot tell these apart.
  EXPECT_EQ(data::Encoder::fit(column({"9007199254740993", "9007199254740992"}), {.categorical = {"x"}}).feature_names().size(), 3u);
  // Files whose numbers were told apart as texts keep their columns.
  const data::Encoder old = data::Encoder::from_json(
      R"({"version":1,"target":-1,"columns":[{"name":"x","categorical":true,"mean":0,"deviation":1,"missing":false,"categories":["1","1.0"]}]})");
  EXPECT_THAT(old.features(column({"1", "1.0", "01"})).to_vector<float>(), ElementsAre(1, 0, 0, 1, 1, 0));
}

TEST(Encoder, TellsCategoriesThatItDoesNotKnow) {
  const data::Encoder encoder = data::Encoder::fit(table("town,z,y\nBonn,a,1\nUlm,b,2\n"), {.target = "y"});
  std::vector<std::string> warnings;
  const data::Table t = table("town,z\nGraz,a\nUlm,b\nWien,\n");
  EXPECT_THAT(encoder.features(t, [&](const std::string& warning) { warnings.push_back(warning); }).to_vector<float>(),
              ElementsAre(0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(warnings, ElementsAre("column 'town': unknown categories in 2 of 3 rows, 'Graz' first; they count as missing"));
  testing::internal::CaptureStderr();
  (void)encoder.features(t);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), warnings[0] + "\n");
}

TEST(Encoder, LeavesOutColumnsWithoutANameThatHoldNothing) {
  std::vector<std::string> warnings;
  const auto names = [&](const std::string& text, data::EncoderOptions options = {}) {
    warnings.clear();
    options.log = [&](const std::string& warning) { warnings.push_back(warning); };
    return data::Encoder::fit(table(text), options).feature_names();
  };
  EXPECT_THAT(names(",x,\n5,1,\n3,2,\n"), ElementsAre("x"));  // a data frame with its index
  EXPECT_THAT(warnings, ElementsAre("column 1 has no name and a different whole number in each row: it is taken for row numbers and left out",
                                    "column 3 has no name and no fields: it is left out"));
  EXPECT_THAT(names(",x\n5,1\n5,2\n"), ElementsAre("column_1", "x"));
  EXPECT_THAT(warnings, ElementsAre("column 1 has no name: it is called column_1"));
  EXPECT_THAT(names("x,\n1,7\n2,8\n"), ElementsAre("x", "column_2"));  // numbers, but behind others
  EXPECT_THAT(names(",x\n5,1\n3,2\n", {.target = "column_1"}), ElementsAre("x"));
  EXPECT_THAT(warnings, ElementsAre());
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
}  // namespace sinter::test::encoder_test
