// Helpers that the emitters of convolutions share; see codegen/kernels/convolution_plan.h.
#pragma once

#include "codegen/kernels/image_copy.h"

namespace sinter::codegen {

/// The copy of an image and the tiles over it.
class ConvolutionWords : protected ImageWords {
 protected:
  explicit ConvolutionWords(Emitter& emitter) : ConvolutionWords(emitter, plan_convolution(emitter.graph(), emitter.kernel().anchor)) {}
  ConvolutionWords(Emitter& emitter, const ConvolutionPlan& plan) : ImageWords(emitter), node_(emitter.anchor()), plan_(plan) {}

  llvm::Value* copy_at(llvm::Value* offset) { return float_at(e_.pointer(e_.memory(Memory::staging)), offset); }
  /// Tiles for `rows` rows of so many columns.
  void choose_tiles(std::int64_t rows, std::int64_t columns);
  /// Columns that tiles compute for a group, in rows of results [.., F]: with their padding, if it is the only group.
  std::int64_t feature_columns() const {
    return plan_.groups > 1 ? conv_.features_a_group() : symbolic_layout(Shape{1, conv_.features}).stride.factor();
  }
  /// Calls body with each image of the chunk.
  void for_each_image(const std::function<void(llvm::Value*)>& body);
  /// Calls body with `most` rows of windows after the other of [begin, end), when what they lie over is copied.
  void for_each_block(llvm::Value* image, llvm::Value* begin, llvm::Value* end, std::int64_t most,
                      const std::function<void(llvm::Value*, llvm::Value*)>& body);

  const ir::Node& node_;
  const ConvolutionPlan plan_;
  ConvolutionTiles tiles_;
  ValueId source_ = no_value;  ///< the images, or for conv2d_transpose the gradients
};

}  // namespace sinter::codegen
