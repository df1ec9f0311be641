// A limit on JSON from outside, which nests as deep as whoever wrote it likes.
#pragma once

#include <string_view>

namespace sinter {

/// Throws UserError `[where] …` if arrays and objects of this text lie more than `deepest` deep in each other. The JSON library calls itself for each
/// level of what it has read, so that a text of brackets alone would use up the stack.
void check_json_depth(std::string_view text, int deepest, std::string_view where);

}  // namespace sinter
