// Images and series of other extents, composed of other functions: adaptive pools and upsampling.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "frontend/core/image.h"
#include "frontend/core/origin.h"
#include "frontend/core/spatial.h"
#include "ir/op.h"

namespace sinter {

namespace {

enum class Pooled : std::uint8_t { greatest, mean };

constexpr std::int64_t most_in_window = 256;  // elements of a pool's window
constexpr std::int64_t most_parts = 1024;     // that an axis is composed of: each is a few nodes of a graph

/// [B, W, 1, C] as [B, 1, 1, C].
Tensor pooled_whole(Pooled what, Tensor x, const std::source_location& where) {
  if (what == Pooled::mean) return mean({x, where}, {1}, true);
  while (x.dim(1) != Dim(1)) {
    const std::int64_t elements = x.dim(1).factor(), size = std::min(elements, most_in_window), missing = (size - elements % size) % size;
    x = max_pool2d({x, where}, {size, 1}, {.padding = Padding::sides({{0, missing}, {0, 0}})});
  }
  return x;
}

/// An axis pooled to `out` windows. They repeat: with g the greatest common divisor of both extents, each of g equal parts of the axis holds out / g
/// windows in the same places.
Tensor pooled_along(std::size_t axis, std::int64_t out, Pooled what, const Tensor& x, const std::source_location& where) {
  const Shape& shape = x.shape();
  const std::int64_t extent = shape[axis].factor(), parts = std::gcd(extent, out), elements = extent / parts, windows = out / parts;
  if (extent == out) return x;
  if (windows > most_parts)
    throw UserError("adaptive pool", str(out, " windows over an axis of ", extent, " elements are of ", windows, " kinds, at most ", most_parts,
                                         " are possible; choose a number that has a greater divisor in common with ", extent));
  const Dim rest = shape.product(axis + 1, shape.rank());
  const Tensor in_parts = reshape({x, where}, {shape.product(0, axis) * Dim(parts), elements, 1, rest});
  std::vector<Tensor> results;
  for (std::int64_t i = 0; i < windows; ++i) {
    const std::int64_t begin = i * elements / windows, end = ((i + 1) * elements + windows - 1) / windows;
    results.push_back(pooled_whole(what, windows == 1 ? in_parts : slice({in_parts, where}, 1, begin, end), where));
  }
  const Tensor y = windows == 1 ? results[0] : concat(results, 1, where);
  const Shape wanted = shape.with(axis, out);
  return reshape({y, where}, {wanted.begin(), wanted.end()});
}

Tensor adaptive_image(Pooled what, const Tensor& x, const std::vector<std::int64_t>& out, const std::source_location& where) {
  const std::int64_t height = x.dim(1).factor(), width = x.dim(2).factor();
  if (height == out[0] && width == out[1]) return x;
  if (height % out[0] == 0 && width % out[1] == 0 && height / out[0] * (width / out[1]) <= most_in_window) {
    const std::vector<std::int64_t> window{height / out[0], width / out[1]};
    return what == Pooled::mean ? average_pool2d({x, where}, window) : max_pool2d({x, where}, window);
  }
  // Columns before rows, so that the first of equal elements is that of all rows.
  return pooled_along(1, out[0], what, pooled_along(2, out[1], what, x, where), where);
}

Tensor adaptive_pool2d(const char* name, Pooled what, const Arg& x, const std::vector<std::int64_t>& out) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32);
    require_image(input, 4, "[batch, height, width, channels]");
    ir::require_dtype(input.type(), DType::f32, "the input");
    return adaptive_image(what, input, at_least_one_by_axis(name, "the result's extents", out, 2), x.where());
  });
}

Tensor adaptive_pool1d(const char* name, Pooled what, const Arg& x, std::int64_t out) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32);
    if (input.rank() == 3 && input.dim(1).is_length())
      throw UserError(name, str("sequences of any length, T, have no windows of T / ", out,
                                " steps, because that is no length; pad the sequences to one length with Sequences::padded, or take a global pool"));
    require_image(input, 3, "[batch, length, channels]");
    ir::require_dtype(input.type(), DType::f32, "the input");
    const std::int64_t length = at_least_one_by_axis(name, "the result's length", {out}, 1)[0];
    return as_series(adaptive_image(what, as_image(input), {1, length}, x.where()));
  });
}

