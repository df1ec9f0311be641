// Formats figures in notes.
#include <cmath>

#include "passes/passes.h"

namespace sinter::passes {

std::string with_separators(double value) {
  std::string digits = std::to_string(std::llround(value));
  for (std::size_t at = digits.size(); at > 3 && digits[at - 4] != '-';) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) { return str(count, " ", count == 1 ? one : many); }

}  // namespace sinter::passes
