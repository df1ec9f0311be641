// IDX files, the format of MNIST: two zeros, an element type, the number of dimensions, each extent as a big-endian u32, the elements.
#pragma once

#include <filesystem>

#include "frontend/data/array.h"

namespace sinter::data {

/// Reads a file of u8, i32 or f32 elements, plain or compressed by gzip (detected by its first bytes, not its name). Extents are checked against the
/// size of the file before memory is taken. Throws UserError `[file] …` for a missing, truncated or damaged file.
HostArray read_idx(const std::filesystem::path& path);

}  // namespace sinter::data
