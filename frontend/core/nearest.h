// Names by pattern, and suggestions for those that are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The known name with the least edit distance (Levenshtein 1966) from the name, or from any that the pattern matches; empty if there are none.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// Whether a name matches the pattern, in which `*` stands for any text and `?` for any character.
bool matches(const std::string& pattern, const std::string& name);

/// "; the nearest is 'dense_1.weight'", or nothing if there is none.
std::string nearest_hint(std::string_view name, const std::vector<std::string>& known);

}  // namespace sinter
