// Generated code under ThreadSanitizer.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace sinter::codegen {

/// Whether this library is built with ThreadSanitizer: then the code that it generates is instrumented too.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool sees_threads = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool sees_threads = true;
#else
inline constexpr bool sees_threads = false;
#endif
#else
inline constexpr bool sees_threads = false;
#endif

/// Instruments an optimized module. LLVM's own pass skips vectors of more than 16 bytes and masked ones; they are reported as ranges.
void show_to_thread_sanitizer(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace sinter::codegen
