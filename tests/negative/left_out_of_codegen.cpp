// An op that the code generator was not taught; the same check that it makes of every op of the list.
#include "codegen/kernels/kinds.h"

namespace sinter::ir {

struct Broken {
  static constexpr std::string_view name = "broken";
};

constexpr void check() { (void)codegen::kind_for<Broken>(); }

}  // namespace sinter::ir
