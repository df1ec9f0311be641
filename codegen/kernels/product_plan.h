// How a product is cut into register tiles and cache blocks: depends on its shape and the target's registers; printed by explain().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/ops/contraction.h"
#include "ir/step.h"

namespace sinter::codegen {

/// The operands of a product: a matmul, the product of a dense, those of a batch_matmul; the windows and the kernel of a convolution; or, transposed,
/// windows and the gradients of their results.
struct Product {
  ir::Matmul op;
  /// The left rows, or columns if transposed, are windows of images (is_window_product), in runs of so many adjacent numbers; 0: those of a matrix.
  std::int64_t run = 0;
  /// The right one is a kernel rotated by 180 degrees, with so many channels and features exchanged; 0: it is as it is stored.
  std::int64_t rotated = 0;
  bool of_windows() const { return run && !op.transpose_a; }
  bool of_transposed_windows() const { return run && op.transpose_a; }
  std::size_t leading = 0;  ///< dimensions before those of the matrices
  ir::NodeId left = ir::no_node, right = ir::no_node;
  ir::ProductExtents sizes;
  SymbolicLayout left_layout, right_layout, result_layout;
};
Product product_of(const ir::Graph& graph, ir::NodeId anchor);
/// Whether a step packs the right operand, in a separate kernel: panel after panel, each with its columns row by row. Else tiles read it
/// in place, or from a copy that each chunk makes. False for other anchors. `of_step`: of a loop over time, which reads it again in each step.
bool packs_right(const ir::Graph& graph, ir::NodeId anchor, bool of_step);
/// A right operand of at least this size does not stay in the second-level cache between chunks.
inline constexpr std::int64_t much_elements = 256 * 1024;
/// The least rows of a chunk that reads so much.
inline constexpr std::int64_t much_rows = 32;
/// Whether every chunk of the product is cut into pieces of columns: where the right operand is so large that each chunk of rows would read all of it
/// from memory, and there are few chunks of rows. `of_step`: of a loop over time, whose chunks read it in each step.
bool divides_columns(const ir::Graph& graph, ir::NodeId anchor, bool of_step);
/// The columns of a piece of a product of windows, and of one in a loop over time; others have piece_columns.
inline constexpr std::int64_t window_columns = 64, step_columns = 48;
/// Tiles never have more rows than this: where a product is collected, so many rows past the last may be written.
inline constexpr std::int64_t most_tile_rows = 8;

/// Whether its sums may have more terms than a chain (ir/long_sum.h).
bool is_long(const Product& product);

/// How a product whose sums run over N or T, the gradient of a weight, is divided: the terms into slots, the rows of the result into pieces.
struct ProductParts {
  std::int64_t slots = 0;  ///< the most; 0: it is not divided so
  std::int64_t pieces = 0, piece_rows = 0;
};
ProductParts parts_of(const ir::Graph& graph, ir::NodeId anchor);
/// Chunks of the rows of a matrix, each of which reads the whole right operand: the longer that may be, the more rows a chunk should have. Few
/// threads join chunks to as many rows as have their sums in the second-level cache.
void limit_matrix_rows(const Product& product, ChunkLimits& limits);
/// The least terms of a slot.
inline constexpr std::int64_t least_terms = 1024;
/// The least rows of the result for which a product that can also read the right operand in place reads it packed.
inline constexpr std::int64_t paying_rows = 16;

/// The vector registers of a target.
struct VectorUnit {
  unsigned lanes = 16;      ///< floats per register
  unsigned registers = 32;  ///< their number
};

/// Adjacent panels of columns with the same tile.
struct Panels {
  std::int64_t column = 0, columns = 0;  ///< of the first panel; each next one begins `columns` further
  std::int64_t count = 0;
  std::vector<unsigned> widths;  ///< floats of each vector of a row of the tile
  unsigned rows = 0;             ///< rows of the tile
};

/// c[m,f] = op(a)[m,k] · op(b)[k,f]. For each block of k, for each panel, for each tile of rows: the tile stays in registers over the block.
/// Every element is one chain of fused multiply-adds in the order of k, or a long sum of such chains, so no choice here affects the result.
struct ProductPlan {
  std::vector<Panels> panels;
  std::int64_t k_block = 0;  ///< contracted indices per pass; 0: all
  /// Where tiles read b: in place; from what the step has packed; from a copy of the block that each chunk makes, for a small b that is transposed.
  enum class Right : std::uint8_t { in_place, packed, copied } right = Right::in_place;
  bool one_pass() const { return k_block == 0 && panels.size() == 1 && panels.front().count == 1; }
  std::int64_t widest() const;  ///< columns of the widest panel
};

/// What else decides how a product is planned.
struct ProductUse {
  bool packs = false;    ///< packs_right
  bool divided = false;  ///< the columns of a piece are whole panels
  bool of_step = false;  ///< of a loop over time: each call has a few rows
};
/// For products that fit tiles (ir::fits_tiles).
ProductPlan plan_product(const Product& product, ProductUse use, VectorUnit unit);
/// The rows that a call of a product in a loop over time mostly has.
inline constexpr std::int64_t step_rows = 8;
/// Whether a call's tiles are as few and as even as its number of rows allows, of `rows` rows at the most, so that few rows are computed in vain: 16
/// rows are tiles of 6, 5 and 5, and 8 are two of 4, where whole tiles of 6 would compute 18 and 12. Of many rows the waste is small.
bool takes_shorter_tiles(const Product& product, std::int64_t rows);
/// The rows of the tiles of a call that has so few that even ones have no more; those of other calls have `rows` and one less.
constexpr unsigned few_rows(unsigned rows) { return rows / 2 + 1; }
/// "[N,784]·[784,70]: 1 panel of 72 columns × 5 rows".
std::string to_text(const ProductPlan& plan, const Product& product);

/// Columns cut into panels of `each`, and one for the rest; rows are not chosen yet.
std::vector<Panels> cut_panels(std::int64_t columns, std::int64_t each, unsigned lanes);

/// Vectors that cover so many columns (a multiple of 8): whole registers, then one for the rest.
std::vector<unsigned> widths_of(std::int64_t columns, unsigned lanes);

/// Vectors of a tile of one row: enough chains of multiply-adds to hide their latency.
inline constexpr std::int64_t most_row_vectors = 8;

}  // namespace sinter::codegen
