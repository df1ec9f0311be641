#include "ir/ops/pool.h"

#include <cmath>
#include <limits>

#include "ir/graph.h"

namespace sinter::ir {

namespace {

Shape windows_shape(const Shape& x, const Sliding& s) { return {x[0], s.h.out, s.w.out, x[3]}; }
Shape image_shape(const Shape& y, const Shape& image) {
  if (y.rank() != 4) throw UserError(str("the input must be [batch, height, width, channels], got ", y));
  if (image.rank() != 2) throw UserError(str("image must be [height, width], got ", image));
  return {y[0], image[0], image[1], y[3]};
}

/// Calls f(index in the image, index of the window, position in the window), row-major, for each position of a window that is not padding.
template <class F>
void for_each_place(const Shape& image, const Sliding& s, F&& f) {
  const std::int64_t channels = image[3].factor();
  for (std::int64_t n = 0; n < image[0].factor(); ++n)
    s.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw, std::int64_t ih, std::int64_t iw) {
      const std::int64_t x = ((n * s.h.in + ih) * s.w.in + iw) * channels, y = ((n * s.h.out + oh) * s.w.out + ow) * channels;
      for (std::int64_t c = 0; c < channels; ++c) f(static_cast<std::size_t>(x + c), static_cast<std::size_t>(y + c), kh * s.w.size + kw);
    });
}

/// For each window, the number of positions that are not padding.
std::vector<double> counts(const Shape& image, const Sliding& s) {
  std::vector<double> result(static_cast<std::size_t>(windows_shape(image, s).elements().factor()));
  for_each_place(image, s, [&](std::size_t, std::size_t y, std::int64_t) { ++result[y]; });
  return result;
}

void require_places(const Type& places, const Shape& windows) {
  require_dtype(places, DType::u8, "the positions");
  if (places.shape != windows) throw UserError(str("the positions must be ", windows, ", got ", places.shape));
}

struct PoolCase {
  std::int64_t height, width, channels;
  Shape kernel, strides, pads;
};
const PoolCase pool_cases[] = {{4, 6, 3, {2, 2}, {2, 2}, {0, 0, 0, 0}}, {5, 7, 20, {2, 2}, {2, 2}, {0, 0, 0, 0}},
                               {6, 5, 1, {3, 3}, {2, 2}, {1, 1, 1, 1}}, {5, 6, 17, {3, 2}, {1, 1}, {1, 0, 1, 1}},
                               {1, 9, 4, {1, 3}, {1, 3}, {0, 0, 0, 0}}, {7, 7, 2, {2, 3}, {3, 2}, {0, 1, 0, 1}}};

template <class O, class F>
std::vector<Sample<O>> samples_of(F&& make) {
  std::vector<Sample<O>> result;
  for (const PoolCase& c : pool_cases) result.push_back(make(c, Shape{Dim::batch(), c.height, c.width, c.channels}));
  return result;
}

SampleInput places_of(const PoolCase& c, const Shape& windows) {
  return {{DType::u8, windows}, 0, static_cast<double>(c.kernel.elements().factor())};
}

}  // namespace

Sliding pool_windows(const Shape& image, const Shape& kernel, const Shape& strides, const Shape& pads) {
  const Sliding s = slide(image, kernel, strides, {1, 1}, pads);
  if (s.h.size * s.w.size > 256) throw UserError(str("a window may have at most 256 elements, got ", kernel));
  for (std::size_t i = 0; i < 4; ++i)
    if (pads[i].factor() >= kernel[i % 2].factor()) throw UserError(str("pads must be smaller than the kernel ", kernel, ", got ", pads));
  return s;
}

// ---- greatest ----

namespace {

/// Over the windows of an image, then over their elements; `places` more operands have one element a window.
Access access_of_pool(const Sliding& s, const Shape& result, std::size_t places = 0) {
  Access access = Access::over(result, 1);
  const std::size_t kh = access.reduce(s.h.size), kw = access.reduce(s.w.size);
  access.operands.push_back({along(0), tap_of_window(s.h, 1, kh), tap_of_window(s.w, 2, kw), along(3)});
  for (; places > 0; --places) access.add_aligned(4);
  return access;
}

/// Over the image, then over the windows that an element is in.
Access access_of_unpool(const Sliding& s, const Shape& result, std::size_t operands) {
  Access access = Access::over(result, 1);
  const std::size_t kh = access.reduce(s.h.size), kw = access.reduce(s.w.size);
  access.operands.assign(operands, {along(0), window_of_tap(s.h, 1, kh), window_of_tap(s.w, 2, kw), along(3)});
  return access;
}

}  // namespace

