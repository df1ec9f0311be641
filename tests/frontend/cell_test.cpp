// What the fields of a table say: numbers, categories, missing values, and what looks like numbers.
#include "frontend/data/cell.h"

#include "frontend/data/likeness.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::cell_test {
namespace {

using testing::HasSubstr;

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

TEST(CellRules, ReadThousandsAndTextsAroundNumbers) {
  const data::CellRules rules{.thousands = ",", .strip = {"$", "€", "EUR"}}, none;
  for (const auto& [field, value] : {std::pair{"25,500.00", 25500.0},
                                     {"1,234,567", 1234567.0},
                                     {"999", 999.0},
                                     {"12345.5", 12345.5},
                                     {"-$15.7", -15.7},
                                     {"$-15.7", -15.7},
                                     {"- $ 15.7", -15.7},
                                     {"15.7 EUR", 15.7},
                                     {"15.7\u00a0€", 15.7},
                                     {" +1,000 ", 1000.0}}) {
    EXPECT_EQ(rules.number(field), value) << field;
    const bool plain = std::string_view(field).find_first_of("$E,\xe2") == std::string_view::npos;
    EXPECT_EQ(none.number(field).has_value(), plain) << field;
  }
  for (const char* field : {"25,50", "1234,567", ",123", "1,2345", "1.5,000", "1,,000", "1,000,", "$", "--5", "-$-5", "5 USD", "1 000"})
    EXPECT_EQ(rules.number(field), std::nullopt) << field;
  const data::CellRules german{.decimal = ',', .thousands = "."}, swiss{.thousands = "’"};
  EXPECT_EQ(german.number("1.234,5"), 1234.5);
  EXPECT_EQ(german.number("1.23"), std::nullopt);
  EXPECT_EQ(swiss.number("1’000’000.25"), 1000000.25);
}

TEST(CellRules, AreCheckedAndSpacesDropped) {
  EXPECT_THAT(error_of([] { data::CellRules{.decimal = ',', .thousands = ","}.check("rules"); }),
              HasSubstr("[rules] EncoderOptions::thousands must separate digits: no digit, sign or e, and not the decimal separator ',', got ','"));
  data::CellRules{.decimal = ',', .thousands = ".", .strip = {"EUR", ",-"}}.check("rules");
  EXPECT_EQ(data::trimmed(" \t\u00a0 a b\u202f "), "a b");
  EXPECT_EQ(data::trimmed(" \u00a0"), "");
}

TEST(CellRules, CategoriesOfOneValueAreOne) {
  const data::CellRules rules{.thousands = ","};
  for (const char* one : {"1", "1.0", "01", "+1", "10e-1", "0.1E1", "1.", "0.001e+3"}) EXPECT_EQ(rules.category(one), rules.category("1")) << one;
  for (const char* zero : {"0", "-0", "0.00", "0e5"}) EXPECT_EQ(rules.category(zero), rules.category("0")) << zero;
  data::CellMemory memory;  // the same for numbers without a text
  for (const auto& [number, text] :
       {std::pair{-2.5, "-25e-1"}, {0.0, "0"}, {-0.0, "0"}, {1e300, "1e300"}, {120.0, "12e1"}, {9007199254740992, "9007199254740992e0"}}) {
    EXPECT_EQ(data::category_of(number, memory), text);
    EXPECT_EQ(data::CellRules{.decimal = ','}.category(text), text);
  }
  EXPECT_EQ((data::CellRules{.thousands = ","}.category("1,250.0", memory)), "125e1");
  EXPECT_EQ(memory.plain, "1250.0");
  EXPECT_EQ(rules.category("1,200"), rules.category("12e2"));
  EXPECT_NE(rules.category("1"), rules.category("-1"));
  EXPECT_NE(rules.category("1"), rules.category("10"));
  EXPECT_NE(rules.category("9007199254740993"), rules.category("9007199254740992"));
  for (const char* text : {"", "one", "1 ,", "inf", "0x1"}) EXPECT_EQ(rules.category(text), text);
}

TEST(Likeness, IsThatOfNumbersNotOfNamesAndRanges) {
  for (const char* text : {"1",      "-1.5", "25,500.00",    "1.234,5", "1 234", "1'000", "$15.7",   "-$15.7",   "US$ 5", "15.7 EUR",
                           "EUR 15", "5€",   "₹ 1,00,000.5", "60 %",    "60%",   "20°C",  "1248 CC", "23.4kmpl", "1.5m",  "Rs. 500"})
    EXPECT_EQ(data::looks_like_number(text), std::string_view(text) != "₹ 1,00,000.5") << text;  // groups of two are not read
  for (const char* text :
       {"", "-", "n.a.", "A1", "1st", "4WD", "<=50K", ">5", "10-20", "12:30", "2024-01-31", "1.2.3", "SKU123", "12a", "12 Main Street"})
    EXPECT_FALSE(data::looks_like_number(text)) << text;
}

TEST(Likeness, SaysWhichOptionsRead) {
  using data::reading_advice;
  const data::CellRules plain;
  EXPECT_EQ(reading_advice({"1,234", "2,500"}, plain), "either EncoderOptions::decimal = ',' or EncoderOptions::thousands = \",\"");
  EXPECT_EQ(reading_advice({"1,234", "2.5"}, plain), "EncoderOptions::thousands = \",\"");
  EXPECT_EQ(reading_advice({"1,5", "2"}, plain), "EncoderOptions::decimal = ','");
  EXPECT_EQ(reading_advice({"1.234,5", "2"}, plain), "EncoderOptions::decimal = ',' and EncoderOptions::thousands = \".\"");
  EXPECT_EQ(reading_advice({"1", "a\"b\\c"}, plain), "EncoderOptions::missing = {\"a\\\"b\\\\c\"}");
  EXPECT_EQ(reading_advice({"1", "2", "NA"}, plain), "");                     // nothing is needed
  EXPECT_EQ(reading_advice({"1,5", "2.5"}, plain), "");                       // nothing reads both
  EXPECT_EQ(reading_advice({"1", "a", "b", "c", "d", "e", "f"}, plain), "");  // not all of these are missing values
  EXPECT_EQ(reading_advice({"$ 5", "-"}, data::CellRules{.missing = {"-"}, .strip = {"$"}}), "");
}

}  // namespace
}  // namespace sinter::test::cell_test
