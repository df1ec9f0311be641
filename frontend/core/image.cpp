#include "frontend/core/image.h"

#include <algorithm>
#include <ostream>

#include "frontend/core/any_length.h"
#include "frontend/core/apply.h"
#include "frontend/core/origin.h"
#include "frontend/core/spatial.h"

namespace sinter {

Padding Padding::around(std::vector<std::int64_t> places) {
  std::vector<std::array<std::int64_t, 2>> sides;
  for (const std::int64_t p : places) sides.push_back({p, p});
  return Padding(Kind::sides, std::move(sides));
}

std::ostream& operator<<(std::ostream& out, const Padding& padding) {
  if (padding.kind_ == Padding::Kind::causal) return out << "causal";
  if (padding.is_same() || padding.sides_.empty()) return out << (padding.is_same() ? "same" : "valid");
  for (std::size_t i = 0; i < padding.sides_.size(); ++i) {
    const auto [before, after] = padding.sides_[i];
    out << (i ? "×" : "") << before;
    if (after != before) out << "+" << after;
  }
  return out;
}

std::array<std::int64_t, 2> Padding::along(std::size_t axis, std::size_t axes, std::int64_t extent, std::int64_t window, std::int64_t stride) const {
  if (kind_ == Kind::causal) {
    if (axes != 1) throw UserError("padding", "causal padding is for series, [batch, length, channels]; images have no before and after");
    return {window - 1, 0};
  }
  if (!is_same() && sides_.empty()) return {0, 0};
  if (!is_same()) {
    if (sides_.size() != axes) throw UserError("padding", str("needs numbers for ", axes, axes == 1 ? " axis" : " axes", ", got ", sides_.size()));
    return sides_[axis];
  }
  const std::int64_t windows = (extent + stride - 1) / stride, all = std::max<std::int64_t>(0, (windows - 1) * stride + window - extent);
  return {all / 2, all - all / 2};
}

namespace {

Shape pair(const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t n : numbers)
    if (n < 1) throw UserError("window", str("sizes, strides and dilations must be at least 1, got ", n));
  return {numbers[0], numbers[1]};
}

/// {top, left, bottom, right} for windows of these extents over an image of those.
Shape pads_of(const Padding& padding, const Shape& image, const Shape& window, const Shape& strides) {
  std::array<std::array<std::int64_t, 2>, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) sides[i] = padding.along(i, 2, image[i].factor(), window[i].factor(), strides[i].factor());
  for (const auto& side : sides)
    if (side[0] < 0 || side[1] < 0) throw UserError("padding", str("must not be negative, got ", side[0], " and ", side[1]));
  return {sides[0][0], sides[1][0], sides[0][1], sides[1][1]};
}

/// The extent that a dilated kernel covers.
Shape covered(const Shape& kernel, const Shape& dilations) {
  const auto along = [&](std::size_t i) { return (kernel[i].factor() - 1) * dilations[i].factor() + 1; };
  return {along(0), along(1)};
}

void require_kernel(const Tensor& kernel, std::size_t rank, const char* form) {
  if (kernel.rank() != rank || !kernel.shape().is_fixed()) throw UserError("kernel", str("must be ", form, ", got ", kernel.type()));
}

ConvOptions in_two_dimensions(const ConvOptions& options) {
  ConvOptions result = options;
  result.strides = {1, by_axis("strides", options.strides, 1)[0]};
  result.dilations = {1, by_axis("dilations", options.dilations, 1)[0]};
  return result;
}

struct ConvGeometry {
  Shape strides, dilations, pads;
};
ConvGeometry geometry(const ConvOptions& options, const Padding& padding, const Shape& image, const Shape& kernel) {
  ConvGeometry g{pair(by_axis("strides", options.strides, 2)), pair(by_axis("dilations", options.dilations, 2)), {}};
  g.pads = pads_of(padding, image, covered(kernel, g.dilations), g.strides);
  return g;
}

Tensor pool(const ir::Op& prototype, const Arg& x, const std::vector<std::int64_t>& window, const PoolOptions& options) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32);
    require_image(input, 4, "[batch, height, width, channels]");
    const Shape kernel = pair(by_axis("the window", window, 2));
    const Shape strides = options.strides.empty() ? kernel : pair(by_axis("strides", options.strides, 2));
    const Shape pads = pads_of(options.padding, {input.shape()[1], input.shape()[2]}, kernel, strides);
    ir::Op op = prototype;
    std::visit(
        [&]<class O>(O& o) {
          if constexpr (std::is_same_v<O, ir::MaxPool> || std::is_same_v<O, ir::AveragePool>) o = {kernel, strides, pads};
        },
        op);
    return apply(op, {&input}, x.where());
  });
}

