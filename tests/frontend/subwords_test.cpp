// Texts as subwords: models that SentencePiece made (tests/fixtures/subwords.py), and files that are none.
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "frontend/data/base64.h"
#include "frontend/data/prefix_tree.h"
#include "frontend/data/vocabulary.h"
#include "tests/frontend/helpers.h"
#include "tests/frontend/sentencepiece_fixtures.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::subwords_test {
namespace {

using data::SubwordOptions;
using data::Vocabulary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<std::int32_t>;

// ---- what SentencePiece makes of texts ----

const nlohmann::json& expected() {
  static const nlohmann::json all = nlohmann::json::parse(sentencepiece_fixtures().at("expected"));
  return all;
}

Vocabulary vocabulary_of(const std::string& model, const SubwordOptions& options = {}) {
  const TemporaryFolder folder;
  write_bytes(folder / "some.model", model);
  return Vocabulary::from_sentencepiece(folder / "some.model", options);
}

class SentencePiece : public testing::TestWithParam<std::string> {
 protected:
  /// The numbers of ids: the unknown piece is 2, the others follow from 3.
  Numbers numbers_of(const std::vector<std::int32_t>& ids) const {
    const std::int32_t unknown = expected_["unknown"];
    Numbers numbers;
    for (const std::int32_t id : ids) numbers.push_back(id == unknown ? Vocabulary::unknown : Vocabulary::reserved + id - (id > unknown));
    return numbers;
  }

  void expect_same_results(const Vocabulary& vocabulary) const {
    EXPECT_EQ(vocabulary.size(), expected_["pieces"].get<std::int64_t>() - 1 + Vocabulary::reserved);
    const std::vector<std::string> texts = expected()["texts"];
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Numbers numbers = vocabulary.encode(texts[i]);
      EXPECT_EQ(numbers, numbers_of(expected_["ids"][i])) << texts[i];
      EXPECT_EQ(vocabulary.decode(numbers), expected_["decoded"][i].get<std::string>()) << texts[i];
    }
    for (std::size_t i = 0; i < expected_["sequences"].size(); ++i)
      EXPECT_EQ(vocabulary.decode(numbers_of(expected_["sequences"][i])), expected_["sequences_decoded"][i].get<std::string>())
          << expected_["sequences"][i];
  }

  const nlohmann::json& expected_ = expected()["models"][GetParam()];
  const Vocabulary vocabulary_ = vocabulary_of(sentencepiece_fixtures().at(GetParam()));
};

TEST_P(SentencePiece, EncodesAndDecodesAsTheLibrary) { expect_same_results(vocabulary_); }

TEST_P(SentencePiece, IsTheSameFromItsDescription) {
  const std::string description = vocabulary_.to_json();
  const Vocabulary read = Vocabulary::from_json(description);
  EXPECT_EQ(read.words(), vocabulary_.words());
  EXPECT_EQ(read.to_json(), description);
  expect_same_results(read);
}

TEST_P(SentencePiece, SumsScoresOfALongTextAsTheLibrary) {
  const std::string part = expected()["long"]["text"];
  std::string text;
  for (int i = 0; i < expected()["long"]["times"].get<int>(); ++i) text += part;
  const Numbers numbers = vocabulary_.encode(text);
  ASSERT_EQ(numbers.size(), expected_["long"]["count"].get<std::size_t>());
  const std::int32_t unknown = expected_["unknown"];
  std::string ids;
  for (const std::int32_t number : numbers) {
    const std::int32_t id = number - Vocabulary::reserved;
    ids += little_endian(static_cast<std::uint32_t>(number == Vocabulary::unknown ? unknown : id + (unknown >= 0 && id >= unknown)), 4);
  }
  EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(ids.data()), static_cast<uInt>(ids.size())), expected_["long"]["crc32"].get<std::uint32_t>());
}

