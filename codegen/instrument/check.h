// Checked steps: kernels that access only their own memory and report their accesses. See CheckHooks in ir/step.h.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>

#include "codegen/instrument/access.h"

namespace sinter::codegen {

/// The attribute of functions with the arguments of a checked kernel (codegen/emit/emitter.h).
inline constexpr const char* checked_kernel = "sinter-checked-kernel";
/// The attribute of those whose chunks store to separate ranges: each range of the memory to which they store is reported on its own.
inline constexpr const char* strided_kernel = "sinter-strided-kernel";

/// Puts a check before every load and store of the kernels of a module that is not optimized yet. Each pointer is followed back to the
/// buffer that it was made from, through the shared functions, which become part of the kernels; a module must therefore define all that it calls.
/// An access that leaves the buffer is not executed: CheckHooks::outside is called and the kernel returns. `inputs`: of the graph.
/// Throws InternalError for a pointer that cannot be followed.
void check_accesses(llvm::Module& module, llvm::TargetMachine& machine, std::size_t inputs);

}  // namespace sinter::codegen
