// The origin of the pointers of a checked kernel.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <vector>

namespace sinter::codegen {

/// The memory that a pointer may point into, as values of the function.
struct Region {
  llvm::Value *begin = nullptr, *bytes = nullptr;  ///< i64
  llvm::Value* is_buffer = nullptr;                ///< i1: one of the kernel's buffers, past whose end vectors may read
};

/// Follows pointers back to buffers (arguments of the kernel), memory on the stack, constants of the module, the step's context and what that points
/// to. Throws InternalError for pointers that come from elsewhere.
class Origins {
 public:
  Origins(llvm::Function& kernel, std::size_t inputs);

  /// The memory that a pointer, or a vector of them, may point into.
  const std::vector<llvm::Value*>& of(llvm::Value* pointer);
  Region region(llvm::Value* pointer);
  bool is_buffer(const llvm::Value* origin) const;
  /// The end of the entry block, which holds only variables and facts about the buffers.
  llvm::Instruction* start() const { return start_; }

 private:
  void add(llvm::Value* pointer, std::vector<llvm::Value*>& found, std::vector<llvm::Value*>& seen);
  Region region_of_origin(llvm::Value* origin);

  llvm::Function& kernel_;
  std::size_t inputs_;
  llvm::IRBuilder<> b_;
  llvm::Instruction* start_ = nullptr;
  std::map<llvm::Value*, std::vector<llvm::Value*>> origins_;
  std::map<llvm::Value*, Region> regions_;
};

}  // namespace sinter::codegen
