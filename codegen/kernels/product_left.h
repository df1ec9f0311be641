// The left operand of a product, as its tiles read it.
#pragma once

#include <optional>
#include <vector>

#include "codegen/kernels/product_plan.h"
#include "codegen/kernels/product_tile.h"
#include "codegen/kernels/product_words.h"
#include "codegen/kernels/window_rows.h"

namespace sinter::codegen {

class LeftOperand : ProductWords {
 public:
  /// `most_k`: the most contracted indices of a pass. `most_rows`: the most rows of the result of a call, if the operand is transposed.
  LeftOperand(Emitter& emitter, const Product& product, std::int64_t most_k, std::int64_t most_rows);

  /// Of windows of images: calls body with the rows of the result of which the windows are at hand.
  void for_each_block(const std::function<void(Range)>& body) { windows_->for_each_block(body); }
  /// The rows of the result that follow, [begin, end); and, of several products, the first row of the matrix.
  void set_rows(llvm::Value* begin, llvm::Value* end, llvm::Value* first);
  /// Of transposed windows: the tap of the kernel to which the rows that follow belong.
  void set_tap(llvm::Value* tap) { tap_ = tap; }
  /// How a tile walks over it, and its elements from one contracted index to the next, or from row to row.
  Tile::Walk walk() const;
  std::int64_t stride() const { return kind_ == Kind::converted ? copy_stride_ : product_.left_layout.stride.factor(); }
  bool is_converted() const { return kind_ == Kind::converted; }

  /// Before a pass over [k, k_stop).
  void begin_pass(llvm::Value* k, llvm::Value* k_stop);
  /// Adds the arguments of the tile of rows that starts at `row`.
  void add_to(std::vector<llvm::Value*>& arguments, llvm::Value* row, unsigned rows, llvm::Value* k, llvm::Value* k_stop);
  /// Elements [k, k_stop) of a single row.
  llvm::Value* of_row(llvm::Value* row, llvm::Value* k, llvm::Value* k_stop);
  /// The part of a tile of rows in prefetching the next pass over `block` contracted indices, of which k_end is the last. The rows of a pass over a
  /// batch are scattered, in pieces too short for the hardware prefetcher; each tile prefetches its share of them, so that the prefetches overlap.
  void fetch_share(llvm::Value* row, unsigned rows, llvm::Value* k_stop, llvm::Value* k_end, std::int64_t block);

 private:
  /// In place; rows that an index picks from a leaf; such rows with arithmetic on them, converted into the kernel's own memory; windows of images,
  /// or what a tap of the kernel meets in all windows.
  enum class Kind : std::uint8_t { stored, picked, converted, windows, tap };

  llvm::Value* at(llvm::Value* row, llvm::Value* column);
  void convert(llvm::Value* row, llvm::Value* column, llvm::Value* stop, llvm::Value* to);
  void fetch_next_rows(llvm::Value* row, unsigned rows, llvm::Value* k);

  const Product& product_;
  const ir::NodeId node_;
  const ir::NodeId picked_from_;
  const bool transposed_;
  Kind kind_ = Kind::stored;
  std::int64_t copy_stride_ = 0;
  std::optional<WindowRows> windows_;
  std::optional<WindowTap> pixels_;
  llvm::Value* tap_ = nullptr;
  llvm::AllocaInst* list_ = nullptr;  ///< pointers to the picked rows of a pass, or pixels
  llvm::AllocaInst* copy_ = nullptr;  ///< converted rows
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *last_ = nullptr, *first_ = nullptr;
};

}  // namespace sinter::codegen
