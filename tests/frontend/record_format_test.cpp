// Records as fields: JSON and delimited text.
#include "frontend/serve/record_format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "frontend/serve/plain_number.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::record_format_test {
namespace {

using serve::Format;
using serve::record_reader;
using testing::ElementsAre;
using testing::HasSubstr;

/// The fields of a record, texts in quotes, or the error.
class Fields {
 public:
  Fields(const serve::RecordFormat& format, std::vector<std::string> columns, std::vector<std::string> categories = {},
         const std::vector<std::string>& numbers = {})
      : reader_(record_reader(format, std::move(columns), std::move(categories), numbers)) {}
  std::string of(std::string_view record) {
    std::string text;
    const std::string error = error_of([&] {
      for (const data::Field& field : reader_->read(record)) {
        if (!text.empty()) text += ' ';
        if (const auto* value = std::get_if<std::string_view>(&field)) text += str("'", *value, "'");
        else text += exact(std::get<double>(field));
      }
    });
    return error.empty() ? text : error;
  }

 private:
  static std::string exact(double value) {
    std::array<char, 32> digits;
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
  }

  std::unique_ptr<serve::RecordReader> reader_;
};

TEST(RecordFormat, HasNames) {
  EXPECT_EQ(serve::text_of(Format::delimited), "csv");
  EXPECT_EQ(serve::format_named("raw"), Format::raw);
  EXPECT_EQ(serve::format_named("json"), Format::json);
  EXPECT_EQ(error_of([] { (void)serve::format_named("jsn"); }), "[stream] records are json, csv or raw, not 'jsn'; the nearest is 'json'");
  EXPECT_THAT(error_of([] { (void)record_reader({.format = Format::raw}, {"a"}); }), HasSubstr("raw records are numbers without fields"));
  EXPECT_THAT(error_of([] { (void)record_reader({}, {"a", "b", "a"}); }), HasSubstr("two columns of the records are called 'a'"));
  EXPECT_THAT(error_of([] { (void)record_reader({.format = Format::delimited, .delimiter = '"'}, {"a"}); }),
              HasSubstr("fields must not be separated by a quote or an end of line"));
}

TEST(JsonRecord, IsReadByNamesOrInOrder) {
  Fields fields({}, {"a", "b c", "d\"e", "town"}, {"town"});
  EXPECT_EQ(fields.of(R"({"a":1,"b c":-2.5e3,"d\"e":"x","town":"Köln"})"), "1 -2500 'x' 'Köln'");
  EXPECT_EQ(fields.of(R"( { "town" : "\u00fc\n" , "a" : "7" } )"), "'7' '' '' '\u00fc\n'");
  EXPECT_EQ(fields.of(R"({"\u0061":4,"b":{"a":[1,{"a":2}],"x":null},"town":null,"more":[],"last":false})"), "4 '' '' ''");
  EXPECT_EQ(fields.of(R"(["x", 2, null, true])"), "'x' 2 '' 'true'");
  EXPECT_EQ(fields.of(R"({"a":true,"b c":false,"town":false})"), "1 0 '' 'false'");
  EXPECT_EQ(fields.of("{}\r"), "'' '' '' ''");
  // Whole numbers that a double cannot hold stay what they are, where they are categories.
  EXPECT_EQ(fields.of(R"({"town":9007199254740993 ,"a":9007199254740993})"), "9007199254740992 '' '' '9007199254740993'");
  EXPECT_EQ(fields.of(R"({"town":-90071992547409931,"a":0.1234567890123456789})"), "0.12345678901234568 '' '' '-90071992547409931'");
}

TEST(JsonRecord, WhatIsNoneIsRefused) {
  Fields fields({}, {"a", "b"});
  for (const char* bad : {"",
                          " ",
                          "{",
                          "}",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{\"a\":1,}",
                          "{\"a\":1 \"b\":2}",
                          "{\"a\":01}",
                          "{\"a\":1.}",
                          "{\"a\":-}",
                          "{\"a\":1e}",
                          "{\"a\":\"x}",
                          "{\"a\":\"\xff\"}",
                          "{\"a\":\"\\q\"}",
                          "{\"a\":tru}",
                          "{\"a\":falsey}",
                          "{\"c\":nope}",
                          "{\"c\":[1 2]}",
                          "{\"c\":{\"d\":[1,2}}",
                          "{\"c\":[1,,2]}",
                          "{\"c\":[\"\\u12\"]}",
                          "{\"a\":1e999}",
                          "[1,2",
                          "[1 2]",
                          "[1,2,]",
                          "{\"a\":\"\t\"}",
                          "{\"\\x\":1}",
                          "{a:1}",
                          "\xef\xbb\xbf{}"})
    EXPECT_THAT(fields.of(bad), HasSubstr("[json] the record is no JSON: ")) << bad;
  for (const char* bad : {R"({"a":nul})", R"({"c":nil})"}) EXPECT_THAT(fields.of(bad), HasSubstr("[json] the record is no JSON: ")) << bad;
  for (const char* bad : {"1", "\"text\"", "null", "true"})
    EXPECT_THAT(fields.of(bad), HasSubstr("a record is an object by the names of the columns, or an array in their order")) << bad;
  EXPECT_THAT(fields.of("{} {}"), HasSubstr("there is something behind the end of the record"));
  EXPECT_EQ(fields.of(R"({"a":1,"b":2,"a":3})"), "[json] the record has 'a' twice");
  EXPECT_EQ(fields.of("[1,2,3]"), "[json] the record has 3 values, but there are 2 columns");
  EXPECT_EQ(fields.of("[[1],2]"), "[json] 'a' holds an array or an object; fields are numbers, texts, true, false or null");
  EXPECT_EQ(fields.of(R"({"b":{}})"), "[json] 'b' holds an array or an object; fields are numbers, texts, true, false or null");
  const std::string deep = "{\"c\":" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_EQ(fields.of(deep), "[json] the record nests deeper than 64 levels");
  EXPECT_EQ(fields.of("{\"a\":1,\"b\":2}"), "1 2") << "after all that";
}

// Records that look like those before them are read without the parser, which a name that was not there before calls: both must say the same.
TEST(JsonRecord, IsReadAlikeWithAndWithoutTheParser) {
  const std::vector<std::string> columns{"a", "b c", "town"}, texts{"town"};
  const std::vector<std::string> records{R"({"a":1.25,"b c":-7,"town":"Ulm"})", R"({"a": 1e-3 , "b c" :null,"town":12345678901234567})",
                                         R"({"a":true,"b c":false,"town":false})", R"([-0.5,"x",true])", R"({"town":"U\u006cm","x":"y","a":0})"};
  RandomStream choices(3, 1);
  constexpr std::string_view bytes = "{}[]\",:\\ 0123456789-+.eEnul\x80\t'";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string record = records[choices.below(static_cast<std::uint32_t>(records.size()))];
    for (std::uint32_t changes = choices.below(4); changes; --changes) {
      const std::size_t at = choices.below(static_cast<std::uint32_t>(record.size()));
      if (choices.below(2)) record[at] = bytes[choices.below(bytes.size())];
      else record.erase(at, 1 + choices.below(2));
      if (record.empty()) record = "{";
    }
    Fields flat({}, columns, texts), parsed({}, columns, texts);
    (void)flat.of(records[static_cast<std::size_t>(i) % records.size()]);
    (void)parsed.of(R"({"no":"name of these"})");  // and so not what the next is expected to look like
    const bool is_object = record.starts_with("{\"");
    const std::string one = flat.of(record), other = parsed.of(is_object ? "{\"zz\":[]," + record.substr(1) : record);
    const bool is_error = one.starts_with("[json]");
    ASSERT_TRUE(!is_object || is_error == other.starts_with("[json]")) << record << "\n" << one << "\n" << other;
    ASSERT_TRUE(is_error || one == other) << record << "\n" << one << "\n" << other;
    accepted += !is_error;
  }
  EXPECT_GT(accepted, 5000);
}

TEST(PlainNumber, IsReadExactly) {
  RandomStream choices(4, 1);
  const auto read = [](std::string text) {
    text.resize(text.size() + 64);
    serve::PlainNumber number;
    const char* end = serve::read_plain_number(text.data(), number);
    return std::pair(end ? end - text.data() : -1, number);
  };
  for (int i = 0; i < 20000; ++i) {
    std::string text = choices.below(2) ? "-" : "";
    const std::uint32_t whole = choices.below(20), fraction = choices.below(20);
    text += whole == 0 ? '0' : static_cast<char>('1' + choices.below(9));
    for (std::uint32_t d = 1; d < whole; ++d) text += static_cast<char>('0' + choices.below(10));
    if (fraction) text += '.';
    for (std::uint32_t d = 0; d < fraction; ++d) text += static_cast<char>('0' + choices.below(10));
    if (choices.below(4) == 0) text += (choices.below(2) ? "e-" : "E+") + std::to_string(choices.below(40));
    const auto [end, number] = read(text + ",");
    ASSERT_EQ(end, static_cast<std::ptrdiff_t>(text.size())) << text;
    ASSERT_EQ(number.value, std::strtod(text.c_str(), nullptr)) << text;
  }
  for (const char* none : {"", "-", "+1", ".5", "1.", "01", "-01.5", "1.e5", "1e", "1e+", "e5", "1e999", "nan", "/", ":"})
    EXPECT_EQ(read(none).first, -1) << none;
  EXPECT_TRUE(read("1234567890123456").second.is_long);
  EXPECT_FALSE(read("123456789012345").second.is_long || read("0.1234567890123456789").second.is_long);
  EXPECT_TRUE(std::signbit(read("-0").second.value));
}

TEST(DelimitedRecord, NumbersAreReadWhereTheyAreWanted) {
  const std::vector<std::string> numbers{"a", "c"};
  Fields fields({.format = Format::delimited}, {"a", "b", "c"}, {}, numbers);
  EXPECT_EQ(fields.of("1.5,1.5,-2e3"), "1.5 '1.5' -2000");
  EXPECT_EQ(fields.of(" 7 , 7 ,12345678901234567890"), "7 '7' 12345678901234567168");
  EXPECT_EQ(fields.of("1x,,+5"), "'1x' '' '+5'");
  EXPECT_EQ(fields.of("\"3\",\"3\",3 4"), "'3' '3' '3 4'");
  EXPECT_THAT(fields.of("1,2"), HasSubstr("the record has 2 fields"));
  EXPECT_THAT(fields.of("1,2,3,4"), HasSubstr("the record has 4 fields"));
  Fields points({.format = Format::delimited, .delimiter = '.'}, {"a", "b", "c"}, {}, numbers);
  EXPECT_EQ(points.of("1.2.3"), "'1' '2' '3'");
}

TEST(DelimitedRecord, IsQuotedAsRFC4180Says) {
  Fields fields({.format = Format::delimited}, {"a", "b", "c"});
  EXPECT_EQ(fields.of("1,x,2.5"), "'1' 'x' '2.5'");
  EXPECT_EQ(fields.of(" 1 ,\tx y , \r\n"), "'1' 'x y' ''");
  EXPECT_EQ(fields.of(R"("a,b","say ""hi""" ,"")"), "'a,b' 'say \"hi\"' ''");
  EXPECT_EQ(fields.of("\"two\nlines\",,\"\"\"\""), "'two\nlines' '' '\"'");
  EXPECT_EQ(fields.of("Köln,,"), "'Köln' '' ''");
  Fields tabs({.format = Format::delimited, .delimiter = '\t'}, {"a", "b"});
  EXPECT_EQ(tabs.of(" a,b \t"), "'a,b' ''");
  Fields one({.format = Format::delimited}, {"a"});
  EXPECT_EQ(one.of(""), "''");
  EXPECT_THAT(serve::delimited_fields("\"x;y\";z;", ';'), ElementsAre("x;y", "z", ""));
}

TEST(DelimitedRecord, WhatIsNoneIsRefused) {
  Fields fields({.format = Format::delimited}, {"a", "b"});
  EXPECT_EQ(fields.of("1"), "[csv] the record has 1 field, but there are 2 columns; is a delimiter missing?");
  EXPECT_EQ(fields.of("1,2,3"), "[csv] the record has 3 fields, but there are 2 columns; is a delimiter missing?");
  EXPECT_EQ(fields.of("\"1,2"), "[csv] a quote is not closed before the end of the record");
  EXPECT_EQ(fields.of("\"1\"x,2"), "[csv] there is 'x,2' behind a closing quote; a quote in quotes is written twice");
  EXPECT_THAT(fields.of("1\"2,3"), HasSubstr("a field holds a quote or an end of line, '1\"2', but is not in quotes"));
  EXPECT_THAT(fields.of("1\r2,3"), HasSubstr("but is not in quotes"));
  EXPECT_EQ(fields.of("1,\xff"), "[csv] byte 3 of the record is no text in UTF-8; convert what is in another encoding");
  EXPECT_THAT(fields.of(std::string_view("1,\0", 3)), HasSubstr("byte 3 of the record is no text in UTF-8"));
  EXPECT_EQ(fields.of("1,2"), "'1' '2'") << "after all that";
}

}  // namespace
}  // namespace sinter::test::record_format_test
