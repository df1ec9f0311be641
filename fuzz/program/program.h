// Random valid programs: graphs over the whole op list, with values for their leaves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sinter::fuzz {

/// Values of all inputs and states at one batch size.
struct Binding {
  std::int64_t n = 1;
  std::vector<ir::Array> inputs, states;
};

/// A value whose gradient of the loss the program has.
struct GradientOf {
  ir::NodeId leaf, gradient;
};

struct Program {
  ir::Graph graph{"program"};     ///< keeps the rules of ir/verify.h; hidden inputs come last
  std::vector<Binding> bindings;  ///< N = 1, and another
  ir::NodeId loss = ir::no_node;  ///< of a program that trains
  std::vector<GradientOf> gradients;
};

/// The program that these bytes stand for. All values are finite and of moderate size at both batch sizes, so that no path overflows where another
/// does not, but for programs with infinities and NaN among their inputs.
Program make_program(std::span<const std::uint8_t> bytes);

/// The graph as text, with the batch sizes.
std::string to_text(const Program& program);

}  // namespace sinter::fuzz