/// Each element of an image so many times along both axes.
Tensor repeated(const Tensor& x, const std::vector<std::int64_t>& scale, const std::source_location& where) {
  const Dim rows = x.dim(0) * x.dim(1), width = x.dim(2), channels = x.dim(3);
  const Tensor y = broadcast_to({reshape({x, where}, {rows, 1, width, 1, channels}), where}, {rows, scale[0], width, scale[1], channels});
  return reshape({y, where}, {x.dim(0), x.dim(1) * Dim(scale[0]), width * Dim(scale[1]), channels});
}

/// Elements between those of an axis of an image, `scale` for each: number k of them lies (k + 1/2) / scale - 1/2 behind it, or before it if that is
/// negative.
Tensor interpolated_along(std::size_t axis, std::int64_t scale, const Tensor& x, const std::source_location& where) {
  if (scale == 1) return x;
  const auto at = [&](const Tensor& t) { return Arg(t, where); };
  const Shape& shape = x.shape();
  const std::int64_t extent = shape[axis].factor();
  const Tensor own = reshape(at(x), {shape.product(0, axis), extent, shape.product(axis + 1, 3), shape.back()});
  // What lies before and behind each element; those at the ends stand for what would be there.
  const Tensor first = slice(at(own), 1, 0, 1), last = slice(at(own), 1, extent - 1, extent);
  const Tensor before = at(shift(at(own), 1, 1)) + at(pad(at(first), 1, 0, extent - 1)),
               behind = at(shift(at(own), -1, 1)) + at(pad(at(last), 1, extent - 1, 0));
  std::vector<Tensor> between;
  for (std::int64_t k = 0; k < scale; ++k) {
    const std::int64_t halves = 2 * k + 1 - scale;  // of 1 / scale, from the element's centre
    const double share = static_cast<double>(std::abs(halves)) / static_cast<double>(2 * scale);
    const Tensor& other = halves < 0 ? before : behind;
    between.push_back(halves == 0 ? own : at(at(own) * Arg(1 - share, where)) + at(at(other) * Arg(share, where)));
  }
  const Tensor y = stack(between, 2, where);
  const Shape wanted = shape.with(axis, extent * scale);
  return reshape(at(y), {wanted.begin(), wanted.end()});
}

Tensor upsampled_image(const Tensor& x, const std::vector<std::int64_t>& scale, Interpolation interpolation, const std::source_location& where) {
  if (scale[0] == 1 && scale[1] == 1) return x;
  if (interpolation == Interpolation::nearest) return repeated(x, scale, where);
  ir::require_dtype(x.type(), DType::f32, "what is interpolated");
  if (const std::int64_t greatest = std::max(scale[0], scale[1]); greatest > most_parts)
    throw UserError("upsample", str("the scale of a bilinear interpolation may be at most ", most_parts, ", got ", greatest, "; upsample twice"));
  return interpolated_along(2, scale[1], interpolated_along(1, scale[0], x, where), where);
}

}  // namespace

Tensor adaptive_max_pool2d(const Arg& x, const std::vector<std::int64_t>& out) {
  return adaptive_pool2d("adaptive_max_pool2d", Pooled::greatest, x, out);
}
Tensor adaptive_average_pool2d(const Arg& x, const std::vector<std::int64_t>& out) {
  return adaptive_pool2d("adaptive_average_pool2d", Pooled::mean, x, out);
}
Tensor adaptive_max_pool1d(const Arg& x, std::int64_t out) { return adaptive_pool1d("adaptive_max_pool1d", Pooled::greatest, x, out); }
Tensor adaptive_average_pool1d(const Arg& x, std::int64_t out) { return adaptive_pool1d("adaptive_average_pool1d", Pooled::mean, x, out); }

Tensor upsample2d(const Arg& x, const std::vector<std::int64_t>& scale, Interpolation interpolation) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32);
    require_image(input, 4, "[batch, height, width, channels]");
    return upsampled_image(input, at_least_one_by_axis("upsample2d", "the scale", scale, 2), interpolation, x.where());
  });
}

Tensor upsample1d(const Arg& x, std::int64_t scale, Interpolation interpolation) {
  return with_origin(x, [&] {
    const Tensor input = x.as(DType::f32);
    require_image(input, 3, "[batch, length, channels]");
    const std::vector<std::int64_t> scales{1, at_least_one_by_axis("upsample1d", "the scale", {scale}, 1)[0]};
    return as_series(upsampled_image(as_image(input), scales, interpolation, x.where()));
  });
}

}  // namespace sinter
