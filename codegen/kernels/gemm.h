// Products that the launcher computes.
#pragma once

#include "codegen/emit/emitter.h"
#include "ir/ops/contraction.h"

namespace sinter::codegen {

/// A matrix: where it begins, and elements from row to row.
struct GemmMatrix {
  llvm::Value* data;
  Dim stride;
  bool transposed = false;
};

/// c = op(a) · op(b), of `m` rows.
void emit_gemm(Emitter& e, const GemmMatrix& a, const GemmMatrix& b, const GemmMatrix& c, llvm::Value* m, const ir::ProductExtents& sizes);

}  // namespace sinter::codegen
