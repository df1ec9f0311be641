// The loads and stores of a function, of whatever form, for what watches them.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace sinter::codegen {

/// Memory that an instruction touches, from the first to the last byte of it.
struct Access {
  llvm::Instruction* at;
  llvm::Value* pointer;  ///< what the address is made of: a pointer, or a vector of them
  llvm::Value* first;    ///< i64: address of the first byte
  llvm::Value* bytes;    ///< i64; where a mask has no lane 0
  bool store;
};

/// All of a function's, in order; the arithmetic on masks that `first` and `bytes` need is put before each instruction. Calls are left out, except
/// those of tell_touched. Throws InternalError for an instruction that touches memory in a way that is not known here.
std::vector<Access> find_accesses(llvm::Function& function);

/// Those of a block that lie at fixed distances from each other become one, at the first of them.
std::vector<Access> merge_accesses(const std::vector<Access>& accesses);

/// Says to find_accesses that a function outside of the module, called next, touches so many bytes from a pointer on. check_accesses takes these
/// calls away.
void tell_touched(llvm::IRBuilder<>& builder, llvm::Value* pointer, llvm::Value* bytes, bool store);
bool is_touch(const llvm::Instruction& instruction);

}  // namespace sinter::codegen
