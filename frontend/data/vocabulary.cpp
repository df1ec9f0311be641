#include "frontend/data/vocabulary.h"

#include <algorithm>
#include <utility>

#include "frontend/data/base64.h"
#include "frontend/data/description.h"
#include "frontend/data/subwords.h"
#include "frontend/data/words.h"
#include "ir/printable.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

constexpr const char* vocabulary_where = "Vocabulary";
constexpr int deepest_vocabulary = 2;  // the description, its words

void check(const VocabularyOptions& options) {
  if (options.most_words < 1 || options.least_count < 1)
    throw UserError(vocabulary_where, str("most_words and least_count must be at least 1, got ", options.most_words, " and ", options.least_count));
  if (options.longest < 0) throw UserError(vocabulary_where, str("longest must be at least 0, got ", options.longest));
}

/// The options that words and subwords share.
template <class Options>
Options shared_options(const nlohmann::json& json) {
  Options options;
  options.start = json.at("start").get<bool>();
  options.longest = json.at("longest").get<std::int64_t>();
  const std::string keep = json.at("keep");
  if (keep != "first" && keep != "last") throw damaged(vocabulary_where, str("it keeps '", printable(keep), "', neither first nor last"));
  options.keep = keep == "first" ? Keep::first : Keep::last;
  return options;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

/// Calls `f` with each text; errors name it.
template <class F>
void for_each_text(std::span<const std::string_view> texts, const F& f) {
  for (std::size_t i = 0; i < texts.size(); ++i) try {
      f(texts[i]);
    } catch (const UserError& error) {
      throw UserError(vocabulary_where, str("text ", i, ": ", error.what()));
    }
}

}  // namespace

Vocabulary Vocabulary::fit(const std::vector<std::string>& texts, const VocabularyOptions& options) { return fit(views_of(texts), options); }

Vocabulary Vocabulary::fit(std::span<const std::string_view> texts, const VocabularyOptions& options) {
  check(options);
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts;
  for_each_text(texts, [&](std::string_view text) {
    for_each_word(text, options.lower_case, [&](std::string_view word) {
      if (const auto found = counts.find(word); found != counts.end()) ++found->second;
      else counts.emplace(word, 1);
    });
  });
  std::vector<std::pair<std::string, std::int64_t>> all;
  for (const auto& [word, count] : counts)
    if (count >= options.least_count) all.emplace_back(word, count);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
  if (all.empty())
    throw UserError(vocabulary_where, str("no word occurs ", options.least_count, options.least_count == 1 ? " time" : " times", " in ", texts.size(),
                                          " texts; lower least_count or give texts with words"));
  std::vector<std::string> words;
  for (auto& [word, count] : all)
    if (std::ssize(words) < options.most_words) words.push_back(std::move(word));
  return Vocabulary(std::move(words), options);
}

Vocabulary::Vocabulary(std::vector<std::string> words, const VocabularyOptions& options) : words_(std::move(words)), options_(options) {
  check(options);
  if (words_.empty()) throw UserError(vocabulary_where, "needs at least one word");
  for (const std::string& word : words_)
    if (!numbers_.emplace(word, reserved + static_cast<std::int32_t>(numbers_.size())).second)
      throw UserError(vocabulary_where, str("the word '", printable(word), "' is listed twice"));
}

Vocabulary::Vocabulary(std::shared_ptr<const Subwords> subwords, const SubwordOptions& options)
    : Vocabulary(subwords->texts(), {.lower_case = false, .start = options.start, .longest = options.longest, .keep = options.keep}) {
  subwords_ = std::move(subwords);
}

Vocabulary Vocabulary::from_sentencepiece(const std::filesystem::path& path, const SubwordOptions& options) {
  const runtime::InputFile file(path);
  std::string bytes(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  return Vocabulary(std::make_shared<const Subwords>(std::move(bytes), path.string()), options);
}

std::int32_t Vocabulary::number(std::string_view word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? unknown : found->second;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> numbers;
  if (options_.start) numbers.push_back(start);
  if (subwords_)
    for (const std::int32_t piece : subwords_->encode(text)) numbers.push_back(reserved + piece);
  else for_each_word(text, options_.lower_case, [&](std::string_view word) { numbers.push_back(number(word)); });
  if (const auto most = static_cast<std::size_t>(options_.longest); most && numbers.size() > most) {
    if (options_.keep == Keep::last) numbers.erase(numbers.begin(), numbers.end() - options_.longest);
    numbers.resize(most);
  }
  return numbers;
}

Sequences Vocabulary::encode_all(std::span<const std::string_view> texts) const {
  std::vector<std::vector<std::int32_t>> lists;
  for_each_text(texts, [&](std::string_view text) { lists.push_back(encode(text)); });
  return Sequences(lists);
}

Sequences Vocabulary::encode_all(const std::vector<std::string>& texts) const { return encode_all(views_of(texts)); }

std::string Vocabulary::decode(std::span<const std::int32_t> numbers) const {
  std::string text;
  std::vector<std::int32_t> pieces;
  for (const std::int32_t number : numbers) {
    if (number < 0 || number >= size()) throw UserError(vocabulary_where, str("number ", number, " is outside of [0, ", size(), ")"));
    if (number == padding || number == start) continue;
    if (subwords_) {
      pieces.push_back(number - reserved);
    } else {
      if (!text.empty()) text += ' ';
      text += number == unknown ? "[UNK]" : words_[static_cast<std::size_t>(number - reserved)];
    }
  }
  return subwords_ ? subwords_->decode(pieces) : text;
}

std::string Vocabulary::to_json() const {
  nlohmann::ordered_json json{{"version", 1}, {"kind", subwords_ ? "subwords" : "words"}};
  if (!subwords_) json["lower_case"] = options_.lower_case;
  json["start"] = options_.start;
  json["longest"] = options_.longest;
  json["keep"] = options_.keep == Keep::first ? "first" : "last";
  if (subwords_) json["model"] = base64(subwords_->file());
  else json["words"] = words_;
  return json.dump();
}

Vocabulary Vocabulary::from_json(const std::string& text) {
  return read_description(text, deepest_vocabulary, vocabulary_where, [](const nlohmann::json& json) {
    require_version(json, 1, vocabulary_where);
    if (json.at("kind") == "subwords") {
      std::optional<std::string> model = from_base64(json.at("model").get_ref<const std::string&>());
      if (!model) throw damaged(vocabulary_where, "its model is not in base64");
      return Vocabulary(std::make_shared<const Subwords>(std::move(*model), vocabulary_where), shared_options<SubwordOptions>(json));
    }
    if (json.at("kind") != "words") throw UserError(vocabulary_where, str("the description is of another kind, ", json.at("kind").dump()));
    auto options = shared_options<VocabularyOptions>(json);
    options.lower_case = json.at("lower_case").get<bool>();
    std::vector<std::string> words = json.at("words").get<std::vector<std::string>>();
    options.most_words = std::max<std::int64_t>(1, std::ssize(words));
    return Vocabulary(std::move(words), options);
  });
}

}  // namespace sinter::data
