// Loops and branches in IR.
#pragma once

#include <functional>

#include "codegen/vec.h"

namespace sinter::codegen {

/// Calls body with begin, begin + step, … below end.
void emit_loop(Builder& b, llvm::Value* begin, llvm::Value* end, std::int64_t step, const std::function<void(llvm::Value*)>& body);
void emit_when(Builder& b, llvm::Value* condition, const std::function<void()>& body);

}  // namespace sinter::codegen
