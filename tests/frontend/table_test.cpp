// CSV files and what becomes of their columns.
#include <filesystem>
#include <fstream>

#include "frontend/data/csv.h"
#include "frontend/data/encoder.h"
#include "tests/frontend/helpers.h"

namespace sinter::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CsvFile : public testing::Test {
 protected:
  const TemporaryFolder folder;
  const std::string path = folder / "table.csv";

  data::Table table(const std::string& text, const data::CsvOptions& options = {}) {
    std::ofstream(path, std::ios::binary) << text;
    return data::read_csv(path, options);
  }
};

TEST_F(CsvFile, FieldsMayBeQuoted) {
  const data::Table t = table("name,size,\"a,b\"\r\n\"say \"\"hi\"\"\", 3 ,x\n\n\"two\nlines\",,y");
  EXPECT_THAT(t.names, ElementsAre("name", "size", "a,b"));
  EXPECT_THAT(t.columns[0], ElementsAre("say \"hi\"", "two\nlines"));
  EXPECT_THAT(t.columns[1], ElementsAre("3", ""));
  EXPECT_THAT(t.columns[2], ElementsAre("x", "y"));
  data::write_csv(path, t);
  const data::Table again = data::read_csv(path);
  EXPECT_EQ(again.names, t.names);
  EXPECT_EQ(again.columns, t.columns);
}

TEST_F(CsvFile, OtherDelimitersAndNoHeader) {
  const data::Table t = table("1;2\n3;4\n", {.delimiter = ';', .header = false});
  EXPECT_THAT(t.names, ElementsAre("column_1", "column_2"));
  EXPECT_THAT(t.columns[1], ElementsAre("2", "4"));
}

TEST_F(CsvFile, WhatIsWrongIsTold) {
  EXPECT_THAT(error_of([&] { table("a,b\n1,2\n3\n"); }), HasSubstr("row 3 has 1 fields, but the first has 2; is a delimiter missing, or a quote?"));
  EXPECT_THAT(error_of([&] { table("a,b\n1,\"2\n"); }), HasSubstr("is a quote missing?"));
  EXPECT_THAT(error_of([&] { table("a,b\n"); }), HasSubstr("has no rows behind its header"));
  EXPECT_THAT(error_of([&] { table(""); }), HasSubstr("has no rows"));
  EXPECT_THAT(error_of([&] { table("a,a\n1,2\n"); }), HasSubstr("two columns are called 'a'"));
  EXPECT_THAT(error_of([&] { table("a,\n1,2\n"); }), HasSubstr("column 2 has no name"));
  EXPECT_THAT(error_of([] { data::read_csv("/nowhere.csv"); }), HasSubstr("[/nowhere.csv]"));
  EXPECT_THAT(error_of([&] { (void)table("age,city\n1,2\n").column("aeg"); }), HasSubstr("there is no column 'aeg'; the nearest is 'age'"));
}

TEST_F(CsvFile, EncoderStandardizesAndKeepsItsWays) {
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

TEST_F(CsvFile, TargetsMayBeClasses) {
  const data::Table t = table("x,kind\n1,b\n2,a\n3,b\n");
  const data::Encoder encoder = data::Encoder::fit(t, {.target = "kind"});
  EXPECT_TRUE(encoder.is_classification());
  EXPECT_THAT(encoder.target(t).to_vector<std::int32_t>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(encoder.classes(), ElementsAre("a", "b"));
  const data::Encoder digits = data::Encoder::fit(table("x,d\n1,10\n2,9\n"), {.target = "d", .categorical = {"d"}});
  EXPECT_THAT(digits.classes(), ElementsAre("9", "10"));
  EXPECT_THAT(error_of([&] { encoder.target(table("x,kind\n1,c\n")); }), HasSubstr("'c' is none of the 2 classes of 'kind'"));
}

TEST_F(CsvFile, EncoderRefusesWhatItCannotUse) {
  using data::Encoder;
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,\n2,3\n"), {.target = "y"}); }), HasSubstr("the target 'y' is missing in 1 rows"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,\n2,\n"), {}); }), HasSubstr("column 'y' has no fields; leave it out with ignore"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("x,y\n1,2\n"), {.target = "z"}); }), HasSubstr("there is no column 'z'"));
  EXPECT_THAT(error_of([&] { Encoder::fit(table("y\n1\n2\n"), {.target = "y"}); }), HasSubstr("there is no column to predict from"));
  const Encoder encoder = Encoder::fit(table("x,y\n1,2\n2,3\n"), {.target = "y"});
  EXPECT_THAT(error_of([&] { encoder.features(table("x\n1\nno\n")); }), HasSubstr("column 'x' holds numbers, but row 2 has 'no'"));
  EXPECT_THAT(error_of([&] { encoder.features(table("z\n1\n")); }), HasSubstr("there is no column 'x'; the nearest is 'z'"));
  EXPECT_THAT(error_of([] { Encoder::from_json("{"); }), HasSubstr("[encoder] the description is damaged"));
  EXPECT_THAT(error_of([] { Encoder::from_json(R"({"version":1,"target":3,"columns":[]})"); }), HasSubstr("target 3 of 0 columns"));
  EXPECT_THAT(error_of([] { Encoder::from_json(R"({"version":1,"target":1e40,"columns":[]})"); }), HasSubstr("target 1e+40 is no whole number"));
  std::string many = "id,y\n";
  for (int i = 0; i < 1100; ++i) many += str("a", i, ",1\n");
  EXPECT_THAT(error_of([&] { Encoder::fit(table(many), {}); }),
              HasSubstr("has 1100 different texts, more than 1000 categories; is it an identifier?"));
}

}  // namespace
}  // namespace sinter::test
