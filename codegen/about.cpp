// What this build of the code generator is, and what it generates code for.
#include <llvm/Config/llvm-config.h>

#include "codegen/compile.h"
#include "codegen/jit.h"

namespace sinter::codegen {

std::string target_text(const std::string& target) { return runnable_target(target).text(); }

std::string compiler_version() { return LLVM_VERSION_STRING; }

}  // namespace sinter::codegen