Tensor pool_series(const ir::Op& prototype, const Arg& x, std::int64_t window, const PoolOptions& options) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32);
    if (has_any_length(input)) return pool_over_steps(prototype, input, window, options);
    require_image(input, 3, "[batch, length, channels]");
    const std::int64_t stride = options.strides.empty() ? window : by_axis("strides", options.strides, 1)[0];
    if (stride < 1 || window < 1) throw UserError("window", str("sizes and strides must be at least 1, got ", window, " and ", stride));
    const std::array<std::int64_t, 2> sides = options.padding.along(0, 1, input.shape()[1].factor(), window, stride);
    return as_series(pool(prototype, Arg(as_image(input), x.where()), {1, window}, {{1, stride}, Padding::sides({{0, 0}, sides})}));
  });
}

}  // namespace

Tensor conv2d(const Arg& x, const Arg& kernel, const ConvOptions& options) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32), w = kernel.as(DType::f32);
    require_image(input, 4, "[batch, height, width, channels]");
    require_kernel(w, 4, "[height, width, channels / groups, features]");
    const Shape &image = input.shape(), &k = w.shape();
    const ConvGeometry g = geometry(options, options.padding, {image[1], image[2]}, {k[0], k[1]});
    return apply(ir::Conv2D{g.strides, g.dilations, g.pads, options.groups}, {&input, &w}, x.where());
  });
}

Tensor conv1d(const Arg& x, const Arg& kernel, const ConvOptions& options) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32), w = kernel.as(DType::f32);
    require_kernel(w, 3, "[size, channels / groups, features]");
    if (has_any_length(input)) return conv_over_steps(input, w, options);
    require_image(input, 3, "[batch, length, channels]");
    ConvOptions two = in_two_dimensions(options);
    two.padding = Padding::sides({{0, 0},
                                  options.padding.along(0, 1, input.shape()[1].factor(), (w.shape()[0].factor() - 1) * two.dilations[1] + 1,
                                                        std::max<std::int64_t>(1, two.strides[1]))});
    const Tensor flat = reshape(w, {1, w.dim(0), w.dim(1), w.dim(2)});
    return as_series(conv2d(Arg(as_image(input), x.where()), Arg(flat, kernel.where()), two));
  });
}

Tensor conv2d_transpose(const Arg& x, const Arg& kernel, const ConvOptions& options) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32), w = kernel.as(DType::f32);
    require_image(input, 4, "[batch, height, width, features]");
    require_kernel(w, 4, "[height, width, channels / groups, features]");
    const Shape strides = pair(by_axis("strides", options.strides, 2)), dilations = pair(by_axis("dilations", options.dilations, 2)),
                window = covered({w.shape()[0], w.shape()[1]}, dilations);
    // The smallest image whose windows are the input's pixels: (pixels - 1) · stride + window - padding; with padding same, pixels · stride.
    Shape image{1, 1};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t pixels = input.shape()[1 + i].factor(), stride = strides[i].factor(), size = window[i].factor();
      const auto [before, after] = options.padding.along(i, 2, pixels * stride, size, stride);
      const bool same = options.padding.is_same();
      const std::int64_t extent = same ? pixels * stride : (pixels - 1) * stride + size - before - after;
      if (extent < 1) throw UserError("padding", str("leaves nothing of the result: ", extent, " elements along axis ", i + 1));
      image = image.with(i, extent);
    }
    const Shape pads = pads_of(options.padding, image, window, strides);
    return apply(ir::Conv2DTranspose{strides, dilations, pads, options.groups, image}, {&input, &w}, x.where());
  });
}

Tensor max_pool2d(const Arg& x, const std::vector<std::int64_t>& window, const PoolOptions& options) {
  return pool(ir::MaxPool{}, x, window, options);
}
Tensor average_pool2d(const Arg& x, const std::vector<std::int64_t>& window, const PoolOptions& options) {
  return pool(ir::AveragePool{}, x, window, options);
}
Tensor max_pool1d(const Arg& x, std::int64_t window, const PoolOptions& options) { return pool_series(ir::MaxPool{}, x, window, options); }
Tensor average_pool1d(const Arg& x, std::int64_t window, const PoolOptions& options) { return pool_series(ir::AveragePool{}, x, window, options); }

}  // namespace sinter
