// The windows of images as the rows of a product: images are copied, dense and with zero padding, so that a window is a few runs of adjacent numbers.
#pragma once

#include "codegen/kernels/convolution_words.h"

namespace sinter::codegen {

class WindowRows : ConvolutionWords {
 public:
  explicit WindowRows(Emitter& emitter);

  /// Copies what the windows of some rows of the result lie over, and calls body with those rows, until all of the chunk's were there.
  void for_each_block(const std::function<void(Range)>& body);
  /// Before a pass over contracted indices from k on, all of one run.
  void begin_pass(llvm::Value* k);
  /// The number at the pass's first contracted index of the window of row `row` of the block.
  llvm::Value* at(llvm::Value* row);

 private:
  /// Notes where the windows of rows [begin, end) of windows begin, over a copy that begins with row `from`; they are the block's from number `at`
  /// on.
  void list_windows(llvm::Value* begin, llvm::Value* end, llvm::Value* from, llvm::Value* copy, llvm::Value* at);

  const WindowBlock block_;
  llvm::AllocaInst* list_;         ///< where each window of the block begins
  llvm::Value* offset_ = nullptr;  ///< of the pass's first number from there
};

/// What one tap of the kernel meets in all windows, where it lies in the images.
class WindowTap : ConvolutionWords {
 public:
  explicit WindowTap(Emitter& emitter);
  /// The first channel that tap number `tap` meets in window number `window`, counted through all images; zeros if that is padding.
  llvm::Value* at(llvm::Value* tap, llvm::Value* window);

 private:
  llvm::AllocaInst* zeros_;
};

}  // namespace sinter::codegen