Type MaxPool::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  require_dtype(in[0], DType::f32, "the input");
  return {DType::f32, windows_shape(in[0].shape, pool_windows(in[0].shape, kernel, strides, pads))};
}

Access MaxPool::access(std::span<const Type> in, const Shape& result) const {
  return access_of_pool(pool_windows(in[0].shape, kernel, strides, pads), result);
}

void MaxPool::reference(Reference& r) const {
  const Shape image = r.in[0]->shape();
  std::fill(r.out.data.begin(), r.out.data.end(), -std::numeric_limits<double>::infinity());
  for_each_place(image, pool_windows(image, kernel, strides, pads), [&](std::size_t x, std::size_t y, std::int64_t) {
    const double value = r.in[0]->data[x];
    if (value > r.out.data[y] || std::isnan(value)) r.out.data[y] = value;
  });
}

Values MaxPool::vjp(const Vjp& v) const {
  const Shape& x = v.x[0].shape();
  const Value places = v.graph.add(MaxPoolPlace{kernel, strides, pads}, {v.x[0]});
  return {v.graph.add(PoolPut{kernel, strides, pads, {x[1], x[2]}}, {places, v.dy})};
}

std::vector<Sample<MaxPool>> MaxPool::samples() {
  return samples_of<MaxPool>([](const PoolCase& c, const Shape& x) { return Sample<MaxPool>{{c.kernel, c.strides, c.pads}, {{{DType::f32, x}}}}; });
}

Type MaxPoolPlace::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  require_dtype(in[0], DType::f32, "the input");
  return {DType::u8, windows_shape(in[0].shape, pool_windows(in[0].shape, kernel, strides, pads))};
}

Access MaxPoolPlace::access(std::span<const Type> in, const Shape& result) const {
  return access_of_pool(pool_windows(in[0].shape, kernel, strides, pads), result);
}

void MaxPoolPlace::reference(Reference& r) const {
  const Shape image = r.in[0]->shape();
  std::vector<double> best(r.out.data.size(), -std::numeric_limits<double>::infinity());
  std::vector<char> any(r.out.data.size());
  for_each_place(image, pool_windows(image, kernel, strides, pads), [&](std::size_t x, std::size_t y, std::int64_t place) {
    const double value = r.in[0]->data[x];
    if (any[y] && !(value > best[y]) && !(std::isnan(value) && !std::isnan(best[y]))) return;
    any[y] = 1;
    best[y] = value;
    r.out.data[y] = static_cast<double>(place);
  });
}

std::vector<Sample<MaxPoolPlace>> MaxPoolPlace::samples() {
  return samples_of<MaxPoolPlace>(
      [](const PoolCase& c, const Shape& x) { return Sample<MaxPoolPlace>{{c.kernel, c.strides, c.pads}, {{{DType::f32, x}}}}; });
}

// ---- by position ----

Type PoolTake::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  require_dtype(in[0], DType::f32, "the input");
  const Shape windows = windows_shape(in[0].shape, pool_windows(in[0].shape, kernel, strides, pads));
  require_places(in[1], windows);
  return {DType::f32, windows};
}

Access PoolTake::access(std::span<const Type> in, const Shape& result) const {
  return access_of_pool(pool_windows(in[0].shape, kernel, strides, pads), result, 1);
}

void PoolTake::reference(Reference& r) const {
  const Shape image = r.in[0]->shape();
  for_each_place(image, pool_windows(image, kernel, strides, pads), [&](std::size_t x, std::size_t y, std::int64_t place) {
    if (r.in[1]->data[y] == static_cast<double>(place)) r.out.data[y] = r.in[0]->data[x];
  });
}

Values PoolTake::vjp(const Vjp& v) const {
  const Shape& x = v.x[0].shape();
  return {v.graph.add(PoolPut{kernel, strides, pads, {x[1], x[2]}}, {v.x[1], v.dy}), {}};
}

std::vector<Sample<PoolTake>> PoolTake::samples() {
  return samples_of<PoolTake>([](const PoolCase& c, const Shape& x) {
    const Shape windows = windows_shape(x, pool_windows(x, c.kernel, c.strides, c.pads));
    return Sample<PoolTake>{{c.kernel, c.strides, c.pads}, {{{DType::f32, x}}, places_of(c, windows)}};
  });
}

