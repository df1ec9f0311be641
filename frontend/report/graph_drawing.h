// A graph as a picture.
#pragma once

#include <string>

namespace sinter::ir {
class Graph;
}

namespace sinter::report {

/// One SVG document: a box per kernel (per node in a graph without kernel groups) in layers by longest path, each with its ops, the types of its
/// results and small rounded boxes for the inputs, states and constants that it reads and the states and outputs that it writes. Tooltips give the
/// nodes with the user's source lines. Light and dark by prefers-color-scheme.
std::string draw(const ir::Graph& graph);

}  // namespace sinter::report
