// Text of files on its way to a terminal.
#include <gmock/gmock.h>

#include "ir/error.h"
#include "ir/printable.h"
#include "ir/utf8.h"

namespace sinter::printable_test {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesTextAsItIs) {
  for (const std::string text : {"", "plain ~text!", "R² 0.9 · Köln €", "日本語 🙂 \u200d", "a\\x1b"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, WritesControlCharactersOut) {
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\a"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\nb\tc\rd\be\x7f"), "a\\nb\\tc\\rd\\x08e\\x7f");
  EXPECT_EQ(printable("nothing\0"s), "nothing\\x00");
  EXPECT_EQ(printable("\u0085\u009b31m"), "\\u0085\\u009b31m");  // C1: a CSI in two bytes
  EXPECT_EQ(printable("\u202egnp.exe\u2066\u200f\u061c\u2028\ufeff"), "\\u202egnp.exe\\u2066\\u200f\\u061c\\u2028\\ufeff");
  for (int c = 0; c < 0x20; ++c) EXPECT_EQ(printable(std::string(1, static_cast<char>(c))).find(static_cast<char>(c)), std::string::npos) << c;
}

TEST(Printable, WritesWhatIsNoUtf8Out) {
  EXPECT_EQ(printable("K\xf6ln"), "K\\xf6ln");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");                                                        // a CSI in one byte
  EXPECT_EQ(printable("\xc0\x9b|\xed\xa0\x80"), "\\xc0\\x9b|\\xed\\xa0\\x80");  // overlong, a surrogate
  EXPECT_EQ(printable("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

TEST(Printable, OfItselfIsTheSame) {
  const std::string text = "\x1b[31m\xff\n\u202e";
  EXPECT_EQ(printable(printable(text)), printable(text));
}

TEST(PrintableLines, KeepsLinesAndTabs) { EXPECT_EQ(printable_lines("a\tb\nc\r\x1b"), "a\tb\nc\\r\\x1b"); }

TEST(PrintableLines, IsWhatErrorsSay) {
  EXPECT_STREQ(UserError("file\n\x1b[31m", "has a column '\x1b]0;x\a\xff';\nnext line").what(),
               "[file\\n\\x1b[31m] has a column '\\x1b]0;x\\x07\\xff';\nnext line");
}

TEST(Utf8, FirstCharacter) {
  EXPECT_EQ(first_character("").bytes, 0u);
  EXPECT_EQ(first_character("€").code, U'\u20ac');
  EXPECT_EQ(first_character("€").bytes, 3u);
  EXPECT_EQ(first_character("\U0010ffff").code, U'\U0010ffff');
  EXPECT_EQ(first_character("\0x"s).bytes, 1u);
  EXPECT_EQ(first_character("\x80").bytes, 0u);
}

}  // namespace
}  // namespace sinter::printable_test
