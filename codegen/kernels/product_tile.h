// The innermost loop of a product.
#pragma once

#include <llvm/IR/Function.h>

#include <cstdint>
#include <vector>

namespace sinter::codegen {

struct EmitContext;

/// What the code of a tile depends on.
struct Tile {
  std::vector<unsigned> widths;  ///< floats of each vector of a row
  unsigned rows;
  std::int64_t ldc;
  /// Where the next contracted index of a is: in each of the rows; in columns, `lda` elements further; in the next entry of a list of columns.
  enum class Walk : std::uint8_t { rows, columns, list } walk;
  std::int64_t lda;
  bool accumulate;  ///< add to what c holds unless this is the first pass
};

/// void tile(ptr c, ptr b, i64 ldb, i64 k_count, i64 k_begin, ptr a, ...): multiply-adds over k_count contracted indices, the sums in registers.
/// a is a pointer for each row, or one to the first row's element, or a list of pointers to columns and the first row's place in them (i64).
/// Made at the first call for a form.
llvm::Function* tile_function(EmitContext& context, const Tile& tile);

}  // namespace sinter::codegen
