// An op that the interpreter was not taught; the same check that it makes of every op of the list.
#include "runtime/eval/eval.h"

namespace sinter::ir {

struct Broken {
  static constexpr std::string_view name = "broken";
};

constexpr void check() { runtime::eval::require_kernel<Broken>(); }

}  // namespace sinter::ir
