// Makes text that may come from a file safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

/// The text with escapes (\n, \x1b, \u202e) for what a terminal would obey or show differently: control characters, marks that change the
/// direction of writing, ends of lines, and bytes that are no UTF-8. All other characters stay, so a second call changes nothing.
std::string printable(std::string_view text);
/// The same for a text of several lines: ends of lines and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace sinter
