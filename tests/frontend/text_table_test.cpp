// Tables of texts: JSON lines, folders of texts, and files with tabs whose quotes are characters.
#include <fstream>

#include "frontend/data/csv.h"
#include "frontend/data/json_lines.h"
#include "frontend/data/text_folder.h"
#include "tests/frontend/helpers.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::text_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextTable : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// What reading a file of JSON lines says.
  std::string error_in(const std::string& text) {
    const std::string path = write("lines.jsonl", text);
    return error_of([&] { (void)data::read_json_lines(path); });
  }
  const TemporaryFolder folder_;
};

TEST_F(TextTable, OfJsonLines) {
  const data::Table table = data::read_json_lines(write("a.jsonl",
                                                        "\xef\xbb\xbf{\"text\": \"fine \\u00e9\\n\", \"stars\": 4.50, \"seen\": true}\r\n\n"
                                                        "{\"stars\": -12, \"id\": 18446744073709551615, \"text\": \"\"}\n{\"text\": null}"));
  EXPECT_THAT(table.names, ElementsAre("text", "stars", "seen", "id"));
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_THAT(table.fields(0), ElementsAre("fine é\n", "", ""));
  EXPECT_THAT(table.fields(1), ElementsAre("4.50", "-12", ""));
  EXPECT_THAT(table.fields(2), ElementsAre("true", "", ""));
  EXPECT_THAT(table.fields(3), ElementsAre("", "18446744073709551615", ""));
  EXPECT_EQ(table.line(1), 3u);
}

TEST_F(TextTable, OfLinesThatAreLongerThanABlock) {
  const std::string text(200'000, 'x');
  const data::Table table = data::read_json_lines(write("a.jsonl", "{\"a\":\"" + text + "\"}\n{\"a\":\"y\"}\n"));
  EXPECT_EQ(table.field(0, 0), text);
  EXPECT_EQ(table.field(1, 0), "y");
}

TEST_F(TextTable, RefusesOtherLines) {
  const std::string path = folder_ / "lines.jsonl";
  EXPECT_EQ(error_in("{\"a\": 1}\n{\"a\": [1]}"), "[" + path + "] line 2: 'a' is an array; values are texts, numbers, true, false or null");
  EXPECT_EQ(error_in("{\"a\": {}}"), "[" + path + "] line 1: 'a' is an object; values are texts, numbers, true, false or null");
  EXPECT_EQ(error_in("{\"a\": 1, \"a\": 2}"), "[" + path + "] line 1: has 'a' twice");
  EXPECT_EQ(error_in("{\"a\": \"x\\u0000\"}"), "[" + path + "] line 1: 'a' has the character 0, which no text has");
  EXPECT_EQ(error_in("{\"a\": \"caf\xe9\"}"), "[" + path + "] line 1: is no JSON object at byte 12");
  for (const std::string& text : {std::string("[1]"), std::string("7"), std::string("\"a\""), std::string("null"), std::string(100'000, '[')})
    EXPECT_EQ(error_in(text), "[" + path + "] line 1: is no JSON object") << text.substr(0, 9);
  EXPECT_THAT(error_in("{\"a\": 1} {}"), HasSubstr("line 1: is no JSON object at byte"));
  EXPECT_EQ(error_in("\n\n"), "[" + path + "] has no JSON objects with members");
  EXPECT_EQ(error_in("{}"), "[" + path + "] has no JSON objects with members");
}

TEST_F(TextTable, OfAFolder) {
  write("train/pos/2.txt", "good\n");
  write("train/pos/1.txt",
        "\xef\xbb\xbf"
        "caf\xc3\xa9");
  write("train/neg/1.txt", "");
  write("train/neg/.hidden", "x");
  const std::string folder = folder_ / "train";
  const data::Table table = data::read_text_folder(folder);
  EXPECT_THAT(table.names, ElementsAre("class", "text"));
  EXPECT_THAT(table.fields(0), ElementsAre("neg", "pos", "pos"));
  EXPECT_THAT(table.fields(1), ElementsAre("", "café", "good\n"));
  EXPECT_EQ(data::read_text_folder(folder, {.classes = {"neg"}}).rows(), 1u);
  write("train/neg/2.txt", "caf\xe9");
  EXPECT_THAT(error_of([&] { (void)data::read_text_folder(folder); }),
              HasSubstr("2.txt] the bytes are not of the encoding 'utf-8'; give that of the file, as latin1 or cp1252"));
  EXPECT_EQ(data::read_text_folder(folder, {.encoding = "latin1"}).field(1, 1), "café");
  write("train/neg/2.txt", std::string("a\0b", 3));
  EXPECT_THAT(error_of([&] { (void)data::read_text_folder(folder); }), HasSubstr("2.txt] has the character 0, which no text has"));
}

TEST_F(TextTable, RefusesFoldersWithoutTexts) {
  const std::string folder = folder_ / "train";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(error_of([&] { (void)data::read_text_folder(folder); }), "[" + folder + "] needs a subfolder with texts for each class");
  std::filesystem::create_directories(folder + "/pos");
  EXPECT_EQ(error_of([&] { (void)data::read_text_folder(folder); }), "[" + folder + "/pos] holds no texts; remove it, or put some into it");
  EXPECT_EQ(error_of([&] { (void)data::read_text_folder(folder, {.classes = {"neg"}}); }), "[" + folder + "] has no subfolder 'neg'");
  EXPECT_THAT(error_of([&] { (void)data::read_text_folder(folder_ / "none"); }), HasSubstr("none] cannot be read: "));
}

TEST_F(TextTable, OfTabsWithoutQuotes) {
  const std::string path = write("a.tsv", "1\tHe said \"no\"\n0\t\"fine\n");
  EXPECT_THAT(error_of([&] { (void)data::read_csv(path, {.delimiter = '\t', .header = false}); }), HasSubstr("as in --quotes none"));
  const data::Table table = data::read_csv(path, {.delimiter = '\t', .quotes = false, .names = {"label", "review"}});
  EXPECT_THAT(table.names, ElementsAre("label", "review"));
  EXPECT_THAT(table.fields(1), ElementsAre("He said \"no\"", "\"fine"));
  EXPECT_THAT(error_of([&] { (void)data::read_csv(path, {.delimiter = '\t', .quotes = false, .names = {"label"}}); }),
              HasSubstr("line 1: the first row has 2 fields, but there are 1 names"));
  const std::string zero = write("b.tsv", std::string("a\tb\n1\t\0x\n", 9));
  EXPECT_EQ(error_of([&] { (void)data::read_csv(zero, {.delimiter = '\t', .quotes = false}); }),
            "[" + zero + "] line 2: has byte 0x00, which no text has");
}

}  // namespace
}  // namespace sinter::test::text_table_test
