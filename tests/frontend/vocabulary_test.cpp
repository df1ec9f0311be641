// Words of texts, and their numbers.
#include "frontend/data/vocabulary.h"
#include "frontend/data/words.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::vocabulary_test {
namespace {

using data::Vocabulary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> words_of(std::string_view text, bool lower_case = true) {
  std::vector<std::string> words;
  data::for_each_word(text, lower_case, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(WordsOfTexts, AreLettersAndNumbersWithoutPunctuation) {
  EXPECT_THAT(words_of("I didn't like it ... 3.5 of 10, at best!"), ElementsAre("i", "didn't", "like", "it", "3.5", "of", "10", "at", "best"));
  EXPECT_THAT(words_of("Never Again", false), ElementsAre("Never", "Again"));
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of(" \n\t--- !? "), IsEmpty());
}

TEST(WordsOfTexts, FollowUnicode) {
  EXPECT_THAT(words_of("Ärger im CAFÉ – straße, ÅNGSTRÖM"), ElementsAre("ärger", "im", "café", "straße", "ångström"));
  EXPECT_THAT(words_of("ДОБРЫЙ день"), ElementsAre("добрый", "день"));
  EXPECT_THAT(words_of("İstanbul"), ElementsAre("i̇stanbul")) << "by the rules of no language";
  EXPECT_EQ(words_of("これは良い映画です").empty(), false);
}

TEST(WordsOfTexts, OfTextThatIsNotUtf8AreRefusedByPlace) {
  EXPECT_THAT(error_of([] { (void)words_of("caf\xe9"); }), HasSubstr("[words] the text is not UTF-8 at byte 3"));
  EXPECT_THAT(error_of([] { (void)words_of("ok \xed\xa0\x80"); }), HasSubstr("at byte 3")) << "a surrogate";
}

const std::vector<std::string> texts{"the cat and the dog", "The dog barks", "a cat"};

TEST(Vocabulary, NumbersTheMostFrequentWordsFirst) {
  const Vocabulary vocabulary = Vocabulary::fit(texts);
  EXPECT_THAT(vocabulary.words(), ElementsAre("the", "cat", "dog", "a", "and", "barks"));
  EXPECT_EQ(vocabulary.size(), 6 + Vocabulary::reserved);
  EXPECT_EQ(vocabulary.number("the"), 3);
  EXPECT_THAT(vocabulary.encode("The dog, the bird"), ElementsAre(3, 5, 3, Vocabulary::unknown));
  EXPECT_THAT(vocabulary.encode(""), IsEmpty());
}

TEST(Vocabulary, LeavesOutWhatIsRare) {
  EXPECT_THAT(Vocabulary::fit(texts, {.most_words = 2}).words(), ElementsAre("the", "cat"));
  EXPECT_THAT(Vocabulary::fit(texts, {.least_count = 2}).words(), ElementsAre("the", "cat", "dog"));
  EXPECT_THAT(Vocabulary::fit(texts, {.least_count = 2, .lower_case = false}).words(), ElementsAre("cat", "dog", "the"));
}

TEST(Vocabulary, MayBeginEachText) {
  const Vocabulary vocabulary = Vocabulary::fit(texts, {.start = true});
  EXPECT_THAT(vocabulary.encode("a cat"), ElementsAre(Vocabulary::start, 6, 4));
  EXPECT_THAT(vocabulary.encode(""), ElementsAre(Vocabulary::start));
}

TEST(Vocabulary, KeepsTheFirstWordsOrTheLast) {
  EXPECT_THAT(Vocabulary::fit(texts, {.longest = 2}).encode("a the cat dog"), ElementsAre(6, 3));
  EXPECT_THAT(Vocabulary::fit(texts, {.longest = 2, .keep = Keep::last}).encode("a the cat dog"), ElementsAre(4, 5));
  EXPECT_THAT(Vocabulary::fit(texts, {.longest = 9}).encode("a the cat dog"), ElementsAre(6, 3, 4, 5));
}

TEST(Vocabulary, MakesSequencesOfTexts) {
  const Sequences all = Vocabulary::fit(texts).encode_all(std::vector<std::string>{"a cat", "", "the dog barks"});
  EXPECT_THAT(all.values().to_vector<std::int32_t>(), ElementsAre(6, 4, 3, 5, 8));
  EXPECT_THAT(all.offsets(), ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(error_of([] { (void)Vocabulary::fit(texts).encode_all(std::vector<std::string>{"a", "\xff"}); }),
              HasSubstr("[Vocabulary] text 1: [words]"));
}

TEST(Vocabulary, DecodesNumbers) {
  const Vocabulary vocabulary = Vocabulary::fit(texts);
  EXPECT_EQ(vocabulary.decode(std::vector<std::int32_t>{1, 3, 5, 2, 0, 0}), "the dog [UNK]");
  EXPECT_EQ(error_of([&] { (void)vocabulary.decode(std::vector<std::int32_t>{9}); }), "[Vocabulary] number 9 is outside of [0, 9)");
  EXPECT_EQ(error_of([&] { (void)vocabulary.decode(std::vector<std::int32_t>{-1}); }), "[Vocabulary] number -1 is outside of [0, 9)");
}

TEST(Vocabulary, IsTheSameFromItsDescription) {
  for (const data::VocabularyOptions options :
       {data::VocabularyOptions{}, {.most_words = 3, .lower_case = false, .start = true, .longest = 2, .keep = Keep::last}}) {
    const Vocabulary vocabulary = Vocabulary::fit(std::vector<std::string>{"Grüße \"aus\" Köln\\", texts[0]}, options),
                     read = Vocabulary::from_json(vocabulary.to_json());
    EXPECT_EQ(read.words(), vocabulary.words());
    EXPECT_EQ(read.encode("Grüße, the cat"), vocabulary.encode("Grüße, the cat"));
    EXPECT_EQ(read.to_json(), vocabulary.to_json());
  }
}

TEST(Vocabulary, RefusesWhatItCannotBe) {
  EXPECT_THAT(error_of([] { (void)Vocabulary::fit(texts, {.most_words = 0}); }),
              HasSubstr("[Vocabulary] most_words and least_count must be at least 1, got 0 and 1"));
  EXPECT_THAT(error_of([] { (void)Vocabulary::fit(texts, {.least_count = 9}); }), HasSubstr("[Vocabulary] no word occurs 9 times in 3 texts"));
  EXPECT_THAT(error_of([] { (void)Vocabulary::fit(std::vector<std::string>{"fine", "b\xff"}); }),
              HasSubstr("[Vocabulary] text 1: [words] the text is not UTF-8 at byte 1"));
  EXPECT_EQ(error_of([] { Vocabulary(std::vector<std::string>{}); }), "[Vocabulary] needs at least one word");
  EXPECT_EQ(error_of([] { Vocabulary({"a", "b", "a"}); }), "[Vocabulary] the word 'a' is listed twice");
  EXPECT_EQ(error_of([] { (void)Vocabulary::fit(texts, {.longest = -1}); }), "[Vocabulary] longest must be at least 0, got -1");
  const std::string whole = Vocabulary::fit(texts).to_json();
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string changed = whole;
    return changed.replace(changed.find(part), part.size(), other);
  };
  const std::vector<std::pair<std::string, std::string>> faults{
      {"", "the description is damaged ("},
      {"[]", "the description is damaged ("},
      {"[[[[]]]]", "nest"},
      {with("\"version\":1", "\"version\":2"), "version 2 is not known"},
      {with("\"words\"", "\"letters\""), "the description is of another kind, \"letters\""},
      {with("\"keep\":\"first\"", "\"keep\":\"both\""), "the description is damaged: it keeps 'both', neither first nor last"},
      {with("\"longest\":0", "\"longest\":-3"), "longest must be at least 0, got -3"},
      {with("\"lower_case\":true", "\"lower_case\":1"), "the description is damaged ("},
      {with("\"the\"", "\"cat\""), "the word 'cat' is listed twice"},
      {with("\"the\"", "7"), "the description is damaged ("},
  };
  for (const auto& [text, message] : faults)
    EXPECT_THAT(error_of([&] { (void)Vocabulary::from_json(text); }), AllOf(testing::StartsWith("[Vocabulary] "), HasSubstr(message))) << text;
}

}  // namespace
}  // namespace sinter::test::vocabulary_test
