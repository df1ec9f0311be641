#include "frontend/data/words.h"

#include <unicode/ubrk.h>
#include <unicode/ucasemap.h>
#include <unicode/utext.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "frontend/data/encoding.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

template <auto close>
struct Close {
  void operator()(auto* object) const { close(object); }
};

void require(UErrorCode status, const char* what) {
  if (U_FAILURE(status)) throw UserError("words", str("ICU cannot ", what, " (", u_errorName(status), "; is its data (libicu72) installed?"));
}

/// What finds the ends of words; it takes a millisecond to make.
class Breaks {
 public:
  Breaks() {
    UErrorCode status = U_ZERO_ERROR;
    iterator_.reset(ubrk_open(UBRK_WORD, "", nullptr, 0, &status));
    require(status, "divide text into words");
    cases_.reset(ucasemap_open("", 0, &status));
    require(status, "write in lower case");
  }

  void each(std::string_view text, bool lower_case, const std::function<void(std::string_view)>& word) {
    UErrorCode status = U_ZERO_ERROR;
    UText view = UTEXT_INITIALIZER;
    utext_openUTF8(&view, text.data(), static_cast<std::int64_t>(text.size()), &status);
    require(status, "read the text");
    const std::unique_ptr<UText, Close<utext_close>> closes(&view);
    ubrk_setUText(iterator_.get(), &view, &status);
    require(status, "read the text");
    for (std::int32_t begin = ubrk_first(iterator_.get()), end; (end = ubrk_next(iterator_.get())) != UBRK_DONE; begin = end) {
      if (ubrk_getRuleStatus(iterator_.get()) < UBRK_WORD_NONE_LIMIT) continue;
      const std::string_view found = text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      word(lower_case ? lower(found) : found);
    }
  }

 private:
  std::string_view lower(std::string_view word) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (std::all_of(word.begin(), word.end(), is_ascii)) {
      lower_.assign(word);
      for (char& c : lower_)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      return lower_;
    }
    lower_.resize(4 * word.size());  // the most that a character's lower case takes
    UErrorCode status = U_ZERO_ERROR;
    const std::int32_t length = ucasemap_utf8ToLower(cases_.get(), lower_.data(), static_cast<std::int32_t>(lower_.size()), word.data(),
                                                     static_cast<std::int32_t>(word.size()), &status);
    require(status, "write in lower case");
    lower_.resize(static_cast<std::size_t>(length));
    return lower_;
  }

  std::unique_ptr<UBreakIterator, Close<ubrk_close>> iterator_;
  std::unique_ptr<UCaseMap, Close<ucasemap_close>> cases_;
  std::string lower_;
};

}  // namespace

void for_each_word(std::string_view text, bool lower_case, const std::function<void(std::string_view)>& word) {
  require_utf8(text, "words");
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 4)
    throw UserError("words", str("a text of ", text.size(), " bytes is too long; divide it"));
  thread_local Breaks breaks;
  breaks.each(text, lower_case, word);
}

}  // namespace sinter::data
