// Pools over images [N, H, W, C]: each channel is reduced over windows of `kernel` [KH, KW]. Padding is ignored.
#pragma once

#include "ir/op.h"
#include "ir/ops/sliding.h"

namespace sinter::ir {

/// The greatest element of each window; NaN if there is one.
struct MaxPool {
  static constexpr std::string_view name = "max_pool";
  Shape kernel{1, 1}, strides{1, 1}, pads{0, 0, 0, 0};
  static constexpr auto fields = std::tuple{field("kernel", &MaxPool::kernel), field("strides", &MaxPool::strides), field("pads", &MaxPool::pads)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<MaxPool>> samples();
};

/// Its position in the window, kh · KW + kw, as u8: the first NaN, else the first greatest.
struct MaxPoolPlace {
  static constexpr std::string_view name = "max_pool_place";
  Shape kernel{1, 1}, strides{1, 1}, pads{0, 0, 0, 0};
  static constexpr auto fields =
      std::tuple{field("kernel", &MaxPoolPlace::kernel), field("strides", &MaxPoolPlace::strides), field("pads", &MaxPoolPlace::pads)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  using no_gradient = void;
  static std::vector<Sample<MaxPoolPlace>> samples();
};

/// x and a position in each window (u8): the element there; 0 for a position in the padding.
struct PoolTake {
  static constexpr std::string_view name = "pool_take";
  Shape kernel{1, 1}, strides{1, 1}, pads{0, 0, 0, 0};
  static constexpr auto fields = std::tuple{field("kernel", &PoolTake::kernel), field("strides", &PoolTake::strides), field("pads", &PoolTake::pads)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<PoolTake>> samples();
};

/// Its adjoint: each y [N, OH, OW, C] is added at its position to an image [N, H, W, C] of zeros, with `image` [H, W].
struct PoolPut {
  static constexpr std::string_view name = "pool_put";
  Shape kernel{1, 1}, strides{1, 1}, pads{0, 0, 0, 0}, image{1, 1};
  static constexpr auto fields = std::tuple{field("kernel", &PoolPut::kernel), field("strides", &PoolPut::strides), field("pads", &PoolPut::pads),
                                            field("image", &PoolPut::image)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<PoolPut>> samples();
};

/// The mean of each window's elements, without padding.
struct AveragePool {
  static constexpr std::string_view name = "average_pool";
  Shape kernel{1, 1}, strides{1, 1}, pads{0, 0, 0, 0};
  static constexpr auto fields =
      std::tuple{field("kernel", &AveragePool::kernel), field("strides", &AveragePool::strides), field("pads", &AveragePool::pads)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<AveragePool>> samples();
};

/// Its adjoint: each y is distributed equally over the elements of its window.
struct AverageSpread {
  static constexpr std::string_view name = "average_spread";
  Shape kernel{1, 1}, strides{1, 1}, pads{0, 0, 0, 0}, image{1, 1};
  static constexpr auto fields = std::tuple{field("kernel", &AverageSpread::kernel), field("strides", &AverageSpread::strides),
                                            field("pads", &AverageSpread::pads), field("image", &AverageSpread::image)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<AverageSpread>> samples();
};

template <class O>
concept IsPool = std::is_same_v<O, MaxPool> || std::is_same_v<O, MaxPoolPlace> || std::is_same_v<O, PoolTake> || std::is_same_v<O, AveragePool>;
/// Adjoints of pools: from windows to the image.
template <class O>
concept IsUnpool = std::is_same_v<O, PoolPut> || std::is_same_v<O, AverageSpread>;

/// The windows over an image [N, H, W, C]. Throws UserError if none fits, and for windows of more than 256 elements.
Sliding pool_windows(const Shape& image, const Shape& kernel, const Shape& strides, const Shape& pads);

}  // namespace sinter::ir
