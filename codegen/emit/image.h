// Tensors of images [N, H, W, C].
#pragma once

#include "codegen/emit/emitter.h"
#include "ir/ops/convolution.h"

namespace sinter::codegen {

/// Image, row and column, and the channel of a site.
struct Pixel {
  llvm::Value *n, *h, *w, *channel;
};
Pixel pixel_of(Emitter& e, const Shape& shape, const Site& site);
/// Elements starting at a pixel's channel.
Vec load_pixel(Emitter& e, ValueId image, const Pixel& at, unsigned width);

/// An index along an axis, 0 if it is out of range, and whether it is in range.
struct AxisPlace {
  llvm::Value *place, *inside;
};
/// The index under element k of window o.
AxisPlace index_in_window(Emitter& e, const ir::SlidingAxis& axis, llvm::Value* o, llvm::Value* k);
/// How many elements of window o are in range.
llvm::Value* elements_inside(Emitter& e, const ir::SlidingAxis& axis, llvm::Value* o);
/// The window whose element k is over index i.
AxisPlace window_over(Emitter& e, const ir::SlidingAxis& axis, llvm::Value* i, llvm::Value* k);

}  // namespace sinter::codegen
