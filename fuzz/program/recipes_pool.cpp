#include "fuzz/program/recipes.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

std::int64_t number(Builder& b, std::size_t from, std::size_t to) { return static_cast<std::int64_t>(from + b.choose.below(to - from + 1)); }

bool is_image(const Shape& s) { return s.rank() == 4 && s[1].is_fixed() && s[2].is_fixed() && s[3].is_fixed(); }

Shape image_shape(Builder& b) {
  const Dim images = b.choose.one_in(5) ? Dim(number(b, 1, 3)) : b.batch();
  return {images, number(b, 1, 9), number(b, 1, 9), b.extent()};
}

Value image(Builder& b) { return b.floats(is_image, image_shape(b)); }

template <class O>
void choose_windows(Builder& b, O& op) {
  const auto pad = [&](Dim size) { return number(b, 0, static_cast<std::size_t>(size.factor() - 1)); };
  op.kernel = {number(b, 1, 3), number(b, 1, 3)};
  op.strides = b.choose.below(2) ? op.kernel : Shape{number(b, 1, 3), number(b, 1, 3)};
  if (b.choose.below(2)) op.pads = {pad(op.kernel[0]), pad(op.kernel[1]), pad(op.kernel[0]), pad(op.kernel[1])};
}

template <class O>
Shape windows(const O& op, const Shape& image) {
  const ir::Sliding s = ir::pool_windows(image, op.kernel, op.strides, op.pads);
  return {image[0], s.h.out, s.w.out, image[3]};
}

template <class O>
Value pool(Builder& b, O op) {
  choose_windows(b, op);
  return b.add(op, {image(b)});
}

/// A place in each window: of the greatest elements of an image, or any.
template <class O>
Value places(Builder& b, const O& op, const Shape& image) {
  const Shape shape = windows(op, image);
  if (b.choose.below(2)) return b.add(ir::MaxPoolPlace{op.kernel, op.strides, op.pads}, {b.floats(image)});
  return b.leaf({DType::u8, shape}, 0, static_cast<double>(op.kernel.elements().factor()));
}

}  // namespace

Value make(Builder& b, const ir::MaxPool& op) { return pool(b, op); }
Value make(Builder& b, const ir::MaxPoolPlace& op) { return pool(b, op); }
Value make(Builder& b, const ir::AveragePool& op) { return pool(b, op); }

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
