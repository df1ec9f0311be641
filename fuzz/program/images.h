// Images [N, H, W, C] and the windows of pools over them, as recipes and motifs choose them.
#pragma once

#include "fuzz/program/builder.h"

namespace sinter::fuzz {

inline bool is_image(const Shape& s) { return s.rank() == 4 && s[1].is_fixed() && s[2].is_fixed() && s[3].is_fixed(); }

inline Shape image_shape(Builder& b, std::int64_t channels) {
  const Dim images = b.choose.one_in(5) ? Dim(b.number(1, 3)) : b.batch();
  return {images, b.number(1, 9), b.number(1, 9), channels};
}
inline Shape image_shape(Builder& b) { return image_shape(b, b.extent()); }

/// Kernel, strides and pads of a pool.
template <class O>
void choose_windows(Builder& b, O& op) {
  const auto pad = [&](Dim size) { return b.number(0, static_cast<std::size_t>(size.factor() - 1)); };
  op.kernel = {b.number(1, 3), b.number(1, 3)};
  op.strides = b.choose.below(2) ? op.kernel : Shape{b.number(1, 3), b.number(1, 3)};
  if (b.choose.below(2)) op.pads = {pad(op.kernel[0]), pad(op.kernel[1]), pad(op.kernel[0]), pad(op.kernel[1])};
}

/// A pool of the image with windows of some kind.
template <class O>
ir::Value pool_of(Builder& b, O op, ir::Value image) {
  choose_windows(b, op);
  return b.add(op, {image});
}

}  // namespace sinter::fuzz
