#include <algorithm>

#include "frontend/data/csv.h"
#include "frontend/data/encoding.h"
#include "frontend/data/json_lines.h"
#include "frontend/data/vocabulary.h"
#include "fuzz/targets.h"
#include "ir/error.h"

namespace sinter::fuzz {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Finding(what);
}

/// A vocabulary knows its own words, and no number of a text is outside of it.
void use(const data::Vocabulary& vocabulary, std::string_view text) {
  for (std::size_t i = 0; i < vocabulary.words().size(); ++i)
    require(vocabulary.number(vocabulary.words()[i]) == data::Vocabulary::reserved + static_cast<std::int32_t>(i), "a word has another number");
  const std::vector<std::int32_t> numbers = vocabulary.encode(text);
  for (const std::int32_t number : numbers)
    require(number > 0 && number < vocabulary.size(), "a word of a text has a number outside of the vocabulary");
  const std::int64_t longest = vocabulary.options().longest;
  require(longest == 0 || std::ssize(numbers) <= longest, "a text has more words than its longest");
  (void)vocabulary.decode(numbers);
}

void use_written(const data::Vocabulary& vocabulary, std::string_view text) {
  const std::string written = vocabulary.to_json();
  require(data::Vocabulary::from_json(written).to_json() == written, "a vocabulary written and read again differs");
  use(vocabulary, text);
}

void run_description(const std::string& text) { use_written(data::Vocabulary::from_json(text), "A film, a FILM; É 3.5"); }

/// The length of a text, the text, and a .model file.
void run_sentencepiece(Bytes bytes) {
  if (bytes.empty()) return;
  const std::size_t length = std::min<std::size_t>(bytes[0], bytes.size() - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 1, length);
  const MemoryFile file(bytes.subspan(1 + length));
  use_written(data::Vocabulary::from_sentencepiece(file.path()), text);
}

/// The table is whole, and what its texts have is a vocabulary, which is the same from its description.
void use(const data::Table& table) {
  require(table.open_fields() == 0, "a table holds half a row");
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    const std::vector<std::string_view> texts = table.fields(column);
    for (const std::string_view text : texts)
      require(data::first_not_utf8(text) == text.npos && text.find('\0') == text.npos, "a text is no UTF-8, or has a 0");
    try {
      const data::Vocabulary vocabulary = data::Vocabulary::fit(texts, {.most_words = 50});
      use(data::Vocabulary::from_json(vocabulary.to_json()), texts[0]);
      require(vocabulary.encode_all(texts).size() == std::ssize(texts), "a text has no sequence");
    } catch (const UserError&) {  // no words
    }
  }
}

}  // namespace

void run_text(Bytes bytes) {
  if (bytes.empty()) return;
  const Bytes rest = bytes.subspan(1);
  const MemoryFile file(rest);
  switch (static_cast<char>(bytes[0])) {
    case 'j':
      return use(data::read_json_lines(file.path()));
    case 't':
      return use(data::read_csv(file.path(), {.delimiter = '\t', .quotes = false}));
    case 'm':
      return run_sentencepiece(rest);
    default:
      return run_description({reinterpret_cast<const char*>(rest.data()), rest.size()});
  }
}

}  // namespace sinter::fuzz
