// A graph as bytes and back: the graph section of a .sinter file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace sinter::runtime {

/// Limits that readers enforce before they allocate; writers enforce them too.
inline constexpr std::size_t max_message_bytes = std::size_t{16} << 20;  ///< a graph section, an index section
inline constexpr std::size_t max_record_bytes = std::size_t{64} << 10;   ///< one node without its body, one array's description
inline constexpr std::size_t max_body_bytes = std::size_t{1} << 20;      ///< the body of one node
inline constexpr std::size_t max_nodes = std::size_t{1} << 18;
inline constexpr std::size_t max_passes = std::size_t{1} << 10;
inline constexpr std::int64_t max_elements = std::int64_t{1} << 40;  ///< of one value, for each sample

/// Throws UserError if a value of this type has more than max_elements, or would but for an extent of 0.
void check_elements(const Type& type);

/// Live nodes in topological order, renumbered; kernel groups are not kept. Throws UserError if a limit is exceeded.
std::string serialize_graph(const ir::Graph& graph, const std::vector<std::string>& passes = {});

struct ParsedGraph {
  ir::Graph graph;
  std::vector<std::string> passes;  ///< applied before it was written
};
/// Rebuilds a graph through ir::make_op and Graph::add and checks it with ir::verify. Nothing in the bytes is trusted. Throws UserError
/// `[where] …` that names the node, its byte and the rule. Bytes are counted from `start`: the graph's offset in its file.
ParsedGraph parse_graph(std::string_view bytes, const std::string& where, std::uint64_t start = 0);

}  // namespace sinter::runtime
