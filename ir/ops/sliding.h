// How the window of a convolution or a pool moves over the two middle axes of [N, H, W, C].
#pragma once

#include <cstdint>

#include "ir/op.h"

namespace sinter::ir {

/// Along one axis: window `o` covers the positions o · stride + k · dilation - before, k < size; those outside the input are padding.
struct SlidingAxis {
  std::int64_t in = 1, out = 1, size = 1, stride = 1, dilation = 1, before = 0;

  std::int64_t place(std::int64_t o, std::int64_t k) const { return o * stride + k * dilation - before; }
  bool covers(std::int64_t o, std::int64_t k) const { return place(o, k) >= 0 && place(o, k) < in; }
  bool operator==(const SlidingAxis&) const = default;
};

struct Sliding {
  SlidingAxis h, w;
  /// Calls f(output row, output column, kernel row, kernel column, input row, input column) for each position of each window that is not padding.
  template <class F>
  void for_each(F&& f) const {
    for (std::int64_t oh = 0; oh < h.out; ++oh)
      for (std::int64_t ow = 0; ow < w.out; ++ow)
        for (std::int64_t kh = 0; kh < h.size; ++kh)
          for (std::int64_t kw = 0; kw < w.size; ++kw)
            if (h.covers(oh, kh) && w.covers(ow, kw)) f(oh, ow, kh, kw, h.place(oh, kh), w.place(ow, kw));
  }
};

/// The position in the input of tap `k` of window `o`, two axes of a walk; and the window in which `i` of the input is tap `k`.
Index tap_of_window(const SlidingAxis& axis, std::size_t o, std::size_t k);
Index window_of_tap(const SlidingAxis& axis, std::size_t i, std::size_t k);

/// `kernel`, `strides` and `dilations` are two numbers, for H and W; `pads` are four: top, left, bottom, right. Throws UserError for an input that is
/// not [N, H, W, C] with fixed H, W and C, for numbers out of range, and for a window larger than the padded input.
Sliding slide(const Shape& input, const Shape& kernel, const Shape& strides, const Shape& dilations, const Shape& pads);

}  // namespace sinter::ir