TEST_P(SentencePiece, KnowsItsPieces) {
  for (std::size_t i = 0; i < vocabulary_.words().size(); ++i)
    EXPECT_EQ(vocabulary_.number(vocabulary_.words()[i]), Vocabulary::reserved + static_cast<std::int32_t>(i));
  EXPECT_EQ(vocabulary_.number("<unk>"), Vocabulary::unknown);
  EXPECT_EQ(vocabulary_.number("no piece"), Vocabulary::unknown);
}

INSTANTIATE_TEST_SUITE_P(Each, SentencePiece,
                         testing::Values("unigram", "unigram_bytes", "unigram_unused", "prefixed", "suffix", "bpe", "bpe_bytes", "bpe_unused",
                                         "folded", "exact", "words", "characters"),
                         [](const auto& info) { return info.param; });

// ---- models made here ----

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string field(int number, std::uint64_t value) { return varint(static_cast<std::uint64_t>(number) << 3) + varint(value); }
std::string field(int number, const std::string& bytes) { return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes; }
std::string score(float value) { return "\x15" + little_endian(std::bit_cast<std::uint32_t>(value), 4); }

enum Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
std::string piece(const std::string& text, float value = 0, std::uint64_t type = normal) {
  return field(1, field(1, text) + score(value) + field(3, type));
}
std::string options(const std::string& trainer = {}, const std::string& normalization = {}) { return field(2, trainer) + field(3, normalization); }

const std::string unk = piece("<unk>", 0, unknown), a = piece("a", -1), small = unk + a + options();

/// Rules of normalization: what begins with this byte becomes the first of the replacements. The root leads to block 1 of the double array, that
/// to 2.
std::string charsmap(const std::string& replacements, unsigned char from = 'A', std::uint32_t root = 256 << 10) {
  std::vector<std::uint32_t> units(3 * 256);
  units[0] = root;
  units[256 + from] = from | 1u << 8 | ((256u + from) ^ 512) << 10;
  units[512] = 1u << 31;
  std::string bytes = little_endian(4 * units.size(), 4);
  for (const std::uint32_t unit : units) bytes += little_endian(unit, 4);
  return bytes + replacements;
}

/// The pieces that a text is divided into, without a space before it.
std::vector<std::string> divided(std::string_view text, int kind, const std::string& pieces) {
  const Vocabulary vocabulary = vocabulary_of(unk + pieces + options(field(3, static_cast<std::uint64_t>(kind)), field(3, std::uint64_t{0})));
  std::vector<std::string> parts;
  for (const std::int32_t number : vocabulary.encode(text)) parts.push_back(vocabulary.decode(Numbers{number}));
  return parts;
}
const std::string no_piece = " \u2047 ";

TEST(SubwordVocabulary, HasThePiecesInTheOrderOfTheirIds) {
  const Vocabulary vocabulary = vocabulary_of(piece("<s>", 0, control) + a + unk + piece("\u2581a", -1) + options());
  EXPECT_THAT(vocabulary.words(), ElementsAre("<s>", "a", "\u2581a"));
  EXPECT_EQ(vocabulary.size(), 6);
  EXPECT_THAT(vocabulary.encode("a aa b"), ElementsAre(5, 5, 4, Vocabulary::unknown));
  EXPECT_EQ(vocabulary.decode(Numbers{0, 1, 3, 5, 5, 4, 2, 0}), "a aa \u2047 ");
  EXPECT_EQ(error_of([&] { (void)vocabulary.decode(Numbers{6}); }), "[Vocabulary] number 6 is outside of [0, 6)");
}

