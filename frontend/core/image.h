// Convolutions, pools and upsampling of images [N, H, W, C] and series [N, L, C], channels last.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <vector>

#include "frontend/core/ops.h"

namespace sinter {

/// Padding of an image along each spatial axis.
class Padding {
 public:
  /// None: windows lie within the image.
  static Padding valid() { return Padding(Kind::sides, {}); }
  /// As much as makes ceil(extent / stride) windows along each axis; an odd element is added at the end, as in Keras.
  static Padding same() { return Padding(Kind::same, {}); }
  /// Of series: before them, as much as lets no window see what comes after its last element, as in Keras.
  static Padding causal() { return Padding(Kind::causal, {}); }
  /// So many elements on both sides of each axis; one number per axis.
  static Padding around(std::vector<std::int64_t> places);
  /// {before, after} for each axis.
  static Padding sides(std::vector<std::array<std::int64_t, 2>> places) { return Padding(Kind::sides, std::move(places)); }

  bool is_same() const { return kind_ == Kind::same; }
  /// valid, same, causal, or the elements along each axis: 2×2, or 0+1×2 where sides differ.
  friend std::ostream& operator<<(std::ostream& out, const Padding& padding);
  /// {before, after} along an axis. Throws UserError if explicit padding is for another number of axes, and for causal padding of images.
  std::array<std::int64_t, 2> along(std::size_t axis, std::size_t axes, std::int64_t extent, std::int64_t window, std::int64_t stride) const;

 private:
  enum class Kind : std::uint8_t { sides, same, causal };
  Padding(Kind kind, std::vector<std::array<std::int64_t, 2>> sides) : kind_(kind), sides_(std::move(sides)) {}
  Kind kind_;
  std::vector<std::array<std::int64_t, 2>> sides_;
};

struct ConvOptions {
  std::vector<std::int64_t> strides = {1};    ///< one number per axis, or one for all
  std::vector<std::int64_t> dilations = {1};  ///< likewise
  Padding padding = Padding::valid();
  std::int64_t groups = 1;
};

/// x [N, H, W, C], kernel [KH, KW, C / groups, F] -> [N, OH, OW, F]; see ir/ops/convolution.h.
Tensor conv2d(const Arg& x, const Arg& kernel, const ConvOptions& options = {});
/// x [N, L, C], kernel [K, C / groups, F] -> [N, OL, F]. Over sequences of any length, [N, T, C], strides are 1 and padding keeps the length: same,
/// causal, or as many elements on both sides together.
Tensor conv1d(const Arg& x, const Arg& kernel, const ConvOptions& options = {});
/// The adjoint of conv2d in its input: x [N, H, W, F], kernel [KH, KW, C / groups, F] -> [N, OH, OW, C], where conv2d with the same options makes x's
/// extents of OH and OW: with padding same the input's times the strides, else the smallest such extents.
Tensor conv2d_transpose(const Arg& x, const Arg& kernel, const ConvOptions& options = {});

struct PoolOptions {
  std::vector<std::int64_t> strides = {};  ///< one number per axis, or one for all; empty: the window's size
  Padding padding = Padding::valid();
};

/// The greatest element of each window of [height, width], per channel. Padding is ignored.
Tensor max_pool2d(const Arg& x, const std::vector<std::int64_t>& window, const PoolOptions& options = {});
/// The mean of each window's elements. Padding is ignored and not counted.
Tensor average_pool2d(const Arg& x, const std::vector<std::int64_t>& window, const PoolOptions& options = {});
/// Over [N, L, C]; over sequences of any length as conv1d.
Tensor max_pool1d(const Arg& x, std::int64_t window, const PoolOptions& options = {});
Tensor average_pool1d(const Arg& x, std::int64_t window, const PoolOptions& options = {});

/// Pools whose results have these extents, height and width, or one number for both: window i of an axis of n elements begins at floor(i n / out) and
/// ends before ceil((i + 1) n / out), as PyTorch's. Where out divides n they are those of max_pool2d and average_pool2d; else adjacent ones may share
/// an element. The gradient of a maximum goes to the first place that has it. Throws UserError for extents below 1 and for more than 1024 windows
/// that lie differently, out divided by what it has in common with n.
Tensor adaptive_max_pool2d(const Arg& x, const std::vector<std::int64_t>& out);
Tensor adaptive_average_pool2d(const Arg& x, const std::vector<std::int64_t>& out);
/// Over [N, L, C].
Tensor adaptive_max_pool1d(const Arg& x, std::int64_t out);
Tensor adaptive_average_pool1d(const Arg& x, std::int64_t out);

/// How elements between those of an image are found.
enum class Interpolation {
  nearest,   ///< each element is repeated
  bilinear,  ///< on lines between the centres of adjacent elements; beyond the outermost centres it is the outermost element
};
/// An image with so many times its height and width, whole numbers, or one for both. Element i of a result lies at (i + 1/2) / scale - 1/2 of the
/// image, as in Keras and in PyTorch with align_corners=False. Throws UserError for scales below 1, or above 1024 if they are bilinear.
Tensor upsample2d(const Arg& x, const std::vector<std::int64_t>& scale, Interpolation interpolation = Interpolation::nearest);
/// Of [N, L, C]; bilinear is linear there.
Tensor upsample1d(const Arg& x, std::int64_t scale, Interpolation interpolation = Interpolation::nearest);

}  // namespace sinter
