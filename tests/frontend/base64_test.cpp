// Bytes as text.
#include "frontend/data/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sinter::test::base64_test {
namespace {

TEST(Base64, IsThatOfRfc4648) {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"},
                                                                 {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(data::base64(bytes), text);
    EXPECT_EQ(data::from_base64(text), bytes);
  }
  for (const std::string text : {"Z", "Zg", "Zg=", "Zg=a", "====", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Z===", "\xc3\xa9=="})
    EXPECT_EQ(data::from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sinter::test::base64_test
