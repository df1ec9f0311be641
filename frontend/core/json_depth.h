// A limit on the nesting of JSON that comes from outside.
#pragma once

#include <string_view>

namespace sinter {

/// Throws UserError `[where] …` if arrays and objects of this text nest more than `deepest` deep. The JSON library recurses into each
/// level, so that a text of nothing but brackets would overflow the stack.
void check_json_depth(std::string_view text, int deepest, std::string_view where);

}  // namespace sinter
