// Texts in folders.
#pragma once

#include <string>
#include <vector>

#include "frontend/data/table.h"

namespace sinter::data {

struct TextFolderOptions {
  std::vector<std::string> classes = {};  ///< subfolders to read; all if empty
  std::string encoding = "utf-8";         ///< of the files, by a name that iconv knows
};

/// A table with the columns "class" and "text": each file of one subfolder per class, the classes and in them the files in the order of their
/// names. Names that begin with a point are left out. Throws UserError for a folder without subfolders or without one of the classes, a subfolder
/// without files, a file that cannot be read, and, naming it, one with bytes that are not of the encoding or with the character 0.
Table read_text_folder(const std::string& folder, const TextFolderOptions& options = {});

}  // namespace sinter::data
