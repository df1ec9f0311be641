// Random valid programs: graphs over the whole op list, with values for their leaves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sinter::fuzz {

/// Values of all inputs and states in a call of these sizes.
struct Binding {
  Sizes sizes;
  std::vector<ir::Array> inputs, states;
};

/// A value whose gradient of the loss the program has.
struct GradientOf {
  ir::NodeId leaf, gradient;
};

struct Program {
  ir::Graph graph{"program"};     ///< keeps the rules of ir/verify.h; hidden inputs come last
  std::vector<Binding> bindings;  ///< two, of different sizes: N = 1, and another
  ir::NodeId loss = ir::no_node;  ///< of a program that trains
  std::vector<GradientOf> gradients;
  std::vector<std::string> without;  ///< the pass that is switched off in compiling it, of a quarter of the programs
  bool has_slopes = true;            ///< whether differences of the loss can be told from rounding errors
};

/// The program that these bytes stand for. All values are finite in both bindings, so that no path overflows where another does not, but for programs
/// with infinities and NaN among their inputs; most are of moderate size.
Program make_program(std::span<const std::uint8_t> bytes);

/// The graph as text, with the sizes of the bindings.
std::string to_text(const Program& program);

}  // namespace sinter::fuzz
