// The safetensors format: a length, a JSON header, raw little-endian tensors. https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <filesystem>

#include "frontend/data/npz.h"

namespace sinter::data {

/// F32, I32, U32, U8 and BOOL as they are; F64, F16 and BF16 as f32 and I64 as i32. In the order of their offsets in the file. Throws UserError
/// `[file] …` for a missing, truncated or damaged file, overlapping tensors, another type, and values that do not fit.
NamedArrays read_safetensors(const std::filesystem::path& path);
/// The same, array after array.
void visit_safetensors(const std::filesystem::path& path, const ArrayVisitor& visit);

/// Writes atomically: the whole file or none. Throws UserError for a name that is given twice or reserved, and what require_name does.
void write_safetensors(const std::filesystem::path& path, const NamedArrays& arrays);
/// The same, part after part.
void stream_safetensors(const std::filesystem::path& path, std::span<const ArrayWriter> arrays);

}  // namespace sinter::data
