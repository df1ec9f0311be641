// The target `programs`.
#include <cstdlib>

#include "fuzz/program/compare.h"
#include "fuzz/program/patterns.h"
#include "fuzz/targets.h"
#include "ir/error.h"

namespace sinter::fuzz {

namespace {
Comparison total;
std::size_t programs = 0;
}  // namespace

void run_program(Bytes bytes) {
  setenv("SINTER_CACHE", "off", 1);  // nobody compiles these again
  try {
    total += compare(make_program(bytes));
  } catch (const UserError& error) {
    throw Finding(str("a valid program was refused: ", error.what(), "\n", describe_program(bytes)));
  }
  ++programs;
}

std::string describe_program(Bytes bytes) { return to_text(make_program(bytes)); }

std::string summary_of_programs() {
  std::string text = str(programs, " graphs agree: ", total.nodes, " values, ", total.slopes, " slopes (", total.kinks,
                         " at kinks), the greatest error is ", total.worst, " of its tolerance; graphs with");
  for (const std::string_view name : pattern_names()) text += str(name == pattern_names().front() ? " " : ", ", name, ": ", total.patterns[name]);
  return text;
}

}  // namespace sinter::fuzz