TEST(SubwordVocabulary, OfUnigramsFindsTheBestSum) {
  const auto unigram = [](std::string_view text, const std::string& pieces) { return divided(text, 1, pieces); };
  EXPECT_THAT(unigram("abc", piece("abc", -3) + piece("ab", -1) + piece("c", -1)), ElementsAre("ab", "c"));
  EXPECT_THAT(unigram("abc", piece("a", -1) + piece("bc", -1) + piece("ab", -1) + piece("c", -1)), ElementsAre("a", "bc"))
      << "of equal sums the first found";
  EXPECT_THAT(unigram("abcd", piece("abc", 0, user_defined) + piece("d", 0, user_defined) + piece("a", 0, user_defined) +
                                  piece("b", 0, user_defined) + piece("cd", 0, user_defined) + piece("e")),
              ElementsAre("abc", "d"))
      << "the fewest of those that a user defined";
  const std::string b60(60, 'b');
  EXPECT_THAT(unigram("x" + b60, piece(b60, 0, user_defined) + piece("x" + b60, -1)), ElementsAre("x" + b60)) << "10 less than the least score";
  EXPECT_THAT(unigram(std::string(20, 'x') + "ab", piece("x", -60000) + piece("a", -0.5f) + piece("b", -0.5f) + piece("ab", -1.02f)).size(), 22u)
      << "a sum of a million does not drown the difference";
  EXPECT_THAT(unigram("ab", piece("ab", 0, unused) + a), ElementsAre("a", no_piece));
}

TEST(SubwordVocabulary, OfPairsMergesTheHighestScore) {
  const auto bpe = [](std::string_view text, const std::string& pieces) { return divided(text, 2, pieces); };
  const std::string letters = piece("a", -9) + piece("b", -9) + piece("c", -9);
  EXPECT_THAT(bpe("abc", letters + piece("ab", -2) + piece("bc", -1)), ElementsAre("a", "bc"));
  EXPECT_THAT(bpe("aaa", letters + piece("aa", -1)), ElementsAre("aa", "a")) << "of equal scores the left one";
  EXPECT_THAT(bpe("abc", letters + piece("ab", -1, unused) + piece("abc", -2)), ElementsAre("abc"));
  EXPECT_THAT(bpe("abx", letters + piece("ab", -1, unused)), ElementsAre("a", "b", no_piece)) << "divided again";
  EXPECT_THAT(bpe("abc", piece("a", -9) + piece("b", 0, user_defined) + piece("c", -9) + piece("ab", -1) + piece("bc", -1)),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(bpe("ab", piece("a", -9, unused) + piece("b", -9)), ElementsAre(no_piece, "b"));
}

TEST(SubwordVocabulary, OfWordsOrCharactersLooksThemUp) {
  EXPECT_THAT(divided("a b", 3, a + piece("\u2581b")), ElementsAre("a", "b"));
  EXPECT_THAT(divided("ab", 4, a + piece("ab") + piece("b", 0, unused)), ElementsAre("a", no_piece));
  EXPECT_THAT(divided("abc", 4, a + piece("bc", 0, user_defined)), ElementsAre("a", "bc"));
}

TEST(SubwordVocabulary, BeginsAndCutsTexts) {
  const auto encoded = [](const SubwordOptions& options) {
    return vocabulary_of(small + piece("b", -1) + piece("\u2581", -1), options).encode("abab");
  };
  EXPECT_THAT(encoded({}), ElementsAre(5, 3, 4, 3, 4));
  EXPECT_THAT(encoded({.start = true, .longest = 3}), ElementsAre(Vocabulary::start, 5, 3));
  EXPECT_THAT(encoded({.longest = 2, .keep = Keep::last}), ElementsAre(3, 4));
  const Vocabulary vocabulary = vocabulary_of(small, {.start = true, .longest = 3, .keep = Keep::last}),
                   read = Vocabulary::from_json(vocabulary.to_json());
  EXPECT_TRUE(read.options().start);
  EXPECT_EQ(read.options().longest, 3);
  EXPECT_EQ(read.options().keep, Keep::last);
  EXPECT_THAT(vocabulary.encode(""), ElementsAre(Vocabulary::start));
  EXPECT_EQ(error_of([] { vocabulary_of(small, {.longest = -1}); }), "[Vocabulary] longest must be at least 0, got -1");
}

TEST(SubwordVocabulary, MakesSequencesOfTexts) {
  const Sequences all = vocabulary_of(small).encode_all(std::vector<std::string>{"a", "", "aa"});
  EXPECT_THAT(all.offsets(), ElementsAre(0, 2, 2, 5));
}

TEST(SubwordVocabulary, RefusesTextThatIsNotUtf8) {
  const Vocabulary vocabulary = vocabulary_of(small);
  EXPECT_EQ(error_of([&] { (void)vocabulary.encode("caf\xe9"); }),
            "[subwords] the text is not UTF-8 at byte 3; convert it, or name its encoding when it is read");
  EXPECT_THAT(error_of([&] { (void)vocabulary.encode_all(std::vector<std::string>{"a", "\xff"}); }),
              HasSubstr("[Vocabulary] text 1: [subwords] the text"));
}

TEST(SubwordVocabulary, MayLackAnUnknownPieceIfEachByteHasOne) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(i));
    bytes += piece(name, 0, byte);
  }
  const Vocabulary vocabulary = vocabulary_of(bytes + options(field(35, 1), field(3, std::uint64_t{0}) + field(5, std::uint64_t{0})));
  EXPECT_THAT(vocabulary.encode("é"), ElementsAre(Vocabulary::reserved + 0xc3, Vocabulary::reserved + 0xa9));
  EXPECT_EQ(vocabulary.decode(vocabulary.encode("é €")), "é €");
}

