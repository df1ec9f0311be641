#include "ir/ops/convolution.h"

#include <algorithm>

#include "ir/graph.h"

namespace sinter::ir {

namespace {

template <class O>
Sliding slide_by(const O& op, const Shape& image, const Shape& kernel) {
  return slide(image, kernel, op.strides, op.dilations, op.pads);
}

/// Throws unless the groups divide channels and features, and the kernel has channels / groups.
void require_groups(const Convolution& c) {
  if (c.groups < 1 || c.channels % c.groups || c.features % c.groups)
    throw UserError(
        str("groups must divide channels and features, got ", c.groups, " groups for ", c.channels, " channels and ", c.features, " features"));
}

void require_kernel(const Shape& w) {
  if (w.rank() != 4 || !w.is_fixed() || w.elements().factor() < 1)
    throw UserError(str("the kernel must be [height, width, channels / groups, features], got ", w));
}

void require_floats(std::span<const Type> in) {
  require_inputs(in, 2);
  require_dtype(in[0], DType::f32, "the input");
  require_dtype(in[1], DType::f32, "the other operand");
}

/// Calls f(index in x, index in w, index in y), row-major, for each product of the convolution.
template <class F>
void for_each_product(const Convolution& c, std::int64_t images, F&& f) {
  const auto& [h, w] = c.sliding;
  const std::int64_t channels = c.channels_a_group(), features = c.features_a_group();
  for (std::int64_t n = 0; n < images; ++n)
    c.sliding.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw, std::int64_t ih, std::int64_t iw) {
      const std::int64_t x = ((n * h.in + ih) * w.in + iw) * c.channels, y = ((n * h.out + oh) * w.out + ow) * c.features,
                         k = (kh * w.size + kw) * channels * c.features;
      for (std::int64_t g = 0; g < c.groups; ++g)
        for (std::int64_t i = 0; i < channels; ++i)
          for (std::int64_t j = 0; j < features; ++j)
            f(static_cast<std::size_t>(x + g * channels + i), static_cast<std::size_t>(k + i * c.features + g * features + j),
              static_cast<std::size_t>(y + g * features + j));
    });
}

struct ConvolutionCase {
  std::int64_t height, width, channels, features, kernel_h, kernel_w;
  Shape strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  std::int64_t groups = 1;
};

/// Odd sizes, each kind of border, groups up to depthwise, single channels and whole vectors of them.
const ConvolutionCase convolution_cases[] = {{6, 7, 1, 3, 3, 3},
                                             {5, 5, 3, 20, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                             {6, 5, 4, 2, 1, 1},
                                             {1, 12, 5, 6, 1, 4},
                                             {7, 8, 2, 4, 3, 2, {2, 3}, {1, 1}, {1, 0, 2, 1}},
                                             {8, 7, 3, 3, 3, 3, {1, 1}, {2, 2}, {2, 2, 2, 2}},
                                             {5, 6, 4, 6, 2, 3, {1, 1}, {1, 1}, {0, 1, 1, 1}, 2},
                                             {5, 5, 6, 6, 3, 3, {2, 2}, {1, 1}, {1, 1, 1, 1}, 6},
                                             {4, 4, 17, 33, 2, 2},
                                             {4, 5, 3, 6, 2, 2, {3, 3}, {1, 2}, {0, 0, 0, 0}, 3}};

SampleInput floats(const Shape& shape) { return {{DType::f32, shape}, -1, 1}; }

}  // namespace

// ---- shapes ----

Convolution convolution_of(const Conv2D& op, const Shape& x, const Shape& w) {
  require_kernel(w);
  Convolution c{slide_by(op, x, {w[0], w[1]}), x[0], x[3].factor(), w[3].factor(), op.groups};
  require_groups(c);
  if (w[2].factor() != c.channels_a_group())
    throw UserError(str("the kernel ", w, " is for ", w[2].factor() * op.groups, " channels, but the input ", x, " has ", c.channels));
  return c;
}

