// Convolutions and pools.
#include "fuzz/program/images.h"
#include "fuzz/program/motif_parts.h"
#include "fuzz/program/recipes.h"

namespace sinter::fuzz::motif {

using ir::Value;

namespace {

/// A convolution or one of its gradients, and arithmetic.
Value convolution_or_gradient(Builder& b, const ir::Conv2D& op, const Shape& x, const Shape& w) {
  const auto y = [&] { return b.floats(ir::convolution_of(op, x, w).y()); };
  switch (b.choose.below(3)) {
    case 0:
      return arithmetic(b, b.add(op, {b.floats(x), b.floats(w)}));
    case 1:
      return arithmetic(b, b.add(ir::Conv2DTranspose{op.strides, op.dilations, op.pads, op.groups, {x[1], x[2]}}, {y(), b.floats(w)}));
    default:
      return arithmetic(b, b.add(ir::Conv2DWeight{op.strides, op.dilations, op.pads, op.groups, {w[0], w[1]}}, {b.floats(x), y()}));
  }
}

/// A convolution, or the gradient of its kernel, of an image so large that it is copied in blocks.
Value convolution_of_large_image(Builder& b) {
  b.allow(400'000, 3e7);
  const std::int64_t channels = b.number(1, 3), size = b.number(2, 3);
  const Shape x{1, b.number(370, 420), b.number(370, 420), channels}, w{size, size, channels, b.number(1, 3)};
  ir::Conv2D op;
  op.pads = {b.number(0, 2), b.number(0, 2), b.number(0, 2), b.number(0, 2)};
  op.strides = {b.number(1, 3), b.number(1, 3)};
  op.dilations = {b.number(1, 3), 1};
  const Value image = b.leaf({DType::f32, x});
  if (b.choose.below(2)) return arithmetic(b, b.add(op, {image, b.leaf({DType::f32, w})}));
  const Value y = b.leaf({DType::f32, ir::convolution_of(op, x, w).y()});
  return b.add(ir::Conv2DWeight{op.strides, op.dilations, op.pads, op.groups, {size, size}}, {image, y});
}

/// A convolution with so large a kernel that it is read for several images together; of an image with many pixels, for a part of it.
Value convolution_of_many_windows(Builder& b) {
  const Shape x{1, b.number(36, 38), b.number(36, 38), b.number(32, 34)}, w{4, 4, x[3], b.number(66, 70)};
  return arithmetic(b, b.add(ir::Conv2D{}, {b.leaf({DType::f32, x}), b.leaf({DType::f32, w})}));
}

}  // namespace

/// Convolution, bias, activation and pool.
Value image_layer(Builder& b) {
  if (b.choose.one_in(3)) return convolution_of_large_image(b);
  Value x = link(b, b.choose.one_in(4) ? make(b, ir::Conv2DTranspose{}) : make(b, ir::Conv2D{}));
  x = link(b, b.add(ir::Add{}, {x, exactly(b) ? b.floats(Shape{x.shape()[3]}) : b.beside(DType::f32, x.shape())}));
  x = link(b, exactly(b) ? b.add(ir::Relu{}, {x}) : arithmetic(b, x));
  if (b.choose.one_in(3)) return x;
  return b.choose.one_in(4) ? pool_of(b, ir::AveragePool{}, x) : pool_of(b, ir::MaxPool{}, x);
}

/// A convolution with so many channels and features that few multiplications pay, or one of its gradients.
Value convolution_of_many_channels(Builder& b) {
  constexpr std::int64_t many[] = {16, 12, 17, 9, 7}, extents[] = {16, 12, 11, 19, 12, 9, 7};
  const std::int64_t size = b.choose.one_in(3) ? 5 : 3, channels = b.choose.among(many), features = b.choose.among(many);
  const bool same = exactly(b);
  const auto pad = [&] { return same ? size / 2 : b.number(0, 3); };
  const Shape w{size, size, channels, features};
  const Shape x{b.choose.below(3) ? Dim(b.number(1, 2)) : Dim::batch(), b.choose.among(extents), b.choose.among(extents), channels};
  ir::Conv2D op;
  op.pads = {pad(), pad(), pad(), pad()};
  if (!exactly(b)) op.strides = {b.number(1, 2), b.number(1, 2)};
  return convolution_or_gradient(b, op, x, w);
}

/// A convolution whose kernel has long rows, or the gradient of its image: windows overlap or lie apart.
Value convolution_of_long_kernel(Builder& b) {
  b.allow(400'000, 3e7);
  const std::int64_t size = b.number(20, 40), channels = b.number(30, 90);
  const Shape x{1, b.number(1, 2), size + b.number(20, 40), channels}, w{1, size, channels, b.number(40, 90)};
  ir::Conv2D op;
  op.pads = {0, b.number(0, size - 1), 0, b.number(0, size - 1)};
  op.strides = {1, b.number(1, 3)};
  const Value kernel = b.leaf({DType::f32, w});
  if (b.choose.below(2)) return arithmetic(b, b.add(op, {b.leaf({DType::f32, x}), kernel}));
  const Value y = b.leaf({DType::f32, ir::convolution_of(op, x, w).y()});
  return arithmetic(b, b.add(ir::Conv2DTranspose{op.strides, op.dilations, op.pads, op.groups, {x[1], x[2]}}, {y, kernel}));
}

/// A convolution of few pixels with so large a kernel, or one of its gradients; sometimes of many pixels.
Value convolution_of_large_kernel(Builder& b) {
  b.allow(600'000, 1.2e8);
  if (b.choose.one_in(4)) return convolution_of_many_windows(b);
  const bool of_kernel = b.choose.one_in(3);
  const std::int64_t size = of_kernel ? 3 : b.number(1, 3), channels = b.number(of_kernel ? 110 : 60, of_kernel ? 140 : 200),
                     features = b.number(of_kernel ? 120 : 60, 140);
  const auto extent = [&] { return b.number(1, 5) + size - 1; };
  const auto pad = [&] { return exactly(b) ? size / 2 : b.number(0, static_cast<std::size_t>(size - 1)); };
  const Shape x{b.choose.one_in(3) ? Dim(b.number(1, 2)) : b.batch(), extent(), extent(), channels}, w{size, size, channels, features};
  ir::Conv2D op;
  op.pads = {pad(), pad(), pad(), pad()};
  if (!exactly(b)) op.strides = {b.number(1, 2), b.number(1, 2)};
  const auto y = [&] { return b.leaf({DType::f32, ir::convolution_of(op, x, w).y()}); };
  if (of_kernel)
    return arithmetic(b, b.add(ir::Conv2DWeight{op.strides, op.dilations, op.pads, op.groups, {size, size}}, {b.leaf({DType::f32, x}), y()}));
  if (b.choose.below(2)) return arithmetic(b, b.add(op, {b.leaf({DType::f32, x}), b.leaf({DType::f32, w})}));
  return arithmetic(b, b.add(ir::Conv2DTranspose{op.strides, op.dilations, op.pads, op.groups, {x[1], x[2]}}, {y(), b.leaf({DType::f32, w})}));
}

/// A convolution of few features and windows of many numbers, or one of its gradients; often of a single long row.
Value convolution_of_few_features(Builder& b) {
  b.allow(300'000, 2e7);
  const bool is_long = b.choose.below(2) == 0;
  const std::int64_t size = b.number(1, 3), height = is_long ? 1 : size, channels = b.number(10, 40), features = b.number(2, is_long ? 12 : 8);
  ir::Conv2D op;
  if (b.choose.below(2)) op.pads = {b.number(0, static_cast<std::size_t>(height - 1)), b.number(0, 2), 0, b.number(0, 2)};
  if (!is_long) op.strides = {b.number(1, 2), b.number(1, 3)};
  if (b.choose.one_in(4)) op.dilations = {1, 2};
  const std::int64_t reach = (size - 1) * op.dilations[1].factor() + 1;
  const Shape w{height, size, channels, features},
      x{is_long || b.choose.below(2) ? Dim(b.number(1, 3)) : b.batch(), height + (is_long ? 0 : b.number(0, 6)),
        reach + (is_long ? b.number(225, 260) : b.number(0, 12)), channels};
  return convolution_or_gradient(b, op, x, w);
}

/// A convolution whose windows are rows of a matrix as they lie, parts of rows of the images or several whole ones, or one of its gradients.
Value convolution_of_adjacent_windows(Builder& b) {
  const bool are_parts = b.choose.below(2) == 0;
  const std::int64_t height = are_parts ? 1 : b.number(1, 3), width = b.number(1, 4);
  const Shape w{height, width, b.number(1, 20), b.number(1, 20)};
  const Shape x{b.choose.one_in(3) ? Dim(b.number(1, 3)) : b.batch(), height * b.number(1, 3), width * (are_parts ? b.number(1, 5) : 1), w[2]};
  ir::Conv2D op;
  op.strides = {height, width};
  if (!exactly(b)) op.strides = {b.number(1, 3), b.number(1, 4)};
  if (!exactly(b)) op.pads = {b.number(0, 1), b.number(0, 1), b.number(0, 1), b.number(0, 1)};
  return convolution_or_gradient(b, op, x, w);
}

/// A convolution of a few groups, or one of its gradients: of one channel or feature a group, of vectors that are not full, and of several vectors.
Value convolution_of_groups(Builder& b) {
  b.allow(300'000, 2e7);
  constexpr std::int64_t many[] = {4, 1, 3, 8, 2, 16, 20};
  const std::int64_t groups = b.number(2, 6), channels = groups * b.choose.among(many), features = groups * b.choose.among(many);
  const std::int64_t height = b.number(1, 3), width = b.number(1, 3);
  const auto pad = [&](std::int64_t size) { return b.choose.below(2) ? b.number(0, static_cast<std::size_t>(size - 1)) : 0; };
  ir::Conv2D op;
  op.groups = groups;
  op.strides = {b.number(1, 2), b.number(1, 3)};
  if (b.choose.one_in(4)) op.dilations = {1, b.number(1, 2)};
  op.pads = {pad(height), pad(width), pad(height), pad(width)};
  const std::int64_t reach = (width - 1) * op.dilations[1].factor() + 1;
  const Shape w{height, width, channels / groups, features},
      x{b.choose.one_in(3) ? Dim(b.number(1, 2)) : b.batch(), height + b.number(0, 4), reach + b.number(0, 20), channels};
  return convolution_or_gradient(b, op, x, w);
}

/// A depthwise convolution of rows of several tiles, or one of its gradients; sometimes with a kernel too long for these.
Value depthwise_convolution(Builder& b) {
  b.allow(200'000, 1e7);
  constexpr std::int64_t many[] = {16, 8, 17, 24, 33, 5, 2}, several[] = {1, 2, 1, 4, 1, 8, 2, 3};
  const std::int64_t channels = b.choose.among(many), features = channels * b.choose.among(several), height = b.number(1, 5),
                     width = b.choose.one_in(8) ? b.number(10, 12) : b.number(1, 9);
  const auto pad = [&](std::int64_t size) { return b.number(0, static_cast<std::size_t>(size - 1)); };
  ir::Conv2D op;
  op.groups = channels;
  op.strides = {b.number(1, 2), b.choose.one_in(2) ? 1 : b.number(1, 5)};
  if (b.choose.one_in(4)) op.dilations = {1, b.number(1, 3)};
  op.pads = {pad(height), pad(width), pad(height), pad(width)};
  const std::int64_t reach = (width - 1) * op.dilations[1].factor();
  const Shape w{height, width, 1, features},
      x{b.choose.one_in(3) ? Dim(b.number(1, 2)) : b.batch(), height + b.number(0, 4), reach + b.number(1, 30), channels};
  return convolution_or_gradient(b, op, x, w);
}

/// The gradient of the kernel of a convolution over a row so long that parts of it are added up: in tiles, or with groups in lanes.
Value convolution_of_long_row(Builder& b) {
  b.allow(300'000, 2e7);
  constexpr std::int64_t many[] = {16, 5, 17, 2};
  const std::int64_t channels = b.choose.among(many), width = b.choose.one_in(4) ? b.number(10, 12) : b.number(1, 5);
  ir::Conv2D op;
  if (!b.choose.one_in(3)) op.groups = channels;
  op.strides = {1, b.number(1, 2)};
  op.pads = {0, b.number(0, static_cast<std::size_t>(width - 1)), 0, 0};
  const Shape w{1, width, channels / op.groups, channels == op.groups ? channels : b.number(1, 6)},
      x{b.choose.below(2) ? Dim(1) : b.batch(), 1, width + op.strides[1].factor() * b.number(1024, 1200), channels};
  return arithmetic(b, b.add(ir::Conv2DWeight{op.strides, op.dilations, op.pads, op.groups, {w[0], w[1]}},
                             {b.floats(x), b.floats(ir::convolution_of(op, x, w).y())}));
}

/// relu before a max pool, and the form of their gradient: with the pool's own windows, image and place, or with others.
Value rectified_pool(Builder& b) {
  const Value image = b.floats(is_image, image_shape(b)), y = b.add(ir::Relu{}, {image});
  ir::MaxPool pool;
  choose_windows(b, pool);
  const Value pooled = b.add(pool, {y});
  b.keep(pooled);
  if (b.choose.one_in(3)) return pooled;
  ir::MaxPoolPlace place{pool.kernel, pool.strides, pool.pads};
  if (!exactly(b)) choose_windows(b, place);
  ir::PoolPut put{place.kernel, place.strides, place.pads, {y.shape()[1], y.shape()[2]}};
  if (!exactly(b)) choose_windows(b, put);
  if (!exactly(b)) put.image = {b.number(1, 9), b.number(1, 9)};
  const Value where = link(b, b.add(place, {exactly(b) ? y : image})), dy = b.floats(where.shape());
  const Value zero = b.add(ir::Constant{exactly(b) ? 0.0 : 0.5}, {}), back = link(b, b.add(put, {where, dy}));
  const Value mask = link(b, b.add(ir::LessEqual{}, {exactly(b) ? y : image, exactly(b) ? zero : b.beside(DType::f32, y.shape())}));
  return b.add(ir::Select{}, exactly(b) ? ir::Values{mask, zero, back} : ir::Values{mask, back, zero});
}

}  // namespace sinter::fuzz::motif