TEST(SubwordVocabulary, SkipsFieldsThatItDoesNotKnow) {
  const std::string all = field(9, 7) + field(200, "later") + varint(9 << 3 | 1) + "12345678" + varint(9 << 3 | 5) + "1234";
  const std::string known = field(1, field(1, "a") + all + score(-1));
  EXPECT_THAT(vocabulary_of(all + unk + known + options(all, all) + all).encode("a"), ElementsAre(2, 3));
}

TEST(SubwordVocabulary, FollowsRulesOfNormalization) {
  const auto with = [](const std::string& rules) { return vocabulary_of(unk + a + options({}, field(2, rules) + field(3, std::uint64_t{0}))); };
  EXPECT_THAT(with(charsmap(std::string("a\0", 2))).encode("AaA"), ElementsAre(3, 3, 3));
  EXPECT_THAT(with(charsmap(std::string("aa \0", 4))).encode("A"), ElementsAre(3, 3));
  EXPECT_THAT(with(charsmap(std::string("\0", 1))).encode("Aa"), ElementsAre(3));
  EXPECT_THAT(with(charsmap(std::string("a\0", 2), 'A', 1 << 10 | 1 << 9)).encode("A"), ElementsAre(3)) << "an offset in blocks";
  const std::string half = charsmap(std::string("a\0", 2), 0xc3);
  EXPECT_THAT(vocabulary_of(unk + a + piece("\ufffd", -1) + options({}, field(2, half) + field(3, std::uint64_t{0}))).encode("é"), ElementsAre(3, 4))
      << "a rule for half a character";
}

