// The innermost loop of a product.
#pragma once

#include <llvm/IR/Function.h>

#include <cstdint>
#include <vector>

namespace sinter::codegen {

struct EmitContext;

/// The parameters of the code of a tile.
struct Tile {
  std::vector<unsigned> widths;  ///< floats of each vector of a row
  unsigned rows;
  std::int64_t ldc;
  /// The layout of a: separate rows, contracted indices adjacent; in columns, rows adjacent and the next index
  /// `lda` elements further; likewise, but columns from a list; or in rows `lda` elements apart.
  enum class Walk : std::uint8_t { rows, columns, list, spread } walk;
  std::int64_t lda;
  bool accumulate;    ///< add to what c holds unless this is the first pass
  bool runs = false;  ///< columns and spread: several runs of k_count indices, a and b jumping after each
};

/// void tile(ptr c, ptr b, i64 ldb, i64 k_count, i64 k_begin, ptr a, ...): multiply-adds over k_count contracted indices, the sums in registers.
/// a is a pointer for each row, or one to the first row's element, or a list of pointers to columns and the first row's index in them (i64). With
/// runs follow (i64 runs, i64 a_jump, i64 b_jump): how many, and how many elements from the end of one to the start of the next. Made at the first
/// call for a form.
llvm::Function* tile_function(EmitContext& context, const Tile& tile);

}  // namespace sinter::codegen