Type PoolPut::infer(std::span<const Type> in) const {
  require_inputs(in, 2);
  require_dtype(in[1], DType::f32, "the values");
  const Shape x = image_shape(in[1].shape, image), windows = windows_shape(x, pool_windows(x, kernel, strides, pads));
  require_places(in[0], windows);
  if (in[1].shape != windows) throw UserError(str("the values must be ", windows, " for an image of ", image, ", got ", in[1].shape));
  return {DType::f32, x};
}

Access PoolPut::access(std::span<const Type>, const Shape& result) const {
  return access_of_unpool(pool_windows(result, kernel, strides, pads), result, 2);
}

void PoolPut::reference(Reference& r) const {
  const Shape x = r.out.shape();
  for_each_place(x, pool_windows(x, kernel, strides, pads), [&](std::size_t at, std::size_t y, std::int64_t place) {
    if (r.in[0]->data[y] == static_cast<double>(place)) r.out.data[at] += r.in[1]->data[y];
  });
}

Values PoolPut::vjp(const Vjp& v) const { return {{}, v.graph.add(PoolTake{kernel, strides, pads}, {v.dy, v.x[0]})}; }

std::vector<Sample<PoolPut>> PoolPut::samples() {
  return samples_of<PoolPut>([](const PoolCase& c, const Shape& x) {
    const Shape windows = windows_shape(x, pool_windows(x, c.kernel, c.strides, c.pads));
    return Sample<PoolPut>{{c.kernel, c.strides, c.pads, {x[1], x[2]}}, {places_of(c, windows), {{DType::f32, windows}}}};
  });
}

// ---- average ----

Type AveragePool::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  require_dtype(in[0], DType::f32, "the input");
  return {DType::f32, windows_shape(in[0].shape, pool_windows(in[0].shape, kernel, strides, pads))};
}

Access AveragePool::access(std::span<const Type> in, const Shape& result) const {
  return access_of_pool(pool_windows(in[0].shape, kernel, strides, pads), result);
}

void AveragePool::reference(Reference& r) const {
  const Shape image = r.in[0]->shape();
  const Sliding s = pool_windows(image, kernel, strides, pads);
  for_each_place(image, s, [&](std::size_t x, std::size_t y, std::int64_t) { r.out.data[y] += r.in[0]->data[x]; });
  const std::vector<double> count = counts(image, s);
  for (std::size_t y = 0; y < count.size(); ++y) r.out.data[y] /= count[y];
}

Values AveragePool::vjp(const Vjp& v) const {
  const Shape& x = v.x[0].shape();
  return {v.graph.add(AverageSpread{kernel, strides, pads, {x[1], x[2]}}, {v.dy})};
}

std::vector<Sample<AveragePool>> AveragePool::samples() {
  return samples_of<AveragePool>(
      [](const PoolCase& c, const Shape& x) { return Sample<AveragePool>{{c.kernel, c.strides, c.pads}, {{{DType::f32, x}}}}; });
}

Type AverageSpread::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  require_dtype(in[0], DType::f32, "the values");
  const Shape x = image_shape(in[0].shape, image), windows = windows_shape(x, pool_windows(x, kernel, strides, pads));
  if (in[0].shape != windows) throw UserError(str("the values must be ", windows, " for an image of ", image, ", got ", in[0].shape));
  return {DType::f32, x};
}

Access AverageSpread::access(std::span<const Type>, const Shape& result) const {
  return access_of_unpool(pool_windows(result, kernel, strides, pads), result, 1);
}

void AverageSpread::reference(Reference& r) const {
  const Shape x = r.out.shape();
  const Sliding s = pool_windows(x, kernel, strides, pads);
  const std::vector<double> count = counts(x, s);
  for_each_place(x, s, [&](std::size_t at, std::size_t y, std::int64_t) { r.out.data[at] += r.in[0]->data[y] / count[y]; });
}

Values AverageSpread::vjp(const Vjp& v) const { return {v.graph.add(AveragePool{kernel, strides, pads}, {v.dy})}; }

std::vector<Sample<AverageSpread>> AverageSpread::samples() {
  return samples_of<AverageSpread>([](const PoolCase& c, const Shape& x) {
    const Shape windows = windows_shape(x, pool_windows(x, c.kernel, c.strides, c.pads));
    return Sample<AverageSpread>{{c.kernel, c.strides, c.pads, {x[1], x[2]}}, {{{DType::f32, windows}}}};
  });
}

}  // namespace sinter::ir
