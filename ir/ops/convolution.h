// Convolutions over images [N, H, W, C], channels last, with kernels w [KH, KW, C / groups, F]: forward and its two adjoints, a set closed
// under differentiation. As in machine learning, the kernel is not mirrored. Groups split C and F into so many independent parts.
// Interpreter and reference accumulate in the order (kernel row, kernel column, channel), from 0, padding as zeros. Compiled steps do too, or compute
// convolutions of 3 × 3 with fewer multiplications (ir/winograd.h), in an order of their own.
#pragma once

#include "ir/op.h"
#include "ir/ops/sliding.h"

namespace sinter::ir {

/// x, w -> y [N, OH, OW, F]: y[n,oh,ow,f] = sum over kh, kw, c of x[n, oh s + kh d - pad, ow s + kw d - pad, c] w[kh,kw,c,f].
struct Conv2D {
  static constexpr std::string_view name = "conv2d";
  Shape strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  std::int64_t groups = 1;
  static constexpr auto fields = std::tuple{field("strides", &Conv2D::strides), field("dilations", &Conv2D::dilations), field("pads", &Conv2D::pads),
                                            field("groups", &Conv2D::groups)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Conv2D>> samples();
};

/// The adjoint in x: y [N, OH, OW, F], w -> x [N, H, W, C], with `image` [H, W]. Known as transposed convolution.
struct Conv2DTranspose {
  static constexpr std::string_view name = "conv2d_transpose";
  Shape strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  std::int64_t groups = 1;
  Shape image{1, 1};
  static constexpr auto fields =
      std::tuple{field("strides", &Conv2DTranspose::strides), field("dilations", &Conv2DTranspose::dilations), field("pads", &Conv2DTranspose::pads),
                 field("groups", &Conv2DTranspose::groups), field("image", &Conv2DTranspose::image)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Conv2DTranspose>> samples();
};

/// The adjoint in w: x, y -> w [KH, KW, C / groups, F], with `kernel` [KH, KW].
struct Conv2DWeight {
  static constexpr std::string_view name = "conv2d_weight";
  Shape strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  std::int64_t groups = 1;
  Shape kernel{1, 1};
  static constexpr auto fields =
      std::tuple{field("strides", &Conv2DWeight::strides), field("dilations", &Conv2DWeight::dilations), field("pads", &Conv2DWeight::pads),
                 field("groups", &Conv2DWeight::groups), field("kernel", &Conv2DWeight::kernel)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Conv2DWeight>> samples();
};

template <class O>
concept IsConvolution = std::is_same_v<O, Conv2D> || std::is_same_v<O, Conv2DTranspose> || std::is_same_v<O, Conv2DWeight>;

/// What all three have in common: image x [N, H, W, C], kernel w, result y [N, OH, OW, F].
struct Convolution {
  Sliding sliding;
  Dim images;
  std::int64_t channels = 1, features = 1, groups = 1;
  std::int64_t channels_a_group() const { return channels / groups; }
  std::int64_t features_a_group() const { return features / groups; }
  /// Multiply-adds per image.
  std::int64_t products() const { return sliding.h.out * sliding.w.out * sliding.h.size * sliding.w.size * channels_a_group() * features; }
  Shape x() const { return {images, sliding.h.in, sliding.w.in, channels}; }
  Shape w() const { return {sliding.h.size, sliding.w.size, channels_a_group(), features}; }
  Shape y() const { return {images, sliding.h.out, sliding.w.out, features}; }
};
/// From the shapes of the op's operands. Throws UserError for operands that don't fit.
Convolution convolution_of(const Conv2D& op, const Shape& x, const Shape& w);
Convolution convolution_of(const Conv2DTranspose& op, const Shape& y, const Shape& w);
Convolution convolution_of(const Conv2DWeight& op, const Shape& x, const Shape& y);

}  // namespace sinter::ir
