// How far each op of the list is from the double reference, eagerly and compiled.
#pragma once

#include <string>
#include <vector>

namespace sinter::bench {

struct OpError {
  std::string op, of;              ///< "matmul", "[64,784] [784,70]"
  bool by_terms = false;           ///< the unit: 2^-24 of the sum of the absolute values of what is added; else the result's last place
  double eager = 0, compiled = 0;  ///< greatest errors in that unit; of integers the difference
  double allowed = 0;              ///< what verify allows there
};

/// Each op on its samples with 131 of N, on floats of all exponents (pointwise ops), and on shapes of real layers (sums and products).
std::vector<OpError> op_errors();

}  // namespace sinter::bench
