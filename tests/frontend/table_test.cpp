// CSV files.
#include <filesystem>

#include "frontend/data/csv.h"
#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"

namespace sinter::test::table_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CsvFile : public testing::Test {
 protected:
  const TemporaryFolder folder;
  const std::string path = folder / "table.csv";

  data::Table table(const std::string& text, const data::CsvOptions& options = {}) {
    write_bytes(path, text);
    return data::read_csv(path, options);
  }
};

TEST_F(CsvFile, FieldsMayBeQuoted) {
  const data::Table t = table("name,size,\"a,b\"\r\n\"say \"\"hi\"\"\", 3 ,x\n\n\"two\nlines\",,y");
  EXPECT_THAT(t.names, ElementsAre("name", "size", "a,b"));
  EXPECT_THAT(t.fields(0), ElementsAre("say \"hi\"", "two\nlines"));
  EXPECT_THAT(t.fields(1), ElementsAre("3", ""));
  EXPECT_THAT(t.fields(2), ElementsAre("x", "y"));
  data::write_csv(path, t);
  const data::Table again = data::read_csv(path);
  EXPECT_EQ(again.names, t.names);
  for (std::size_t c = 0; c < t.names.size(); ++c) EXPECT_EQ(again.fields(c), t.fields(c));
}

TEST_F(CsvFile, OtherDelimitersAndNoHeader) {
  const data::Table t = table("1;2\n3;4\n", {.delimiter = ';', .header = false});
  EXPECT_THAT(t.names, ElementsAre("column_1", "column_2"));
  EXPECT_THAT(t.fields(1), ElementsAre("2", "4"));
}

TEST_F(CsvFile, WhatIsWrongIsTold) {
  EXPECT_THAT(error_of([&] { table("a,b\n1,2\n3\n"); }), HasSubstr("row 3 has 1 field, but the first has 2; is a delimiter missing, or a quote?"));
  EXPECT_THAT(error_of([&] { table("a,b\n1,\"2\n"); }), HasSubstr("is a quote missing?"));
  EXPECT_THAT(error_of([&] { table("a,b\n"); }), HasSubstr("has no rows after its header"));
  EXPECT_THAT(error_of([&] { table(""); }), HasSubstr("has no rows"));
  EXPECT_THAT(error_of([&] { table("a,a\n1,2\n"); }), HasSubstr("two columns are called 'a'"));
  EXPECT_THAT(error_of([] { data::read_csv("/nowhere.csv"); }), HasSubstr("[/nowhere.csv]"));
  EXPECT_THAT(error_of([&] { (void)table("age,city\n1,2\n").column("aeg"); }), HasSubstr("[table] there is no column 'aeg'; the nearest is 'age'"));
}

TEST_F(CsvFile, ColumnsWithoutANameAreCalledByTheirNumber) {
  const data::Table t = table(",a,\n0,1,\n1,2,\n");
  EXPECT_THAT(t.names, ElementsAre("column_1", "a", "column_3"));
  EXPECT_THAT(t.unnamed, ElementsAre("column_1", "column_3"));
  EXPECT_THAT(table("a,b\n1,2\n").unnamed, ElementsAre());
}

TEST_F(CsvFile, RowsKnowTheirLines) {
  const data::Table t = table("a,b\n\n1,\"two\nlines\"\r\n\r\n2,x\r3,y\n");
  ASSERT_EQ(t.rows(), 3u);
  EXPECT_EQ(t.line(0), 3u);
  EXPECT_EQ(t.line(1), 6u);
  EXPECT_EQ(t.line(2), 7u);
  EXPECT_THAT(error_of([&] { table("a,b\n\n\n1\n"); }), HasSubstr("line 4: row 2 has 1 field, but the first has 2"));
}

TEST_F(CsvFile, AByteOrderMarkIsNoPartOfTheFirstName) {
  const data::Table t = table("\xef\xbb\xbf\"größe\",x\n1,2\n");
  EXPECT_THAT(t.names, ElementsAre("größe", "x"));
}

TEST_F(CsvFile, WhatIsNoUtf8IsRefusedWithItsPlace) {
  EXPECT_THAT(
      error_of([&] { table("x,town\n1,Bonn\n2,K\xf6ln\n"); }),
      HasSubstr("table.csv] line 3, column 2 (town): byte 0xf6 after 'K' is not UTF-8; name the encoding of the file, as in --encoding latin1"));
  EXPECT_THAT(error_of([&] {
                table(
                    "gr\xf6\xdf"
                    "e,x\n1,2\n");
              }),
              HasSubstr("line 1, column 1: byte 0xf6 after 'gr' is not UTF-8"));
  EXPECT_THAT(error_of([&] { table(std::string("a\0,\0b\0\n\0", 8)); }), HasSubstr("byte 0x00 after 'a' is not UTF-8"));  // UTF-16
}

