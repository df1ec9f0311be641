// What a name may be: that of a parameter, a layer, a metric, a step, an array in a file.
#pragma once

#include <string_view>

namespace sinter {

/// Throws UserError `[where] a name …` unless the name is 1 to 60000 bytes of UTF-8 without control characters: what every kind of file, a table and
/// a message can hold.
void require_name(std::string_view where, std::string_view name);
/// The same for a part of a path, `dense` or `weight` of `encoder.dense_1.weight`: it must not contain '.' or '/' either.
void require_name_in_path(std::string_view where, std::string_view name);

}  // namespace sinter