Convolution convolution_of(const Conv2DTranspose& op, const Shape& y, const Shape& w) {
  require_kernel(w);
  if (op.image.rank() != 2) throw UserError(str("image must be [height, width], got ", op.image));
  if (y.rank() != 4) throw UserError(str("the input must be [batch, height, width, channels], got ", y));
  const Shape x{y[0], op.image[0], op.image[1], Dim(w[2].factor() * std::max<std::int64_t>(1, op.groups))};
  Convolution c{slide_by(op, x, {w[0], w[1]}), x[0], x[3].factor(), w[3].factor(), op.groups};
  require_groups(c);
  if (y != c.y()) throw UserError(str("the input must be ", c.y(), " for an image of ", op.image, " and the kernel ", w, ", got ", y));
  return c;
}

Convolution convolution_of(const Conv2DWeight& op, const Shape& x, const Shape& y) {
  if (y.rank() != 4 || !y[3].is_fixed()) throw UserError(str("the second operand must be [batch, height, width, features], got ", y));
  Convolution c{slide_by(op, x, op.kernel), x[0], x[3].factor(), y[3].factor(), op.groups};
  require_groups(c);
  if (y != c.y()) throw UserError(str("the second operand must be ", c.y(), " for the input ", x, " and a kernel of ", op.kernel, ", got ", y));
  return c;
}

namespace {

/// The input's channel that feature `feature` meets at channel `channel` of its group, two axes of a walk.
Index channel_of(const Convolution& c, std::size_t feature, std::size_t channel) {
  if (c.groups == 1) return along(channel);
  return {.terms = {{feature, c.channels_a_group(), c.features_a_group()}, {channel}}};
}

}  // namespace

// ---- forward ----

Type Conv2D::infer(std::span<const Type> in) const {
  require_floats(in);
  return {DType::f32, convolution_of(*this, in[0].shape, in[1].shape).y()};
}

Access Conv2D::access(std::span<const Type> in, const Shape& result) const {
  const Convolution c = convolution_of(*this, in[0].shape, in[1].shape);
  Access access = Access::over(result, 2);
  const std::size_t kh = access.reduce(c.sliding.h.size), kw = access.reduce(c.sliding.w.size), channel = access.reduce(c.channels_a_group());
  access.operands = {{along(0), tap_of_window(c.sliding.h, 1, kh), tap_of_window(c.sliding.w, 2, kw), channel_of(c, 3, channel)},
                     {along(kh), along(kw), along(channel), along(3)}};
  return access;
}

void Conv2D::reference(Reference& r) const {
  const Convolution c = convolution_of(*this, r.in[0]->shape(), r.in[1]->shape());
  for_each_product(c, c.images.factor(), [&](std::size_t x, std::size_t w, std::size_t y) { r.out.data[y] += r.in[0]->data[x] * r.in[1]->data[w]; });
}

Values Conv2D::vjp(const Vjp& v) const {
  const Shape &x = v.x[0].shape(), &w = v.x[1].shape();
  return {v.graph.add(Conv2DTranspose{strides, dilations, pads, groups, {x[1], x[2]}}, {v.dy, v.x[1]}),
          v.graph.add(Conv2DWeight{strides, dilations, pads, groups, {w[0], w[1]}}, {v.x[0], v.dy})};
}

std::vector<Sample<Conv2D>> Conv2D::samples() {
  std::vector<Sample<Conv2D>> result;
  for (const ConvolutionCase& c : convolution_cases) {
    const Conv2D op{c.strides, c.dilations, c.pads, c.groups};
    const Shape x{Dim::batch(), c.height, c.width, c.channels}, w{c.kernel_h, c.kernel_w, c.channels / c.groups, c.features};
    result.push_back({op, {floats(x), floats(w)}});
  }
  result.push_back({Conv2D{}, {floats({3, 4, 4, 2}), floats({2, 2, 2, 5})}});
  return result;
}

// ---- the adjoint in the image ----

Type Conv2DTranspose::infer(std::span<const Type> in) const {
  require_floats(in);
  return {DType::f32, convolution_of(*this, in[0].shape, in[1].shape).x()};
}

