// Convolutions: blocks of pixels become rows of a matrix (their windows), which is multiplied by the kernel.
#include <vector>

#include "ir/long_sum.h"
#include "runtime/eval/eval.h"
#include "runtime/isa/kernels.h"

namespace sinter::runtime::eval {

namespace {

/// Elements of the matrix of a block of pixels: it stays in the second-level cache.
constexpr std::int64_t block_elements = 64 * 1024;

/// Memory of a thread, reused by its chunks.
float* scratch(std::int64_t elements) {
  thread_local std::vector<float> memory;
  if (memory.size() < static_cast<std::size_t>(elements)) memory.resize(static_cast<std::size_t>(elements));
  return memory.data();
}

/// An image tensor in memory.
struct Pixels {
  float* data;
  std::int64_t stride;  ///< between pixels
  std::int64_t each;    ///< elements per image

  explicit Pixels(const View& view)
      : data(view.as<float>()), stride(view.layout().stride), each(view.type.shape[1].factor() * view.type.shape[2].factor() * stride) {}
};

/// The window of a pixel of y in x, as a row of KH · KW · `channels` numbers, with zero padding.
void gather_window(const ir::Sliding& s, const float* image, std::int64_t stride, std::int64_t channels, std::int64_t oh, std::int64_t ow,
                   float* to) {
  const auto& [h, w] = s;
  const auto bytes = static_cast<std::size_t>(channels) * sizeof(float);
  for (std::int64_t kh = 0; kh < h.size; ++kh) {
    const std::int64_t ih = h.place(oh, kh);
    if (ih < 0 || ih >= h.in) {
      to = std::fill_n(to, w.size * channels, 0.0f);
      continue;
    }
    const float* row = image + ih * w.in * stride;
    const std::int64_t first = w.place(ow, 0);
    if (stride == channels && w.dilation == 1 && first >= 0 && first + w.size <= w.in) {  // contiguous
      to = std::copy_n(row + first * stride, w.size * channels, to);
      continue;
    }
    for (std::int64_t kw = 0; kw < w.size; ++kw, to += channels) {
      if (w.covers(ow, kw)) std::memcpy(to, row + w.place(ow, kw) * stride, bytes);
      else std::memset(to, 0, bytes);
    }
  }
}

/// The output o of the window that has index i of an axis under its element k, or -1.
std::int64_t window_over(const ir::SlidingAxis& axis, std::int64_t i, std::int64_t k) {
  const std::int64_t start = i + axis.before - k * axis.dilation, o = start / axis.stride;
  return start >= 0 && start % axis.stride == 0 && o < axis.out ? o : -1;
}

/// The elements of y that reach a pixel of x: KH · KW · `features` numbers, zeros where no window has the pixel there.
void gather_adjoint(const ir::Sliding& s, const float* y, std::int64_t stride, std::int64_t features, std::int64_t ih, std::int64_t iw, float* to) {
  const auto& [h, w] = s;
  const auto bytes = static_cast<std::size_t>(features) * sizeof(float);
  for (std::int64_t kh = 0; kh < h.size; ++kh) {
    const std::int64_t oh = window_over(h, ih, kh);
    for (std::int64_t kw = 0; kw < w.size; ++kw, to += features) {
      const std::int64_t ow = oh < 0 ? -1 : window_over(w, iw, kw);
      if (ow < 0) std::memset(to, 0, bytes);
      else std::memcpy(to, y + (oh * w.out + ow) * stride, bytes);
    }
  }
}

/// Calls f(image, first pixel, number of pixels) for all pixels, block by block, on as many threads as pay.
template <class F>
void for_each_block(const ir::Convolution& c, std::int64_t pixels, std::int64_t columns, const F& f) {
  const std::int64_t images = c.images.factor(),
                     block = std::clamp<std::int64_t>(block_elements / columns, std::min<std::int64_t>(8, pixels), pixels),
                     blocks = divide_up(pixels, block);
  const double flops = 2.0 * static_cast<double>(c.products()) * static_cast<double>(images);
  for_chunks(images * blocks, flops, 4.0 * static_cast<double>(images * pixels * columns), [&](std::int64_t chunk) {
    const Range range(chunk % blocks, block, pixels);
    f(chunk / blocks, range.begin, range.end - range.begin);
  });
}

void gemm(const isa::GemmCall& call) { isa::kernels().gemm(&call); }

}  // namespace

void run(const ir::Conv2D& op, Views operands, const View& y) {
  const ir::Convolution c = ir::convolution_of(op, operands[0].type.shape, operands[1].type.shape);
  const View &x = operands[0], &w = operands[1];
  const Pixels in(x), out(y);
  const std::int64_t channels = c.channels_a_group(), features = c.features_a_group(), ldw = w.layout().stride,
                     columns = c.sliding.h.size * c.sliding.w.size * channels;
  const bool in_place = c.sliding.h.size == 1 && c.sliding.w.size == 1 && c.sliding.h == ir::SlidingAxis{c.sliding.h.in, c.sliding.h.in} &&
                        c.sliding.w == ir::SlidingAxis{c.sliding.w.in, c.sliding.w.in};  // 1×1: the pixels are the matrix
  for_each_block(c, c.sliding.h.out * c.sliding.w.out, columns, [&](std::int64_t image, std::int64_t first, std::int64_t count) {
    const float* from = in.data + image * in.each;
    float *to = out.data + image * out.each + first * out.stride, *matrix = in_place ? nullptr : scratch(count * columns);
    for (std::int64_t g = 0; g < c.groups; ++g) {
      for (std::int64_t p = 0; p < count && !in_place; ++p)
        gather_window(c.sliding, from + g * channels, in.stride, channels, (first + p) / c.sliding.w.out, (first + p) % c.sliding.w.out,
                      matrix + p * columns);
      gemm({in_place ? from + first * in.stride + g * channels : matrix, w.as<float>() + g * features, to + g * features, count, columns, features,
            in_place ? in.stride : columns, ldw, out.stride, 0, 0});
    }
    const Layout at = y.layout();
    zero_pads(y.data, at, sizeof(float), image * c.sliding.h.out * c.sliding.w.out + first,
              image * c.sliding.h.out * c.sliding.w.out + first + count);
  });
}

void run(const ir::Conv2DTranspose& op, Views operands, const View& x) {
  const ir::Convolution c = ir::convolution_of(op, operands[0].type.shape, operands[1].type.shape);
  const View &y = operands[0], &w = operands[1];
  const Pixels in(y), out(x);
  const std::int64_t channels = c.channels_a_group(), features = c.features_a_group(), taps = c.sliding.h.size * c.sliding.w.size,
                     columns = taps * features, ldw = w.layout().stride;
  // The kernel by (group, kernel row, kernel column, feature) and channel.
  std::vector<float> turned(static_cast<std::size_t>(c.groups * columns * channels));
  for (std::int64_t g = 0; g < c.groups; ++g)
    for (std::int64_t k = 0; k < taps; ++k)
      for (std::int64_t i = 0; i < channels; ++i)
        for (std::int64_t j = 0; j < features; ++j)
          turned[static_cast<std::size_t>(((g * taps + k) * features + j) * channels + i)] =
              w.as<float>()[(k * channels + i) * ldw + g * features + j];
  const std::int64_t width = c.sliding.w.in, pixels = c.sliding.h.in * width;
  for_each_block(c, pixels, columns, [&](std::int64_t image, std::int64_t first, std::int64_t count) {
    float *to = out.data + image * out.each + first * out.stride, *matrix = scratch(count * columns);
    for (std::int64_t g = 0; g < c.groups; ++g) {
      const float* from = in.data + image * in.each + g * features;
      for (std::int64_t p = 0; p < count; ++p)
        gather_adjoint(c.sliding, from, in.stride, features, (first + p) / width, (first + p) % width, matrix + p * columns);
      gemm({matrix, turned.data() + g * columns * channels, to + g * channels, count, columns, channels, columns, channels, out.stride, 0, 0});
    }
    zero_pads(x.data, x.layout(), sizeof(float), image * pixels + first, image * pixels + first + count);
  });
}

void run(const ir::Conv2DWeight& op, Views operands, const View& w) {
  const ir::Convolution c = ir::convolution_of(op, operands[0].type.shape, operands[1].type.shape);
  const View &x = operands[0], &y = operands[1];
  const Pixels in(x), gradient(y);
  const Layout at = w.layout();
  const std::int64_t channels = c.channels_a_group(), features = c.features_a_group(), images = c.images.factor(),
                     columns = c.sliding.h.size * c.sliding.w.size * channels, width = c.sliding.w.out, pixels = c.sliding.h.out * width,
                     block = std::clamp<std::int64_t>(block_elements / columns, std::min<std::int64_t>(64, pixels), pixels);
  // Each chunk of images has its own sum; the sums are added in order.
  constexpr std::int64_t most_chunks = 16;
  const std::int64_t size = divide_up(images, most_chunks), chunks = divide_up(images, size), all = at.padded_elements();
  std::vector<float> sums(static_cast<std::size_t>(chunks * all)), errors(sums.size());
  const double flops = 2.0 * static_cast<double>(c.products()) * static_cast<double>(images);
  for_chunks(chunks, flops, bytes_of(x) + bytes_of(y), [&](std::int64_t chunk) {
    const Range range(chunk, size, images);
    float *sum = sums.data() + chunk * all, *error = errors.data() + chunk * all, *matrix = scratch(block * columns + columns * features),
          *part = matrix + block * columns;
    for (std::int64_t image = range.begin; image < range.end; ++image)
      for (std::int64_t first = 0; first < pixels; first += block)
        for (std::int64_t g = 0; g < c.groups; ++g) {
          const std::int64_t count = std::min(block, pixels - first);
          for (std::int64_t p = 0; p < count; ++p)
            gather_window(c.sliding, in.data + image * in.each + g * channels, in.stride, channels, (first + p) / width, (first + p) % width,
                          matrix + p * columns);
          gemm({matrix, gradient.data + image * gradient.each + first * gradient.stride + g * features, part, columns, count, features, columns,
                gradient.stride, features, 1, 0});
          for (std::int64_t k = 0; k < columns; ++k)
            for (std::int64_t j = 0; j < features; ++j) {
              const std::int64_t i = k * at.stride + g * features + j;
              const auto next = ir::add(ir::LongSum<float>{sum[i], error[i]}, part[k * features + j]);
              sum[i] = next.sum;
              error[i] = next.error;
            }
        }
  });
  for_chunks(divide_up(all, chunk_elements), static_cast<double>(chunks * all), 4.0 * static_cast<double>(chunks * all), [&](std::int64_t chunk) {
    const Range range(chunk, chunk_elements, all);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      float total = 0;
      for (std::int64_t k = 0; k < chunks; ++k) total += sums[static_cast<std::size_t>(k * all + i)];
      w.as<float>()[i] = total;
    }
  });
}

}  // namespace sinter::runtime::eval
