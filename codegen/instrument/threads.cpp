#include "codegen/instrument/threads.h"

#include <llvm/Analysis/ValueTracking.h>

#include "codegen/instrument/access.h"
#include "codegen/jit.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Whether LLVM's pass instruments it.
bool is_told(const Access& access) {
  if (llvm::isa<llvm::CallInst>(access.at)) return false;
  const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(access.bytes);
  return bytes && llvm::isPowerOf2_64(bytes->getZExtValue()) && bytes->getZExtValue() <= 16;
}

/// Memory of the function's own, and constants.
bool is_private(const Access& access) {
  if (!access.pointer->getType()->isPointerTy()) return true;  // gathers read tables of constants
  const Value* object = llvm::getUnderlyingObject(access.pointer, 0);
  return llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object);
}

void tell_ranges(llvm::Function& function) {
  llvm::Module& module = *function.getParent();
  for (const Access& access : find_accesses(function)) {
    if (is_told(access) || is_private(access)) continue;
    llvm::IRBuilder<> b(access.at);
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty()}, false);
    b.CreateCall(module.getOrInsertFunction(access.store ? "__tsan_write_range" : "__tsan_read_range", type),
                 {b.CreateIntToPtr(access.first, b.getPtrTy()), access.bytes});
  }
}

}  // namespace

void show_to_thread_sanitizer(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    tell_ranges(function);
    function.addFnAttr(llvm::Attribute::SanitizeThread);
  }
  run_passes(module, machine, "function(tsan)");
}

}  // namespace sinter::codegen
