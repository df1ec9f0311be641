// NumPy's .npy files (format 1.0 and 2.0): weights and data from and for Python.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "frontend/data/array_stream.h"

namespace sinter::data {

/// Reads little-endian f4, i4, u4, u1 and b1 as they are, f8 as f32 (rounded) and i8 as i32, in row-major or column-major order. Throws UserError
/// `[file] …` for a missing, truncated or damaged file, another type, and values that do not fit.
HostArray read_npy(const std::filesystem::path& path);

/// The same from the bytes of a file.
HostArray parse_npy(std::span<const std::byte> bytes, const std::string& where);

/// A file whose bytes are read in order, but for its first 12, which may be read again.
struct NpyFile {
  std::uint64_t size = 0;
  std::function<void(std::uint64_t offset, std::span<std::byte> into)> read;
};
/// The same from parts of it, which must live as long as the reader.
ArrayReader open_npy(const NpyFile& file, const std::string& where);

/// What comes before the elements of an array, in format 1.0.
std::string npy_start(DType dtype, const std::vector<std::int64_t>& shape);
/// All of it. Throws UserError for an array whose bytes do not fit its shape.
std::vector<std::byte> npy_bytes(const HostArray& array, const std::string& where);
/// Writes them atomically: the whole file or none. Throws UserError.
void write_npy(const std::filesystem::path& path, const HostArray& array);

}  // namespace sinter::data
