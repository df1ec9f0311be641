// The transforms of convolutions with few multiplications (ir/winograd.h).
#pragma once

#include "codegen/emit/emitter.h"
#include "ir/winograd.h"

namespace sinter::codegen {

/// A transform of square grids of vectors, to = matrix · from · matrixᵀ.
struct Transform {
  const char* name;
  ir::Matrix matrix;
  unsigned width;             ///< floats of a vector
  bool clipped_from = false;  ///< only the first rows and columns of `from` exist, the others count as zeros
  bool clipped_to = false;    ///< only the first rows and columns of `to` exist
  bool checked = false;       ///< returns whether all numbers that it made are finite
};

/// void transform(ptr to, i64 to_row, i64 to_column, ptr from, i64 from_row, i64 from_column, i64 vectors, i64 rows, i64 columns): of adjacent
/// vectors, with floats from row to row and from column to column of each grid, and where it is clipped how many rows and columns exist. i1 if it is
/// checked: false also where the sum of the finite numbers of a grid overflows.
llvm::Function* transform_function(EmitContext& context, const Transform& t);

}  // namespace sinter::codegen
