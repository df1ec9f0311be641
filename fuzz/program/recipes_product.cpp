// Products and convolutions.
#include "fuzz/program/images.h"
#include "fuzz/program/recipes.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

/// Rows and columns as they lie, or exchanged.
Shape matrix(Dim rows, Dim cols, bool transposed) { return transposed ? Shape{cols, rows} : Shape{rows, cols}; }

Dim columns(Builder& b, bool may_be_batch) { return may_be_batch && b.choose.one_in(6) ? Dim::batch() : Dim(b.extent()); }

template <class O>
void choose_window(Builder& b, O& op) {
  if (b.choose.below(2)) op.strides = {b.number(1, 3), b.number(1, 3)};
  if (b.choose.one_in(4)) op.dilations = {b.number(1, 3), b.number(1, 3)};
  if (b.choose.below(2)) op.pads = {b.number(0, 3), b.number(0, 3), b.number(0, 3), b.number(0, 3)};
}

/// Image and kernel of a convolution.
struct Convolution {
  ir::Conv2D op;
  Shape x, w;
};

/// The kernel of 3 × 3 with many channels is computed with fewer multiplications.
Convolution convolution(Builder& b, const Shape& image) {
  constexpr std::int64_t features[] = {1, 2, 3, 4, 5, 8, 16, 17};
  Convolution c{{}, image, {}};
  const std::int64_t channels = image[3].factor();
  std::int64_t out = b.choose.among(features), kernel_h = b.number(1, 4), kernel_w = b.number(1, 4);
  if (b.choose.one_in(6)) {
    kernel_h = kernel_w = 1;
  } else if (b.choose.below(3) == 0) {
    kernel_h = kernel_w = b.choose.one_in(4) ? 5 : 3;
    if (b.choose.below(2)) c.op.pads = {1, 1, 1, 1};
  } else {
    choose_window(b, c.op);
  }
  if (b.choose.one_in(3)) {  // groups up to depthwise
    std::vector<std::int64_t> divisors;
    for (std::int64_t g = 1; g <= channels; ++g)
      if (channels % g == 0) divisors.push_back(g);
    c.op.groups = b.choose.among(divisors);
    out = c.op.groups * b.number(1, 2);
  }
  c.w = {kernel_h, kernel_w, channels / c.op.groups, out};
  return c;
}

constexpr std::int64_t channels[] = {1, 2, 3, 4, 6, 8, 16, 17};

}  // namespace

Value make(Builder& b, const ir::Matmul&) {
  const bool ta = b.choose.below(2), tb = b.choose.below(2);
  const Value x = b.floats([](const Shape& s) { return s.rank() == 2; }, b.shape(2));
  const Dim m = x.shape()[ta ? 1 : 0], k = x.shape()[ta ? 0 : 1], f = columns(b, !m.is_batch() && !k.is_batch());
  // Anything that fits; both may be the same value.
  const auto fits = [&](const Shape& s) { return s.rank() == 2 && s[tb ? 1 : 0] == k && !(m.is_batch() && s[tb ? 0 : 1].is_batch()); };
  return b.add(ir::Matmul{ta, tb}, {x, b.floats(fits, matrix(k, f, tb))});
}

Value make(Builder& b, const ir::Dense&) {
  const Value x = b.floats([](const Shape& s) { return s.rank() == 2; }, b.shape(2));
  const Dim k = x.shape()[1];
  const Value w = b.floats([&](const Shape& s) { return s.rank() == 2 && s[0] == k && s[1].is_fixed(); }, {k, b.extent()});
  return b.add(ir::Dense{}, {x, w, b.floats(Shape{w.shape()[1]})});
}

Value make(Builder& b, const ir::BatchMatmul&) {
  const bool ta = b.choose.below(2), tb = b.choose.below(2);
  const auto matrices = [](const Shape& s) { return s.rank() >= 3 && s.rank() <= 5 && s[s.rank() - 1].is_fixed() && s[s.rank() - 2].is_fixed(); };
  const Shape lead = b.shape(1 + b.choose.below(2));
  const Value x = b.floats(matrices, lead.insert(lead.rank(), b.extent()).insert(lead.rank(), b.extent()));
  const std::size_t rank = x.shape().rank();
  const Dim k = x.shape()[ta ? rank - 2 : rank - 1], f = b.extent();
  return b.add(ir::BatchMatmul{ta, tb}, {x, b.floats(x.shape().with(rank - 2, tb ? f : k).with(rank - 1, tb ? k : f))});
}

Value make(Builder& b, const ir::Conv2D&) {
  const Value x = b.floats(is_image, image_shape(b, b.choose.among(channels)));
  const Convolution c = convolution(b, x.shape());
  return b.add(c.op, {x, b.floats(c.w)});
}

Value make(Builder& b, const ir::Conv2DTranspose&) {
  const Convolution c = convolution(b, image_shape(b, b.choose.among(channels)));
  const ir::Conv2DTranspose op{c.op.strides, c.op.dilations, c.op.pads, c.op.groups, {c.x[1], c.x[2]}};
  return b.add(op, {b.floats(ir::convolution_of(c.op, c.x, c.w).y()), b.floats(c.w)});
}

Value make(Builder& b, const ir::Conv2DWeight&) {
  const Value x = b.floats(is_image, image_shape(b, b.choose.among(channels)));
  const Convolution c = convolution(b, x.shape());
  const ir::Conv2DWeight op{c.op.strides, c.op.dilations, c.op.pads, c.op.groups, {c.w[0], c.w[1]}};
  return b.add(op, {x, b.floats(ir::convolution_of(c.op, c.x, c.w).y())});
}

}  // namespace sinter::fuzz
