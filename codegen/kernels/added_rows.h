// Rows of matrices that are added to each other, or combined otherwise. Which of four chains a row is added to depends on its number alone, so that
// rows of zeros behind the last one, as padding has them, change no byte.
#pragma once

#include <functional>
#include <vector>

#include "codegen/emit/combine.h"

namespace sinter::codegen {

/// Rows of the operand of the kernel's anchor.
class AddedRows {
 public:
  /// The row of the operand that has this number among those to be added.
  using RowOf = std::function<llvm::Value*(llvm::Value* number)>;
  AddedRows(Emitter& emitter, Combine how) : e_(emitter), b_(emitter.builder()), how_(how) {}

  /// The sum of the rows of these numbers at a site of their columns.
  Vec at(Rows rows, const Site& site, const RowOf& row_of);

  /// Makes those of all columns together, row after row: memory is then read as fast as it can be (ReductionKernel::adds_row_after_row). They and
  /// their chains are in the memory of the kernel's function, six numbers a column.
  void make_all(Rows rows, const RowOf& row_of);
  /// One that was made so.
  Vec made(const Site& site);

 private:
  /// The chains of a site.
  using Chains = std::vector<llvm::AllocaInst*>;
  /// Adds rows [from, to) to those of a site.
  void add(const Chains& chains, llvm::Value* from, llvm::Value* to, const Site& site, const RowOf& row_of);
  void add_masked(llvm::Value* from, llvm::Value* to, const std::function<void(llvm::Value* row, unsigned turn)>& add,
                  const std::function<void(llvm::Value* row)>& add_turns);

  /// Of the chains, each by its turn.
  Vec total(const std::function<Vec(unsigned turn)>& chain);

  const Shape& in() const;
  DType dtype() const { return e_.anchor().type.dtype; }
  Vec value(llvm::AllocaInst* from) { return {b_.CreateLoad(from->getAllocatedType(), from), dtype()}; }
  /// Rows of a value for each column, in the function's memory; the first if `row` is null.
  llvm::AllocaInst* columns_of(const char* name, std::int64_t count = 1);
  llvm::Value* place(llvm::AllocaInst* columns, const Site& site, llvm::Value* row);
  void keep(const Vec& x, llvm::AllocaInst* columns, const Site& site, llvm::Value* row = nullptr);
  Vec kept(llvm::AllocaInst* columns, const Site& site, llvm::Value* row = nullptr) {
    return e_.load(place(columns, site, row), dtype(), site.width);
  }
  void for_each_site(const Emitter::SiteBody& body) { e_.for_each_block(in(), e_.number(0), false, body); }

  Emitter& e_;
  Builder& b_;
  const Combine how_;
  llvm::AllocaInst* made_ = nullptr;
};

}  // namespace sinter::codegen
