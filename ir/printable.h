// Text that may come from a file, as a terminal may get it.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

/// The text with what a terminal would obey or show otherwise than it is written as \n, \x1b or \u202e: control characters, marks that change the
/// direction of writing, ends of lines, and bytes that are no UTF-8. All other characters stay, so the result may be given to it again.
std::string printable(std::string_view text);
/// The same for a text of several lines: ends of lines and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace sinter