TEST(SubwordVocabulary, RefusesRulesThatAreDamaged) {
  const std::string sound = charsmap(std::string("a\0", 2));
  const auto with = [&](std::size_t unit, std::uint32_t value) {
    std::string changed = sound;
    return changed.replace(4 + 4 * unit, 4, little_endian(value, 4));
  };
  const std::vector<std::pair<std::string, std::string>> faults{
      {"abc", "a trie of 0 bytes is no part of 3 in blocks of 1024"},
      {little_endian(1024, 4) + "short", "a trie of 1024 bytes is no part of 9 in blocks of 1024"},
      {little_endian(4, 4) + std::string(9, '\0'), "a trie of 4 bytes is no part of 13"},
      {sound.substr(0, sound.size() - 1), "the replacements are not UTF-8, each with a 0 behind it"},
      {sound.substr(0, sound.size() - 2), "the replacements are not UTF-8, each with a 0 behind it"},
      {sound + std::string("\xff\0", 2), "the replacements are not UTF-8, each with a 0 behind it"},
      {sound + std::string(1001, 'a') + std::string(1, '\0'), "a replacement has 1001 bytes, more than 1000"},
      {with(512, 1u << 31 | 1), "no replacement begins at 1 of 2"},
      {with(512, 1u << 31 | 2), "no replacement begins at 2 of 2"},
      {with(0, 1u << 31), "unit 0 of 768 leads to 2097152, where nothing follows"},
      {with(0, 768 << 10), "unit 0 of 768 leads to 768, where nothing follows"},
      {with(5, 1024 << 10), "unit 5 of 768 leads to 1029, where nothing follows"},
      {with(512, 0), "unit 321 of 768 leads to 512, where nothing follows"},
  };
  for (const auto& [rules, message] : faults)
    EXPECT_THAT(
        error_of([&] { vocabulary_of(unk + a + options({}, field(2, rules))); }),
        AllOf(HasSubstr("some.model] the rules of normalization are damaged: " + message), HasSubstr("; give the .model file that spm_train wrote")));
}

TEST(SubwordVocabulary, RefusesModelsThatBreakARule) {
  const std::vector<std::pair<std::string, std::string>> faults{
      {"", "it has no pieces"},
      {unk + options(), "it has no pieces"},
      {a + options(), "it has 0 pieces of the type unknown, not one"},
      {unk + piece("<u>", 0, unknown) + a + options(), "it has 2 pieces of the type unknown, not one"},
      {small + piece("", -1), "piece 2 has 0 bytes, which must be from 1 to 7999"},
      {small + piece(std::string(8000, 'x'), -1), "piece 2 has 8000 bytes"},
      {small + piece("b\xff", -1), "piece 2 is not UTF-8 at byte 1"},
      {small + a, "the piece 'a' is there twice"},
      {small + piece("b", NAN), "the score of the piece 'b' is nan"},
      {small + piece("b", 0, 7), "the type of a piece is 7, which is not known"},
      {small + piece("<0x4>", 0, byte), "the piece '<0x4>' is of a byte, but is not written as one, as <0x0A>"},
      {small + piece("<0xg0>", 0, byte), "the piece '<0xg0>' is of a byte"},
      {small + piece("<0x41>", 0, byte), "it has pieces for 1 of 256 bytes, without byte_fallback"},
      {small + options(field(35, 1)), "it has pieces for 0 of 256 bytes, with byte_fallback"},
      {small + options(field(3, 5)), "its kind is 5, which is not known"},
      {small + options(field(44, "\xff")), "the surface of the unknown piece is not UTF-8"},
      {unk + a + field(2, ""), "it ends before its options"},
      {small + varint(9 << 3 | 3), "a field has the type 3 of Protobuf"},
      {small + field(1, 5), "field 1 has the type 0 of Protobuf, not 2"},
      {small + field(1, field(2, 5)), "field 2 has the type 0 of Protobuf, not 5"},
      {small + options(field(35, "x")), "field 35 has the type 2 of Protobuf, not 0"},
      {small + std::string(10, '\xff'), "a number has more than 64 bits"},
      {small + "\x0a\x05"
               "abc",
       "a field of 5 bytes is cut off after 3"},
      {small + "\x15"
               "ab",
       "a field of 4 bytes is cut off after 2"},
      {small + "\xff", "a field of 1 bytes is cut off after 0"},
      {read_bytes(SINTER_TEST_FIXTURES "/rgb.png"), "a field has the type 4 of Protobuf"},
      {"just some words in a file", "a field"},
  };
  for (const auto& [model, message] : faults)
    EXPECT_THAT(error_of([&] { vocabulary_of(model); }), AllOf(HasSubstr("some.model] no SentencePiece model, or a damaged one: " + message),
                                                               HasSubstr("; give the .model file that spm_train wrote")));
  EXPECT_THAT(error_of([] { Vocabulary::from_sentencepiece("nowhere.model"); }), HasSubstr("[nowhere.model] "));
}

