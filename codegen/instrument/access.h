// The loads and stores of a function, in any form, for instrumentation.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace sinter::codegen {

/// Memory that an instruction accesses, from the first to the last byte.
struct Access {
  llvm::Instruction* at;
  llvm::Value* pointer;  ///< the address: a pointer, or a vector of them
  llvm::Value* first;    ///< i64: address of the first byte
  llvm::Value* bytes;    ///< i64; 0 where a mask has no lane set
  bool store;
};

/// All of a function's, in order; the arithmetic on masks that `first` and `bytes` need is put before each instruction. Calls are left out. Throws
/// InternalError for an instruction that accesses memory in an unknown way.
std::vector<Access> find_accesses(llvm::Function& function);

/// Merges the accesses of a block that are at fixed distances from each other into one, at the first of them.
std::vector<Access> merge_accesses(const std::vector<Access>& accesses);

}  // namespace sinter::codegen
