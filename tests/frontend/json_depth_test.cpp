// JSON from files that nests deeper than the stack is: an error.
#include "frontend/core/json_depth.h"

#include "frontend/data/encoder.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::json_depth_test {
namespace {

using testing::HasSubstr;

TEST(JsonDepth, CountsWhatIsOpen) {
  const auto error = [](const std::string& text) { return error_of([&] { check_json_depth(text, 3, "here"); }); };
  for (const char* text : {"", "1", "[[[]]]", R"({"a": [{}, {}], "b": [[1], [2], [3]]})", R"(["[[[[", "\"[[[[", "\\", []])"})
    EXPECT_EQ(error(text), "") << text;
  EXPECT_EQ(error("[[{[]}]]"), "[here] nests arrays and objects more than 3 deep (byte 3); the text is damaged or of another kind");
  EXPECT_THAT(error(R"(["\\", [[[)"), HasSubstr("(byte 9)")) << "the quote behind two backslashes ends the text";
}

TEST(JsonDepth, OfAnEncoderIsLimited) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const char* place : {"version", "target", "columns"})
    EXPECT_THAT(error_of([&] {
                  const auto value = [&](const char* name, const char* plain) {
                    return str("\"", name, "\":", place == std::string(name) ? deep : plain);
                  };
                  data::Encoder::from_json(str("{", value("version", "1"), ",", value("target", "-1"), ",", value("columns", "[]"), "}"));
                }),
                HasSubstr("[encoder] nests arrays and objects more than 4 deep"));
}

}  // namespace
}  // namespace sinter::test::json_depth_test