TEST(SubwordVocabulary, RefusesDescriptionsOfDamagedModels) {
  const std::string whole = vocabulary_of(small).to_json(), model = data::base64(small);
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string changed = whole;
    return changed.replace(changed.find(part), part.size(), other);
  };
  EXPECT_EQ(error_of([&] { Vocabulary::from_json(with(model, "a?==")); }), "[Vocabulary] the description is damaged: its model is not in base64");
  EXPECT_THAT(error_of([&] { Vocabulary::from_json(with(model, "AAAA")); }), HasSubstr("[Vocabulary] no SentencePiece model, or a damaged one: "));
  EXPECT_THAT(error_of([&] { Vocabulary::from_json(with("\"" + model + "\"", "3")); }), HasSubstr("[Vocabulary] the description is damaged ("));
  EXPECT_THAT(error_of([&] { Vocabulary::from_json(with("first", "both")); }), HasSubstr("it keeps 'both', neither first nor last"));
}

/// Cut anywhere and with any bit changed: an error, or a vocabulary that works.
TEST(SubwordVocabulary, OfADamagedModelWorksOrIsRefused) {
  const std::vector<std::string> texts = expected()["texts"];
  std::size_t errors = 0, vocabularies = 0;
  const auto use = [&](const std::string& model) {
    try {
      const auto vocabulary =
          Vocabulary::from_json(R"({"version":1,"kind":"subwords","start":false,"longest":0,"keep":"first","model":")" + data::base64(model) + "\"}");
      ++vocabularies;
      for (const std::string& text : texts) {
        const Numbers numbers = vocabulary.encode(text);
        for (const std::int32_t number : numbers) ASSERT_TRUE(number >= 2 && number < vocabulary.size());
        (void)vocabulary.decode(numbers);
      }
    } catch (const UserError&) {
      ++errors;
    }
  };
  for (const std::string name : {"suffix", "bpe_unused", "exact"}) {
    const std::string& sound = sentencepiece_fixtures().at(name);
    for (std::size_t size = 0; size < sound.size(); size += 7) use(sound.substr(0, size));
    for (std::size_t bit = 0; bit < 8 * sound.size(); bit += 101) {
      std::string changed = sound;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      use(changed);
    }
  }
  EXPECT_GT(errors, 100u);
  EXPECT_GT(vocabularies, 100u);
}

// ---- parts ----

TEST(PrefixTree, FindsWhatATextBeginsWith) {
  const data::PrefixTree tree({{"ab", 4}, {"a", 7}, {"abcd", 0}, {"b", 2}, {"\xff", 1}});
  std::vector<std::pair<std::size_t, std::int32_t>> found;
  tree.for_each_prefix("abcde", [&](std::size_t length, std::int32_t number) { found.emplace_back(length, number); });
  EXPECT_THAT(found, ElementsAre(std::pair(1, 7), std::pair(2, 4), std::pair(4, 0)));
  EXPECT_EQ(tree.longest_prefix("abc"), 2u);
  EXPECT_EQ(tree.longest_prefix("c"), 0u);
  EXPECT_EQ(tree.longest_prefix(""), 0u);
  EXPECT_EQ(tree.number("abcd"), 0);
  EXPECT_EQ(tree.number("\xff"), 1);
  EXPECT_EQ(tree.number("abc"), data::PrefixTree::none);
  EXPECT_EQ(tree.number(""), data::PrefixTree::none);
  EXPECT_EQ(data::PrefixTree().longest_prefix("a"), 0u);
}

}  // namespace
}  // namespace sinter::test::subwords_test
