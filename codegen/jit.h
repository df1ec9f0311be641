// LLVM module → machine code in memory.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codegen/kernels/product_plan.h"
#include "ir/step.h"

namespace sinter::codegen {

/// The target of code, in LLVM's terms.
struct Target {
  std::string triple, cpu, features;
  std::string text() const { return triple + " " + cpu + " " + features; }
};
/// This machine ("") or a level of the x86-64 ABI ("x86-64-v3") that it has. Throws UserError for others.
Target runnable_target(const std::string& name);
/// A target for objects that are not run here: "x86-64-v3", "x86-64-v4" or "aarch64". Throws UserError for others.
Target other_target(const std::string& name);
/// Of quick code no more is asked than to be correct: it takes a fifth of the time to compile.
enum class Effort : std::uint8_t { quick, full };
std::unique_ptr<llvm::TargetMachine> target_machine(const Target& target, Effort effort);
/// Its vector registers.
VectorUnit vector_unit(const llvm::TargetMachine& machine);

/// Runs a pipeline of LLVM's passes on the module.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline);
/// Prepares the module for the machine and optimizes it, unless the code is quick, with all library functions disabled: objects have no undefined
/// symbols.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);
/// The relocatable object, or its assembly.
std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine);
std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine);

/// Why the bytes are not a relocatable object for the machine that this process runs on; "" if they are.
std::string problem_of_object(const std::string& bytes);

/// Code loaded into this process; freed with the last copy of `owner`.
struct LoadedCode {
  StepEntry entry;
  std::shared_ptr<const void> owner;
};
/// Links the objects with each other. Throws InternalError for invalid objects and other references. `perf_map`: also append the names of all
/// functions that can be looked up to /tmp/perf-PID.map; throws UserError if that is not a file of this user's own.
LoadedCode load_objects(std::span<const std::string> objects, bool perf_map);

}  // namespace sinter::codegen
