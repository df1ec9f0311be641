// Recorded graphs and their states to and from `.sinter` files. The format is described in docs/file-format.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/core/trace.h"

namespace sinter {

/// What a file holds for the front end: graphs that share cells by name.
struct ModelFile {
  std::map<std::string, Traced> graphs;
  std::vector<Parameter> states;                ///< every cell of the graphs once, in order of first use
  std::map<std::string, std::string> metadata;  ///< kind, epoch, …
};

/// Throws UserError if the file cannot be written, or if two cells of one name differ.
void write_model_file(const std::string& path, const std::map<std::string, Traced>& graphs, const std::map<std::string, std::string>& metadata);

/// Throws UserError naming the file for anything missing, damaged or inconsistent.
ModelFile read_model_file(const std::string& path);

}  // namespace sinter
