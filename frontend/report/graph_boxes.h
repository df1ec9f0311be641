// The content of a graph's drawing: one box per kernel, with what it computes, reads and writes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sinter::report {

/// A small piece of text with a tooltip.
struct BoxMark {
  enum class Kind : unsigned char { op, input, state, constant, update, output };
  Kind kind;
  std::string text, tip;
  bool operator==(const BoxMark&) const = default;
};

struct GraphBox {
  std::string name;                    ///< "kernel 3", or "%4 matmul" for a node by itself
  std::string tip;                     ///< the node, if the box is a single one
  std::vector<BoxMark> ops;            ///< of a kernel, in the order of execution; those of each step of a scan within braces
  std::vector<std::string> types;      ///< of its results, each once
  std::vector<BoxMark> reads, writes;  ///< inputs, states and constants; new states and outputs
  /// Boxes that it reads, with the values: "%4: f32[N,70]".
  std::map<std::size_t, std::vector<std::string>> from;
};

/// One box per kernel group, or per node in a graph without groups. Inputs, states and constants are marks of the boxes that read them. What every
/// kernel computes for itself (ir::is_recomputable) is in no box: boxes show the inputs and states that it takes.
std::vector<GraphBox> graph_boxes(const ir::Graph& graph);

}  // namespace sinter::report
