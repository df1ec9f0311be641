// What stands in for the code generator where it is not built.
#include "codegen/compile.h"

#include "ir/error.h"

namespace sinter::codegen {

namespace {

[[noreturn]] void fail() {
  throw UserError(
      "compile",
      "this build of Sinter has no code generator (SINTER_JIT=OFF), so Mode::graph cannot run; use Mode::eager or build with -DSINTER_JIT=ON");
}

}  // namespace

bool is_built() { return false; }
std::string target_text(const std::string&) { fail(); }
std::string compiler_version() { return ""; }
Compiled compile(const ir::Graph&, const Options&) { fail(); }
std::string emit_object(const ir::Graph&, const std::string&) { fail(); }

}  // namespace sinter::codegen
