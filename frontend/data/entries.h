// What folders hold.
#pragma once

#include <filesystem>
#include <vector>

namespace sinter::data {

/// The subfolders of a folder, or its other entries, in the order of their names; none whose name begins with a point. Throws UserError if it cannot
/// be read.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder, bool folders);

}  // namespace sinter::data