Access Conv2DTranspose::access(std::span<const Type> in, const Shape& result) const {
  const Convolution c = convolution_of(*this, in[0].shape, in[1].shape);
  Access access = Access::over(result, 2);
  const std::size_t kh = access.reduce(c.sliding.h.size), kw = access.reduce(c.sliding.w.size), feature = access.reduce(c.features_a_group());
  // The result's last axis counts the channels of all groups.
  Index place{.terms = {{3}}}, features = along(feature);
  if (c.groups > 1) {
    place.wrap = c.channels_a_group();
    features = {.terms = {{3, c.features_a_group(), c.channels_a_group()}, {feature}}};
  }
  access.operands = {{along(0), window_of_tap(c.sliding.h, 1, kh), window_of_tap(c.sliding.w, 2, kw), features},
                     {along(kh), along(kw), place, features}};
  return access;
}

void Conv2DTranspose::reference(Reference& r) const {
  const Convolution c = convolution_of(*this, r.in[0]->shape(), r.in[1]->shape());
  for_each_product(c, c.images.factor(), [&](std::size_t x, std::size_t w, std::size_t y) { r.out.data[x] += r.in[0]->data[y] * r.in[1]->data[w]; });
}

Values Conv2DTranspose::vjp(const Vjp& v) const {
  const Shape& w = v.x[1].shape();
  return {v.graph.add(Conv2D{strides, dilations, pads, groups}, {v.dy, v.x[1]}),
          v.graph.add(Conv2DWeight{strides, dilations, pads, groups, {w[0], w[1]}}, {v.dy, v.x[0]})};
}

std::vector<Sample<Conv2DTranspose>> Conv2DTranspose::samples() {
  std::vector<Sample<Conv2DTranspose>> result;
  for (const Sample<Conv2D>& s : Conv2D::samples()) {
    const Shape &x = s.inputs[0].type.shape, &w = s.inputs[1].type.shape;
    const Conv2D& op = s.op;
    result.push_back({{op.strides, op.dilations, op.pads, op.groups, {x[1], x[2]}}, {floats(convolution_of(op, x, w).y()), floats(w)}});
  }
  return result;
}

// ---- the adjoint in the kernel ----

Type Conv2DWeight::infer(std::span<const Type> in) const {
  require_floats(in);
  return {DType::f32, convolution_of(*this, in[0].shape, in[1].shape).w()};
}

Access Conv2DWeight::access(std::span<const Type> in, const Shape& result) const {
  const Convolution c = convolution_of(*this, in[0].shape, in[1].shape);
  Access access = Access::over(result, 2);
  const std::size_t n = access.reduce(c.images), oh = access.reduce(c.sliding.h.out), ow = access.reduce(c.sliding.w.out);
  access.operands = {{along(n), tap_of_window(c.sliding.h, oh, 0), tap_of_window(c.sliding.w, ow, 1), channel_of(c, 3, 2)},
                     {along(n), along(oh), along(ow), along(3)}};
  return access;
}

void Conv2DWeight::reference(Reference& r) const {
  const Convolution c = convolution_of(*this, r.in[0]->shape(), r.in[1]->shape());
  for_each_product(c, c.images.factor(), [&](std::size_t x, std::size_t w, std::size_t y) { r.out.data[w] += r.in[0]->data[x] * r.in[1]->data[y]; });
}

Values Conv2DWeight::vjp(const Vjp& v) const {
  const Shape& x = v.x[0].shape();
  return {v.graph.add(Conv2DTranspose{strides, dilations, pads, groups, {x[1], x[2]}}, {v.x[1], v.dy}),
          v.graph.add(Conv2D{strides, dilations, pads, groups}, {v.x[0], v.dy})};
}

std::vector<Sample<Conv2DWeight>> Conv2DWeight::samples() {
  std::vector<Sample<Conv2DWeight>> result;
  for (const Sample<Conv2D>& s : Conv2D::samples()) {
    const Shape &x = s.inputs[0].type.shape, &w = s.inputs[1].type.shape;
    const Conv2D& op = s.op;
    result.push_back({{op.strides, op.dilations, op.pads, op.groups, {w[0], w[1]}}, {floats(x), floats(convolution_of(op, x, w).y())}});
  }
  return result;
}

}  // namespace sinter::ir
