// Recorded graphs and their states to and from `.sinter` files. The format is described in docs/file-format.md.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/core/trace.h"
#include "runtime/file/container.h"

namespace sinter {

/// What a file holds for the front end: graphs that share cells by name.
struct ModelFile {
  std::map<std::string, Traced> graphs;
  std::vector<Parameter> states;                ///< every cell of the graphs once, in order of first use
  std::map<std::string, std::string> metadata;  ///< kind, epoch, …
};

/// An array of a file, of a value that `buffer` holds: the value of now, since a shared buffer is not written to.
runtime::NamedArray to_array(std::string name, const Type& type, const runtime::Buffer& buffer);
/// What a file of this path has. Throws UserError if two cells of one name differ.
runtime::Archive model_archive(const std::string& path, const std::map<std::string, Traced>& graphs,
                               const std::map<std::string, std::string>& metadata);
/// Writes it. Throws UserError if the file cannot be written.
void write_model_file(const std::string& path, const std::map<std::string, Traced>& graphs, const std::map<std::string, std::string>& metadata);

/// Throws UserError naming the file for anything missing, damaged or inconsistent.
ModelFile read_model_file(const std::string& path);
/// The same from the bytes of a file.
ModelFile parse_model_file(std::string_view bytes, const std::string& where);

}  // namespace sinter
