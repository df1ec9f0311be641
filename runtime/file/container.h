// The `.sinter` container: graphs, arrays and metadata in one file. docs/file-format.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "runtime/buffer.h"

namespace sinter::runtime {

struct NamedGraph {
  std::string name;  ///< its role: "train_step", "predict"
  ir::Graph graph;
  std::vector<std::string> passes = {};  ///< that have been applied to it, in order
};

/// A dense row-major array, little-endian: a weight, an optimizer slot, a data order.
struct NamedArray {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;   ///< fixed extents; empty for a scalar
  std::span<const std::byte> bytes;  ///< of an archive to write: memory that the caller owns
  Buffer memory = {};                ///< of an archive that was read: holds `bytes`, padded with zeros to a multiple of 64; they may be written.
                                     ///< Of one to write: what must stay alive, if anything
};

/// The array in the memory layout of tensors (ir/layout.h), with or without padding. If its bytes have it already (a single row or column, or columns
/// without padding) this is `memory` itself, which for a file is the file's own pages: nothing is copied, and writing only changes this process's
/// copy of a page. Else a copy.
Buffer to_buffer(const NamedArray& array, bool unpadded = false);

/// The content of a file. Names are unique within graphs and within arrays and not empty.
struct Archive {
  std::vector<NamedGraph> graphs;
  std::vector<NamedArray> arrays;
  std::map<std::string, std::string> metadata;  ///< counters, epoch, settings: text

  const NamedGraph* find_graph(std::string_view name) const;  ///< null if there is none
  const NamedArray* find_array(std::string_view name) const;
};

/// Writes the file atomically (see AtomicFile). Throws UserError.
void save(const std::filesystem::path& path, const Archive& archive);
/// Reads and checks everything: the file is data and nothing in it is trusted. Sizes and counts are checked against the bytes present
/// before anything is allocated. Arrays stay in a mapping of the file (see MappedFile for what that requires of other programs), once their
/// checksums are verified. Throws SystemError if the file cannot be read, and another UserError `[file] rule, actual values; next step` if its
/// content is not valid.
Archive load(const std::filesystem::path& path);

/// The same without a file; `where` stands for its name in messages. What is read does not refer to `bytes`.
std::string to_bytes(const Archive& archive);
Archive from_bytes(std::string_view bytes, const std::string& where);

}  // namespace sinter::runtime
