// How the error of long sums grows with their length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::bench {

struct LengthError {
  std::string sum;                 ///< "gradient of a bias"
  std::int64_t rows = 0;           ///< of the batch: the number of terms
  double eager = 0, compiled = 0;  ///< relative
};

/// Sums whose terms are all 0.6931, so that every addition to a chain rounds in the same direction: worse than random terms of one sign. Each for
/// 10^4, 10^6, ... rows, up to `most`.
std::vector<LengthError> length_errors(std::int64_t most);

}  // namespace sinter::bench
