// The `.sinter` container: graphs, arrays and metadata in one file. docs/file-format.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

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
  std::vector<std::int64_t> shape;  ///< fixed extents; empty for a scalar
  std::vector<std::byte> bytes;
};

/// What a file holds. Names are unique within graphs and within arrays and not empty.
struct Archive {
  std::vector<NamedGraph> graphs;
  std::vector<NamedArray> arrays;
  std::map<std::string, std::string> metadata;  ///< counters, epoch, settings: text

  const NamedGraph* find_graph(std::string_view name) const;  ///< null if there is none
  const NamedArray* find_array(std::string_view name) const;
};

/// Writes the file whole or not at all (see AtomicFile). Throws UserError.
void save(const std::filesystem::path& path, const Archive& archive);
/// Reads and checks everything: the file is data and nothing in it is trusted. Sizes and counts are checked against the bytes that there are
/// before anything is allocated. Throws UserError `[file] rule, actual values; next step`.
Archive load(const std::filesystem::path& path);

/// The same without a file; `where` stands for its name in messages.
std::string to_bytes(const Archive& archive);
Archive from_bytes(std::string_view bytes, const std::string& where);

}  // namespace sinter::runtime
