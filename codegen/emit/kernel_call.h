// Calls of kernels from the stages of a step.
#pragma once

#include <vector>

#include "codegen/emit/context.h"

namespace sinter::codegen {

/// The values that every function of a step works with.
struct StepWords {
  llvm::Function* function = nullptr;
  llvm::Value *context = nullptr, *thread = nullptr, *n = nullptr, *t = nullptr;
  llvm::Value* chunk = nullptr;  ///< the one that runs, numbered over all jobs of its stage

  /// A field of the StepContext.
  llvm::Value* field(Builder& builder, std::size_t offset, llvm::Type* type) const;
  llvm::Value* threads(Builder& builder) const;
};

/// What a kernel is called over: see codegen/emit/emitter.h.
struct CallRange {
  llvm::Value *begin, *end, *chunk, *piece_begin, *piece_end;
};

class KernelCalls {
 public:
  /// With `profile`, StepContext::span is called for each call.
  KernelCalls(EmitContext& context, Builder& builder, bool profile);
  /// `functions`: by kernel, and the sections of those that have some.
  void set_functions(std::vector<llvm::Function*> functions, std::vector<std::vector<llvm::Function*>> sections);
  /// `shared`: threads share the sample.
  void emit(const StepWords& words, const Loop& loop, std::size_t kernel, const CallRange& range, bool shared) {
    call(words, loop, kernel, functions_[kernel], range, range.begin, shared);
  }
  /// A section of a kernel, of samples that threads share: all that there are.
  void emit_section(const StepWords& words, const Loop& loop, std::size_t kernel, std::size_t section, const CallRange& range) {
    call(words, loop, kernel, sections_[kernel][section], range, number(0), true);
  }

 private:
  llvm::Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }
  void call(const StepWords& words, const Loop& loop, std::size_t kernel, llvm::Function* function, const CallRange& range, llvm::Value* first_unit,
            bool shared);
  llvm::Value* base(const StepWords& words, std::uint32_t buffer, const Loop& loop, llvm::Value* begin, bool shared);
  void spoil(std::size_t k, std::vector<llvm::Value*>& arguments);
  llvm::Value* tell_checks(const StepWords& words, std::size_t hook, const std::vector<llvm::Value*>& with, bool returns);
  llvm::Value* clock(const StepWords& words);
  void tell(const StepWords& words, std::size_t kernel, const CallRange& range, llvm::Value* start);

  EmitContext& context_;
  Builder& b_;
  bool profile_;
  std::vector<llvm::Function*> functions_;
  std::vector<std::vector<llvm::Function*>> sections_;
  std::vector<std::vector<std::uint32_t>> arguments_;  ///< buffers, by kernel
};

}  // namespace sinter::codegen
