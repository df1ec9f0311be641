// LLVM module → machine code in memory.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <span>
#include <string>

#include "codegen/kernels/product_plan.h"
#include "ir/step.h"

namespace sinter::codegen {

/// The machine that code is made for: this one ("") or "x86-64-v3" and the like. Throws UserError for a target that this machine cannot run.
std::unique_ptr<llvm::TargetMachine> target_machine(const std::string& target);
/// A machine to make objects for, not to run them: "x86-64-v3", "x86-64-v4" or "aarch64". Throws UserError for others.
std::unique_ptr<llvm::TargetMachine> other_machine(const std::string& target);
/// Its vector registers.
VectorUnit vector_unit(const llvm::TargetMachine& machine);
/// CPU and features that change the code, as text: part of the cache key and of explain().
std::string target_text(const llvm::TargetMachine& machine);

/// All that decides what becomes of a module besides its target: part of the cache key.
std::string code_version();

/// Runs LLVM's passes on the module, with all library functions disabled: objects have no undefined symbols.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);
/// The relocatable object, or its assembly.
std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine);
std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine);

/// Code loaded into this process; freed with the last copy of `owner`.
struct LoadedCode {
  StepEntry entry;
  std::shared_ptr<const void> owner;
};
/// `perf_map`: also append the names of all functions that can be looked up to /tmp/perf-PID.map.
LoadedCode load_objects(std::span<const std::string> objects, bool perf_map);

}  // namespace sinter::codegen
