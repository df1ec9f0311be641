// Rows of matrices that are added to each other, or combined otherwise. Which of four chains a row is added to depends on its number alone, so that
// rows of zeros behind the last one, as padding has them, change no byte.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/emit/combine.h"

namespace sinter::codegen {

/// Rows of operands that have the same shape; each sum is of one of them.
class AddedRows {
 public:
  /// The row of the operands that has this number among those to be added.
  using RowOf = std::function<llvm::Value*(llvm::Value* number)>;
  /// `columns`: of which make_all makes sums; none: of all.
  AddedRows(Emitter& emitter, Combine how, std::vector<ir::NodeId> operands, std::optional<Range> columns = {})
      : e_(emitter), b_(emitter.builder()), how_(how), operands_(std::move(operands)), columns_(columns) {}

  /// The sums of the rows of these numbers at a site of their columns.
  std::vector<Vec> at(Rows rows, const Site& site, const RowOf& row_of);

  /// Makes those of all columns together, row after row: memory is then read as fast as it can be (ReductionKernel::adds_row_after_row). They and
  /// their chains are in the memory of the kernel's function, six numbers a column and operand.
  void make_all(Rows rows, const RowOf& row_of);
  /// Those that were made so.
  std::vector<Vec> made(const Site& site);

 private:
  /// The chains of a site, by operand and turn.
  using Chains = std::vector<std::vector<llvm::AllocaInst*>>;
  /// Adds rows [from, to) to those of a site.
  void add(const Chains& chains, llvm::Value* from, llvm::Value* to, const Site& site, const RowOf& row_of);
  void add_masked(llvm::Value* from, llvm::Value* to, const std::function<void(llvm::Value* row, unsigned turn)>& add,
                  const std::function<void(llvm::Value* row)>& add_turns);

  /// Of the chains, each by its turn.
  Vec total(const std::function<Vec(unsigned turn)>& chain);

  std::size_t count() const { return operands_.size(); }
  const Shape& in() const;
  DType dtype() const { return e_.anchor().type.dtype; }
  std::vector<Vec> evaluate(const Site& site);
  Vec value(llvm::AllocaInst* from) { return {b_.CreateLoad(from->getAllocatedType(), from), dtype()}; }
  /// Rows of so many values a column, in the function's memory.
  llvm::AllocaInst* columns_of(const char* name, std::size_t rows);
  llvm::Value* add_together(llvm::AllocaInst* chains, llvm::Value* from, llvm::Value* to, const RowOf& row_of);
  llvm::Value* place(llvm::AllocaInst* columns, const Site& site, llvm::Value* row);
  void keep(const Vec& x, llvm::AllocaInst* columns, const Site& site, llvm::Value* row);
  Vec kept(llvm::AllocaInst* columns, const Site& site, llvm::Value* row) { return e_.load(place(columns, site, row), dtype(), site.width); }
  /// Calls body at each site of the columns with each operand's number.
  void for_each_sum(const std::function<void(const Site&, llvm::Value* operand)>& body);
  void for_each_site(const Emitter::SiteBody& body) {
    if (columns_) e_.for_each_block_of(in(), e_.number(0), *columns_, body);
    else e_.for_each_block(in(), e_.number(0), false, body);
  }

  Emitter& e_;
  Builder& b_;
  const Combine how_;
  const std::vector<ir::NodeId> operands_;
  const std::optional<Range> columns_;
  llvm::AllocaInst* made_ = nullptr;
};

}  // namespace sinter::codegen
