// Long sums of products (ir/long_sum.h) in memory: tiles compute chains of multiply-adds, which are added to sums with their rounding errors.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// A matrix of results of chains, and the memory of their sums: rows of `stride` sums, each followed by as many errors.
struct Chains {
  llvm::Value *results, *sums;
  llvm::Value *rows, *columns;  ///< of the part that is added
  std::int64_t stride;          ///< of a row of the results
};

/// The type of the sums of so many rows of results.
Type chain_sums(Dim rows, Dim stride);
/// Adds the results to the sums, which are theirs if these are the first.
void add_chains(Emitter& e, const Chains& chains, llvm::Value* first);
/// Makes the sums the results.
void finish_chains(Emitter& e, const Chains& chains);

/// Steps of a loop, so many of which make a chain. Where all make one, nothing needs to be added.
class ChainSteps {
 public:
  ChainSteps(Emitter& e, llvm::Value* steps, std::int64_t a_chain) : e_(e), steps_(steps), a_chain_(a_chain) {}
  /// The number of a step in its chain: 0 begins it.
  llvm::Value* place(llvm::Value* step) const;
  /// After a step: adds the results if their chain ends with it.
  void add(llvm::Value* step, const Chains& chains) const;
  /// After all steps.
  void finish(const Chains& chains) const;

 private:
  llvm::Value* are_several() const;

  Emitter& e_;
  llvm::Value* steps_;
  std::int64_t a_chain_;
};

}  // namespace sinter::codegen
