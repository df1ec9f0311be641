// NumPy's .npz files: .npy files in a zip archive.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "frontend/data/array_stream.h"

namespace sinter::data {

/// Arrays by name, in the order of the file.
using NamedArrays = std::vector<std::pair<std::string, HostArray>>;

/// What numpy.savez or savez_compressed wrote. Throws UserError `[file] …` for a missing or damaged archive and for members that read_npy would
/// refuse.
NamedArrays read_npz(const std::filesystem::path& path);
/// The same, array after array.
void visit_npz(const std::filesystem::path& path, const ArrayVisitor& visit);

/// As numpy.savez does, atomically: the whole file or none. Throws UserError for a name that is given twice, and what require_name does.
void write_npz(const std::filesystem::path& path, const NamedArrays& arrays);
/// The same, of arrays that are read when they are written.
void stream_npz(const std::filesystem::path& path, std::span<const ArrayWriter> arrays);

}  // namespace sinter::data