TEST_F(CsvFile, OtherEncodingsBecomeUtf8) {
  write_bytes(path, "town,x\nK\xf6ln,1\n");
  EXPECT_EQ(data::read_csv(path, {.encoding = "iso-8859-1"}).field(0, 0), "Köln");
  EXPECT_THAT(table("town,x\nK\xf6ln,1\n", {.encoding = "latin1"}).fields(0), ElementsAre("Köln"));
  EXPECT_THAT(table("price,x\n3 \x80,1\n", {.encoding = "cp1252"}).fields(0), ElementsAre("3 €"));
  EXPECT_THAT(table("town,x\nKöln,1\n", {.encoding = "UTF-8"}).fields(0), ElementsAre("Köln"));
  std::string wide = "\xff\xfe", rows;  // UTF-16 with its mark; characters lie across the ends of the blocks that are read
  const auto add = [&](std::string_view text) {
    for (const char c : text) wide += std::string{c, '\0'};
  };
  add("abc,x\n");
  for (int i = 0; i < 40'000; ++i) add("1,"), wide += "\xac\x20", add("\n");
  const data::Table t = table(wide, {.encoding = "utf-16"});
  ASSERT_EQ(t.rows(), 40'000u);
  EXPECT_EQ(t.names[0], "abc");
  for (const std::string_view field : t.fields(1)) ASSERT_EQ(field, "€");

  EXPECT_THAT(error_of([&] { table("a\n1\n", {.encoding = "latin-eleven"}); }),
              HasSubstr("table.csv] the encoding 'latin-eleven' is not known; give one that iconv -l lists"));
  EXPECT_THAT(error_of([&] { table("a,b\n1,\x82\n", {.encoding = "ascii"}); }),
              HasSubstr("line 2, column 2: the bytes are not of the encoding 'ascii'; give that of the file"));
  EXPECT_THAT(error_of([&] { table(wide.substr(0, 15), {.encoding = "utf-16"}); }), HasSubstr("the bytes are not of the encoding 'utf-16'"));
}

TEST_F(CsvFile, ATableTakesAFewBytesAField) {
  if (!allocations_are_counted) GTEST_SKIP() << "a sanitizer allocates for itself";
  constexpr int columns = 1000, rows = 1000;
  std::string text;
  for (int c = 0; c < columns; ++c) text += str(c ? "," : "", "column", c);
  for (int r = 0; r < rows; ++r) text += "\n" + std::string(columns - 1, ',');
  write_bytes(path, text);
  const AllocationLimit limit(12 * static_cast<std::int64_t>(text.size()));
  const data::Table t = data::read_csv(path);
  EXPECT_EQ(limit.refused(), 0) << "bytes were asked for";
  EXPECT_EQ(t.rows(), static_cast<std::size_t>(rows));
}

TEST(Table, GrowsFieldByField) {
  data::Table t({"a", "b"});
  t.reserve_text(100);
  t.add_field("1");
  EXPECT_EQ(t.open_fields(), 1u);
  EXPECT_EQ(t.rows(), 0u);
  EXPECT_THAT(error_of([&] { t.end_row(); }), HasSubstr("a row needs a field for each of 2 columns, got 1 field"));
  t.add_field("");
  t.end_row(7);
  t.add_row({"3", "4"});
  EXPECT_EQ(t.open_fields(), 0u);
  EXPECT_EQ(t.rows(), 2u);
  EXPECT_EQ(t.line(0), 7u);
  EXPECT_EQ(t.line(1), 2u);
  EXPECT_EQ(t.field(0, 1), "");
  EXPECT_THAT(t.fields(0), ElementsAre("1", "3"));
  EXPECT_TRUE(t.has_column("b"));
  EXPECT_FALSE(t.has_column("c"));
}

TEST(Table, MayBeMadeOfColumns) {
  const data::Table t{{"a", "b"}, {{"1", "2", "3"}, {"x", "y", "z"}}};
  EXPECT_EQ(t.rows(), 3u);
  EXPECT_THAT(t.fields(t.column("b")), ElementsAre("x", "y", "z"));
  EXPECT_EQ(t.line(2), 3u);
  EXPECT_THAT(error_of([] { (void)data::Table{{"a", "b"}, {{"1", "2", "3"}}}; }), HasSubstr("needs a column for each of 2 names"));
  EXPECT_THAT(error_of([] { (void)data::Table{{"a", "b"}, {{"1", "2", "3"}, {"x"}}}; }), HasSubstr("all with as many fields, got 2 columns"));
}

TEST_F(CsvFile, IsQuotedWhereItMustBe) {
  data::Table t({"a", "b;c"});
  t.add_row({"x,y", " z"});
  t.add_row({"say \"hi\"", "two\nlines"});
  EXPECT_EQ(data::csv_text(t), "a,b;c\n\"x,y\",\" z\"\n\"say \"\"hi\"\"\",\"two\nlines\"\n");
  EXPECT_EQ(data::csv_text(t, ';'), "a;\"b;c\"\nx,y;\" z\"\n\"say \"\"hi\"\"\";\"two\nlines\"\n");
  EXPECT_THAT(error_of([&] { t.add_row({"1"}); }), HasSubstr("a row needs a field for each of 2 columns, got 1 field"));
}

}  // namespace
}  // namespace sinter::test::table_test
