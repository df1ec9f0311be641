// NumPy's .npy files (format 1.0 and 2.0): weights and data from and for Python.
#pragma once

#include <filesystem>

#include "frontend/data/array.h"

namespace sinter::data {

/// Reads little-endian f4, i4, u4, u1 and b1 as they are, f8 as f32 (rounded) and i8 as i32; row-major order only. Throws UserError `[file] …` for
/// a missing, truncated or damaged file, another type or order, and values that do not fit.
HostArray read_npy(const std::filesystem::path& path);

/// Writes format 1.0, the file whole or not at all. Throws UserError.
void write_npy(const std::filesystem::path& path, const HostArray& array);

}  // namespace sinter::data
