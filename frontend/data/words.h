// Words of a text.
#pragma once

#include <functional>
#include <string_view>

namespace sinter::data {

/// Calls `word` with each word of a UTF-8 text, by Unicode's rules for text segmentation (UAX #29): letters, numbers and ideographs; no punctuation
/// and no spaces. In lower case if asked, by the rules of no language in particular. The view is valid during the call. Throws UserError that names
/// the byte where the text is not UTF-8.
void for_each_word(std::string_view text, bool lower_case, const std::function<void(std::string_view)>& word);

}  // namespace sinter::data
