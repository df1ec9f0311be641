// A program on all paths: line by line, compiled, and in double.
#pragma once

#include <map>
#include <stdexcept>
#include <string_view>

#include "fuzz/program/program.h"

namespace sinter::fuzz {

/// Paths that differ. The text has the graph, the node, both values and the tolerance.
class Disagreement : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Comparison {
  std::size_t nodes = 0;                             ///< values judged, at both batch sizes
  std::size_t slopes = 0;                            ///< slopes of the loss that were compared with differences
  std::size_t kinks = 0;                             ///< slopes that were not: the loss is not smooth there
  double worst = 0;                                  ///< greatest error as a fraction of its tolerance
  std::map<std::string_view, std::size_t> patterns;  ///< by name (fuzz/program/patterns.h), the programs that it occurs in
  Comparison& operator+=(const Comparison& other);
};

/// Requires that at both batch sizes every node of an eager run, and all that a compiled step computes (Step::verify), are what double arithmetic of
/// the same operands says, by the tolerances of verify; that a compiled step has the same bytes on one and on two threads; and that gradients are
/// those of differences. Without the code generator, eager and gradients alone. Throws Disagreement.
Comparison compare(const Program& program);

/// The last of these: gradients in double against central differences of the loss in double, where it is smooth.
void compare_gradients(const Program& program, Comparison& result);

}  // namespace sinter::fuzz
