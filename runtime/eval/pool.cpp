// Pools: pixel by pixel, all channels of a pixel together.
#include <limits>

#include "runtime/eval/eval.h"

namespace sinter::runtime::eval {

namespace {

/// Calls f(image row of `rows` an image, image) for all rows of all images, on as many threads as pay.
template <class F>
void for_each_row(std::int64_t images, std::int64_t rows, double elements_a_row, const F& f) {
  const auto size = std::max<std::int64_t>(1, static_cast<std::int64_t>(chunk_elements / std::max(1.0, elements_a_row)));
  const double all = static_cast<double>(images * rows) * elements_a_row;
  for_chunks(divide_up(images * rows, size), all, 4 * all, [&](std::int64_t chunk) {
    const Range range(chunk, size, images * rows);
    for (std::int64_t r = range.begin; r < range.end; ++r) f(r % rows, r / rows);
  });
}

/// An image tensor: finds the channels of a pixel.
template <class T>
struct Image {
  T* data;
  std::int64_t stride, height, width, channels;
  explicit Image(const View& view)
      : data(view.as<T>()),
        stride(view.layout().stride),
        height(view.type.shape[1].factor()),
        width(view.type.shape[2].factor()),
        channels(view.type.shape[3].factor()) {}
  T* at(std::int64_t n, std::int64_t h, std::int64_t w) const { return data + ((n * height + h) * width + w) * stride; }
};

/// Calls f(channels of the input under it, its position in the window) for each position of a window that is not padding.
template <class F>
void for_each_place(const ir::Sliding& s, const Image<float>& x, std::int64_t n, std::int64_t oh, std::int64_t ow, const F& f) {
  for (std::int64_t kh = 0; kh < s.h.size; ++kh)
    for (std::int64_t kw = 0; kw < s.w.size; ++kw)
      if (s.h.covers(oh, kh) && s.w.covers(ow, kw)) f(x.at(n, s.h.place(oh, kh), s.w.place(ow, kw)), kh * s.w.size + kw);
}

/// Calls f(its row, its column, the position) for each window that contains a pixel of the image.
template <class F>
void for_each_window(const ir::Sliding& s, std::int64_t ih, std::int64_t iw, const F& f) {
  const auto over = [](const ir::SlidingAxis& axis, std::int64_t i, std::int64_t k) {
    const std::int64_t start = i + axis.before - k, o = start / axis.stride;
    return start >= 0 && start % axis.stride == 0 && o < axis.out ? o : -1;
  };
  // Windows in ascending order: later positions in them first.
  for (std::int64_t kh = s.h.size; kh-- > 0;)
    for (std::int64_t kw = s.w.size; kw-- > 0;) {
      const std::int64_t oh = over(s.h, ih, kh), ow = over(s.w, iw, kw);
      if (oh >= 0 && ow >= 0) f(oh, ow, kh * s.w.size + kw);
    }
}

/// Runs f(window's row, its column, image, its channels) for each window of the result.
template <class T, class F>
void for_each_result(const Image<T>& out, const View& view, double work, const F& f) {
  const std::int64_t images = view.type.shape[0].factor();
  for_each_row(images, out.height, static_cast<double>(out.width * out.channels) * work, [&](std::int64_t h, std::int64_t n) {
    for (std::int64_t w = 0; w < out.width; ++w) f(h, w, n, out.at(n, h, w));
    zero_pads(view.data, view.layout(), sizeof(T), (n * out.height + h) * out.width, (n * out.height + h + 1) * out.width);
  });
}

template <class O>
ir::Sliding windows_of(const O& op, const View& image) {
  return ir::pool_windows(image.type.shape, op.kernel, op.strides, op.pads);
}

double places(const ir::Sliding& s) { return static_cast<double>(s.h.size * s.w.size); }

}  // namespace

void run(const ir::MaxPool& op, Views operands, const View& out) {
  const View& in = operands[0];
  const ir::Sliding s = windows_of(op, in);
  const Image<float> x(in), y(out);
  for_each_result(y, out, places(s), [&](std::int64_t oh, std::int64_t ow, std::int64_t n, float* to) {
    std::fill_n(to, y.channels, -std::numeric_limits<float>::infinity());
    for_each_place(s, x, n, oh, ow, [&](const float* from, std::int64_t) {
      for (std::int64_t c = 0; c < y.channels; ++c) to[c] = from[c] > to[c] || from[c] != from[c] ? from[c] : to[c];
    });
  });
}

void run(const ir::MaxPoolPlace& op, Views operands, const View& out) {
  const View& in = operands[0];
  const ir::Sliding s = windows_of(op, in);
  const Image<float> x(in);
  const Image<std::uint8_t> y(out);
  for_each_result(y, out, places(s), [&](std::int64_t oh, std::int64_t ow, std::int64_t n, std::uint8_t* to) {
    for (std::int64_t c = 0; c < y.channels; ++c) {
      float best = 0;
      std::int64_t found = -1;
      for_each_place(s, x, n, oh, ow, [&](const float* from, std::int64_t place) {
        const float v = from[c];
        if (found >= 0 && !(v > best) && !(v != v && best == best)) return;
        best = v;
        found = place;
      });
      to[c] = static_cast<std::uint8_t>(found);
    }
  });
}

void run(const ir::PoolTake& op, Views operands, const View& out) {
  const View &in = operands[0], &place_of = operands[1];
  const ir::Sliding s = windows_of(op, in);
  const Image<float> x(in), y(out);
  const Image<std::uint8_t> places_at(place_of);
  for_each_result(y, out, places(s), [&](std::int64_t oh, std::int64_t ow, std::int64_t n, float* to) {
    const std::uint8_t* wanted = places_at.at(n, oh, ow);
    std::fill_n(to, y.channels, 0.0f);
    for_each_place(s, x, n, oh, ow, [&](const float* from, std::int64_t place) {
      for (std::int64_t c = 0; c < y.channels; ++c) to[c] = wanted[c] == place ? from[c] : to[c];
    });
  });
}

void run(const ir::PoolPut& op, Views operands, const View& out) {
  const View &place_of = operands[0], &in = operands[1];
  const ir::Sliding s = windows_of(op, out);
  const Image<float> y(in), x(out);
  const Image<std::uint8_t> places_at(place_of);
  for_each_result(x, out, places(s), [&](std::int64_t ih, std::int64_t iw, std::int64_t n, float* to) {
    std::fill_n(to, x.channels, 0.0f);
    for_each_window(s, ih, iw, [&](std::int64_t oh, std::int64_t ow, std::int64_t place) {
      const float* from = y.at(n, oh, ow);
      const std::uint8_t* wanted = places_at.at(n, oh, ow);
      for (std::int64_t c = 0; c < x.channels; ++c) to[c] += wanted[c] == place ? from[c] : 0.0f;
    });
  });
}

namespace {
/// The number of elements of a window that are not padding.
float covered(const ir::Sliding& s, std::int64_t oh, std::int64_t ow) {
  const auto along = [](const ir::SlidingAxis& axis, std::int64_t o) {
    const std::int64_t first = axis.place(o, 0);
    return std::min(first + axis.size, axis.in) - std::max<std::int64_t>(first, 0);
  };
  return static_cast<float>(along(s.h, oh) * along(s.w, ow));
}
}  // namespace

void run(const ir::AveragePool& op, Views operands, const View& out) {
  const View& in = operands[0];
  const ir::Sliding s = windows_of(op, in);
  const Image<float> x(in), y(out);
  for_each_result(y, out, places(s), [&](std::int64_t oh, std::int64_t ow, std::int64_t n, float* to) {
    std::fill_n(to, y.channels, 0.0f);
    for_each_place(s, x, n, oh, ow, [&](const float* from, std::int64_t) {
      for (std::int64_t c = 0; c < y.channels; ++c) to[c] += from[c];
    });
    const float count = covered(s, oh, ow);
    for (std::int64_t c = 0; c < y.channels; ++c) to[c] /= count;
  });
}

void run(const ir::AverageSpread& op, Views operands, const View& out) {
  const View& in = operands[0];
  const ir::Sliding s = windows_of(op, out);
  const Image<float> y(in), x(out);
  for_each_result(x, out, places(s), [&](std::int64_t ih, std::int64_t iw, std::int64_t n, float* to) {
    std::fill_n(to, x.channels, 0.0f);
    for_each_window(s, ih, iw, [&](std::int64_t oh, std::int64_t ow, std::int64_t) {
      const float* from = y.at(n, oh, ow);
      const float count = covered(s, oh, ow);
      for (std::int64_t c = 0; c < x.channels; ++c) to[c] += from[c] / count;
    });
  });
}

}  // namespace sinter::runtime::eval
