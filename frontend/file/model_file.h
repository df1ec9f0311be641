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

/// An array of a file, from the present value of a tensor: it stays, since a shared buffer is not written to.
runtime::NamedArray to_array(std::string name, const Tensor& value);
/// The value of an array of a file: in the file's own pages, if it can be (see runtime::to_buffer).
Tensor to_tensor(const runtime::NamedArray& array);
/// The content of a file at this path. Throws UserError if two different cells have one name.
runtime::Archive model_archive(const std::string& path, const std::map<std::string, Traced>& graphs,
                               const std::map<std::string, std::string>& metadata);
/// Writes the file. Throws UserError if that fails.
void write_model_file(const std::string& path, const std::map<std::string, Traced>& graphs, const std::map<std::string, std::string>& metadata);

/// Throws UserError naming the file for anything missing, damaged or inconsistent.
ModelFile read_model_file(const std::string& path);
/// The same from the bytes of a file.
ModelFile parse_model_file(std::string_view bytes, const std::string& where);

}  // namespace sinter
