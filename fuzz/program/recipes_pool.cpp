#include "fuzz/program/images.h"
#include "fuzz/program/recipes.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

Value image(Builder& b) { return b.floats(is_image, image_shape(b)); }

template <class O>
Shape windows(const O& op, const Shape& image) {
  const ir::Sliding s = ir::pool_windows(image, op.kernel, op.strides, op.pads);
  return {image[0], s.h.out, s.w.out, image[3]};
}

/// A place in each window: of the greatest elements of an image, or any.
template <class O>
Value places(Builder& b, const O& op, const Shape& image) {
  const Shape shape = windows(op, image);
  if (b.choose.below(2)) return b.add(ir::MaxPoolPlace{op.kernel, op.strides, op.pads}, {b.floats(image)});
  return b.leaf({DType::u8, shape}, 0, static_cast<double>(op.kernel.elements().factor()));
}

}  // namespace

Value make(Builder& b, const ir::MaxPool& op) { return pool_of(b, op, image(b)); }
Value make(Builder& b, const ir::MaxPoolPlace& op) { return pool_of(b, op, image(b)); }
Value make(Builder& b, const ir::AveragePool& op) { return pool_of(b, op, image(b)); }

Value make(Builder& b, const ir::PoolTake&) {
  ir::PoolTake op;
  choose_windows(b, op);
  const Value x = image(b);
  return b.add(op, {x, places(b, op, x.shape())});
}

Value make(Builder& b, const ir::PoolPut&) {
  ir::PoolPut op;
  choose_windows(b, op);
  const Shape x = image_shape(b);
  op.image = {x[1], x[2]};
  return b.add(op, {places(b, op, x), b.floats(windows(op, x))});
}

Value make(Builder& b, const ir::AverageSpread&) {
  ir::AverageSpread op;
  choose_windows(b, op);
  const Shape x = image_shape(b);
  op.image = {x[1], x[2]};
  return b.add(op, {b.floats(windows(op, x))});
}

}  // namespace sinter::fuzz
