// How a product is cut into register tiles and cache blocks: a function of its shape and the target's registers, printed by explain().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/layout.h"
#include "ir/ops/contraction.h"

namespace sinter::codegen {

/// The vector registers of a target.
struct VectorUnit {
  unsigned lanes = 16;      ///< floats a register
  unsigned registers = 32;  ///< of them
};

/// Adjacent panels of columns with the same tile.
struct Panels {
  std::int64_t column = 0, columns = 0;  ///< of the first panel; each next one begins `columns` further
  std::int64_t count = 0;
  std::vector<unsigned> widths;  ///< floats of each vector of a row of the tile
  unsigned rows = 0;             ///< rows of the tile
};

/// c[m,f] = op(a)[m,k] · op(b)[k,f]. For each block of k, for each panel, for each tile of rows: the tile stays in registers over the block.
/// Every element is one chain of fused multiply-adds in the order of k, so no choice here shows in the result.
struct ProductPlan {
  std::vector<Panels> panels;
  std::int64_t k_block = 0;  ///< contracted indices a pass; 0: all
  std::int64_t copy_rows =
      0;  ///< from this many rows of c on, the block of b is copied (transposed if need be) to where its vectors are adjacent; 0: never
  bool one_pass() const { return k_block == 0 && panels.size() == 1 && panels.front().count == 1; }
  std::int64_t widest() const;  ///< columns of the widest panel
};

/// For products whose f is fixed and more than 1.
ProductPlan plan_product(const ir::Matmul& op, const ir::ProductExtents& sizes, std::int64_t stride, VectorUnit unit);
/// "[N,784]·[784,70]: 1 panel of 72 columns × 5 rows".
std::string to_text(const ProductPlan& plan, const ir::ProductExtents& sizes);

/// Tiles never have more rows than this: where a product is collected, so many rows past the last may be written.
inline constexpr std::int64_t most_tile_rows = 8;

}  // namespace sinter::codegen
