#include "frontend/data/entries.h"

#include <algorithm>

#include "ir/error.h"

namespace sinter::data {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder, bool folders) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory() == folders && entry.path().filename().string().front() != '.') result.push_back(entry.path());
  if (error) throw UserError(folder.string(), "cannot be read: " + error.message());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace sinter::data
