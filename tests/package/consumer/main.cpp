// A program outside the tree: sums (x + 2) over 8 samples, compiled where the package has the compiler, else line by line. It succeeds if that is 32.
#include <sinter/sinter.h>

#include <cstdio>

#include "ir/graph.h"

int main() {
  using namespace sinter;
  const Tensor x({1, 2, 3, 4, 5, 6, -5, 0}, {8});
  auto total = compile([](const Tensor& values) { return sum(values + consumer_offset); }, {.mode = HAS_JIT ? Mode::graph : Mode::eager});
  const float sum = total(x).item();
  std::printf("the sum is %g\n", static_cast<double>(sum));
  return sum == 32 ? 0 : 1;
}
