// Generated code under ThreadSanitizer.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "ir/sanitizers.h"

namespace sinter::codegen {

/// Whether this library is built with ThreadSanitizer: then the code that it generates is instrumented too.
inline constexpr bool sees_threads = SINTER_THREAD_SANITIZER;

/// Instruments an optimized module. LLVM's own pass skips vectors of more than 16 bytes and masked ones; they are reported as ranges.
void show_to_thread_sanitizer(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace sinter::codegen
