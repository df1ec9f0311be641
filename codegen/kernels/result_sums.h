// Gradients of kernels that lie in the lanes of vectors: sums over the results of all images of a chunk.
#pragma once

#include "codegen/emit/emitter.h"
#include "ir/ops/sliding.h"

namespace sinter::codegen {

struct ResultSums {
  std::size_t count = 1;  ///< made together
  unsigned width = 1;     ///< lanes of each
  std::int64_t unit = 1;  ///< so many adjacent results of a row are visited together
};
/// Adds the terms of units `part` of row `h` of an image to the sums.
using ResultTerms = std::function<void(std::span<llvm::AllocaInst* const> sums, llvm::Value* image, llvm::Value* h, const Range& part)>;
/// The totals of this chunk's images. Each chain (ir/long_sum.h) has the terms of several rows, or of a part of a long one.
std::vector<Vec> sum_over_results(Emitter& e, const ir::Sliding& sliding, const ResultSums& sums, const ResultTerms& add_terms);

}  // namespace sinter::codegen
