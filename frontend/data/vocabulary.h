// Words, or parts of them, as numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/train/sequences.h"

namespace sinter::data {

struct VocabularyOptions {
  std::int64_t most_words = 20000;  ///< the most frequent ones; those of one frequency in the order of their bytes
  std::int64_t least_count = 1;     ///< words that are rarer are unknown
  bool lower_case = true;
  bool start = false;        ///< each text begins with the number `start`
  std::int64_t longest = 0;  ///< words that are kept of a longer text, the start among them; 0: all
  Keep keep = Keep::first;   ///< which
};

/// Of a SentencePiece model, which says everything else.
struct SubwordOptions {
  bool start = false;        ///< each text begins with the number `start`
  std::int64_t longest = 0;  ///< pieces that are kept of a longer text, the start among them; 0: all
  Keep keep = Keep::first;   ///< which
};

class Subwords;

/// The words of a set of texts and their numbers. Three are reserved: 0 is padding, 1 the start of a text, 2 a word that is unknown; then come the
/// words, the most frequent one first, as in Keras's IMDB data. Or, in place of words, the pieces of a SentencePiece model: its unknown piece is 2,
/// the others follow from 3 in the order of their ids, so that a number is the id plus 2 if the unknown piece comes first, as by spm_train's
/// defaults.
class Vocabulary {
 public:
  static constexpr std::int32_t padding = 0, start = 1, unknown = 2, reserved = 3;

  /// Of these texts. Throws UserError for texts that are not UTF-8, naming the text, for options below 1, and if no word is left.
  static Vocabulary fit(std::span<const std::string_view> texts, const VocabularyOptions& options = {});
  static Vocabulary fit(const std::vector<std::string>& texts, const VocabularyOptions& options = {});
  /// Of these words, the first of which gets the number 3. Throws UserError for a word that is listed twice, and for none.
  explicit Vocabulary(std::vector<std::string> words, const VocabularyOptions& options = {});
  /// The pieces of a .model file of SentencePiece (Unigram, BPE, word or char), with the results of its version 0.2.3. Throws UserError `[file] …`
  /// for a missing or damaged file, and for a longest below 0.
  static Vocabulary from_sentencepiece(const std::filesystem::path& path, const SubwordOptions& options = {});

  /// One more than the greatest number: the entries of an embedding.
  std::int64_t size() const { return reserved + static_cast<std::int64_t>(words_.size()); }
  const std::vector<std::string>& words() const { return words_; }  ///< or pieces
  bool has_subwords() const { return subwords_ != nullptr; }        ///< whether these are pieces
  /// Of a word as texts have it, or of a piece; `unknown` if there is none. In lower case only if it is written so.
  std::int32_t number(std::string_view word) const;
  /// The numbers of a text's words; of an empty text none, or the start alone. Throws UserError for a text that is not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Those of several texts, i32. Throws UserError for none, and naming a text that is not UTF-8.
  Sequences encode_all(std::span<const std::string_view> texts) const;
  Sequences encode_all(const std::vector<std::string>& texts) const;
  /// The words of these numbers with spaces between; no padding and no start, and [UNK] for what is unknown. Of pieces, the text that SentencePiece
  /// makes of them. Throws UserError for a number outside of [0, size()).
  std::string decode(std::span<const std::int32_t> numbers) const;
  /// Of pieces, those of SubwordOptions; the others are of words alone.
  const VocabularyOptions& options() const { return options_; }

  /// As text for a file, with all of the .model file if there is one; from_json throws UserError for what to_json did not write.
  std::string to_json() const;
  static Vocabulary from_json(const std::string& text);

 private:
  Vocabulary(std::shared_ptr<const Subwords> subwords, const SubwordOptions& options);

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> words_;
  VocabularyOptions options_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
  std::shared_ptr<const Subwords> subwords_;  ///< none if these are words
};

}  // namespace sinter::data
