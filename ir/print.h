// Graphs as text, for people and tests, and as DOT. Output only; nodes are renumbered in the order printed.
#pragma once

#include <string>
#include <vector>

namespace sinter::ir {

class Graph;

struct PrintOptions {
  bool origins = true;  ///< "# dense_1, mlp.cpp:14" after each node
  bool kernels = true;  ///< "{kernel=1}"
};

///   graph step(x: f32[N,784])  state(w: f32[784,70])
///     %0: f32[N,70] = matmul(%x, %w)   {kernel=0}   # dense_1, mlp.cpp:14
///     return %0
///     w <- %9
std::string to_text(const Graph& graph, PrintOptions options = {});
/// A Graphviz graph; nodes of one kernel stand in one box.
std::string to_dot(const Graph& graph);
/// The number that to_text prints for each node: "%4", or "%x" for a leaf. Indexed by node id; empty for dead nodes.
std::vector<std::string> printed_names(const Graph& graph);

}  // namespace sinter::ir
