// JSON lines: an object on each line.
#pragma once

#include <filesystem>

#include "frontend/data/table.h"

namespace sinter::data {

/// A table of a file with a JSON object on each line, in UTF-8: a column for each name, in the order in which names first occur. Texts are as they
/// are, numbers as JSON writes them, true and false are texts; null and a name that an object lacks are empty fields. Empty lines are left out.
/// Throws UserError `[file] line 3: …` for a line that is no object, a value that is an array or an object, a name that an object has twice, a text
/// with the character 0, and a file without objects.
Table read_json_lines(const std::filesystem::path& path);

}  // namespace sinter::data
