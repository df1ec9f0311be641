// How a convolution is computed with the tiles of products: an image is copied, dense and with zero padding, so that a window is a few runs of
// adjacent numbers. A row of results is then a product of windows by the kernel, a weight gradient one of windows by gradients, and the gradient of
// an image a sum of runs that are products of gradients by the kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/kernels/product_plan.h"
#include "ir/graph.h"
#include "ir/ops/convolution.h"

namespace sinter::codegen {

/// `anchor` is a conv2d, conv2d_transpose or conv2d_weight.
ir::Convolution convolution_of(const ir::Graph& graph, ir::NodeId anchor);
bool is_convolution(const ir::Op& op);
/// Whether tiles of products compute it, each group as a product of windows and its kernel: all but those whose groups lie in lanes.
bool tiles_convolution(const ir::Graph& graph, ir::NodeId anchor);
/// Whether each channel has kernels of its own: one for each of its features.
bool is_depthwise(const ir::Convolution& c);
/// In a group each feature meets all channels; in a conv2d_transpose each channel all features. See codegen/kernels/pixel_tiles.h.
struct ChannelRatio;
ChannelRatio channel_ratio(const ir::Graph& graph, ir::NodeId anchor);
/// Whether it has several groups, so few channels and features in each that whole groups lie in the lanes of a vector, and so few taps along a row
/// that tiles of pixels unroll them.
bool has_groups_in_lanes(const ir::Graph& graph, ir::NodeId anchor);
/// The kernel as a conv2d_transpose whose groups lie in lanes reads it: by (tap, feature of a group) and channel. None: as it is.
std::optional<Shape> packed_for_lanes(const ir::Graph& graph, ir::NodeId anchor);

/// The most rows of a tile, and the most columns, on any vector unit.
inline constexpr std::int64_t most_convolution_rows = 14, most_convolution_columns = 5 * 16;

/// Along one axis of an image.
struct CopyAxis {
  std::int64_t source = 1, copy = 1;  ///< extents of the image and its copy
  std::int64_t first = 0;             ///< index of the image's first element in the copy
  /// Of windows that lie apart: after each `run` elements, `gap` that no window sees are left out of the copy. 0: none are.
  std::int64_t run = 0, gap = 0;
  /// How many of the image's first elements are in the copy: a stride may leave out the end.
  std::int64_t kept() const { return std::clamp<std::int64_t>(copy - first, 0, source); }
};

/// The copy of one image, and the windows over it. Each group has a plane of its own in the copy, with the channels that its windows see.
struct ConvolutionPlan {
  struct Axis : CopyAxis {
    std::int64_t windows = 1, size = 1, dilation = 1;
    std::int64_t stride = 1, step = 1;  ///< from one window to the next, in the image and in the copy
    std::int64_t reach() const { return (size - 1) * dilation + 1; }
    /// Of the image and its padding, up to the end of the last window.
    std::int64_t covered() const { return (windows - 1) * stride + reach(); }
  };
  Axis h, w;
  std::int64_t channels = 1;  ///< of the image, in one group
  std::int64_t groups = 1;
  std::int64_t taps() const { return h.size * w.size * channels; }
  /// Adjacent numbers of a window, and how many such runs there are along a row of it.
  std::int64_t run() const { return w.dilation == 1 ? w.size * channels : channels; }
  std::int64_t runs_a_row() const { return w.dilation == 1 ? 1 : w.size; }
  /// Floats of a row of a group's plane.
  std::int64_t copy_row() const { return w.copy * channels; }
  /// Rows of the copy that so many rows of windows lie over.
  std::int64_t rows_under(std::int64_t rows) const { return (rows - 1) * h.step + h.reach(); }
  /// Rows of windows that are computed over one copy: all, or of a large image so many that their copy stays in the second-level cache, and few of
  /// its rows are copied twice.
  std::int64_t block() const;
  /// Parts of an image that a conv2d computes one after the other: rows of windows, or so many windows of a single row.
  std::int64_t windows_of_part() const {
    constexpr std::int64_t most = 8 * most_convolution_rows;
    return h.windows == 1 && w.windows >= 2 * most ? most : w.windows;
  }
  std::int64_t parts() const { return h.windows * divide_up(w.windows, windows_of_part()); }
  /// Rows of windows that are one chain of a weight gradient; several images are if all of one are fewer.
  std::int64_t chain_rows() const;
  /// Windows of a row that are: all, or a part of a long row, of which the numbers and the gradients stay in the second-level cache while tiles pass.
  std::int64_t chain_windows() const;
  /// Whole chains of which a weight gradient copies the rows together.
  std::int64_t weight_block() const;
  /// Floats past the end of a group's plane that vectors may reach.
  static constexpr std::int64_t slack = 16;
  /// Floats from one group's plane to the next, in the copy of the whole image or of what so many rows of windows lie over; and of all planes.
  std::int64_t plane_elements() const { return h.copy * copy_row() + slack; }
  std::int64_t plane_elements(std::int64_t rows) const { return rows_under(rows) * copy_row() + slack; }
  std::int64_t copy_elements() const { return groups * plane_elements(); }
  std::int64_t block_elements(std::int64_t rows) const { return groups * plane_elements(rows); }
  /// Places of a row of the kernel that rows of results, `columns` wide, contract at a time: of a long row so many that what a panel has of them
  /// stays in the second-level cache while tiles pass.
  std::int64_t taps_at_a_time(std::int64_t columns) const;
  /// Whether the columns of any tile fit between the first numbers of adjacent windows.
  bool windows_are_apart() const { return w.step * channels >= most_convolution_columns; }
  /// The most floats of the runs of one tile, where windows overlap.
  std::int64_t tile_elements() const { return windows_are_apart() ? 0 : most_convolution_rows * ((run() + 15) / 16 * 16); }
};
ConvolutionPlan plan_convolution(const ir::Graph& graph, ir::NodeId anchor);

/// Whether a conv2d reads its windows where the images lie: no window is partly outside, and the numbers of each of its rows are adjacent.
bool reads_images_in_place(const ir::Graph& graph, ir::NodeId anchor);
/// Whether a conv2d that tiles compute has so few features, and windows of so many numbers, that sums in lanes along a window take less than lanes of
/// features, most of which would be idle. One feature has no lanes.
bool is_narrow(const ir::Graph& graph, ir::NodeId anchor);
/// Its kernel, feature by feature.
Shape packed_by_features(const ConvolutionPlan& plan, std::int64_t features);

/// Whether a conv2d, or a conv2d_transpose of stride 1, is computed as one product of the windows of several images and the kernel: where that is so
/// large that it should be read for as many windows as possible.
bool is_window_product(const ir::Graph& graph, ir::NodeId anchor);
/// Its windows: over the images or, of a conv2d_transpose, over the gradients, with the kernel rotated by 180 degrees.
ConvolutionPlan plan_windows(const ir::Graph& graph, ir::NodeId anchor);
/// Whether a conv2d_weight is computed as one product of windows, as columns, and all gradients: where the kernel is so large, and the images so
/// small, that chunks of its rows cost less than a slot of all of it for each chunk of samples.
bool is_transposed_window_product(const ir::Graph& graph, ir::NodeId anchor);
/// What is copied together for the rows of such a product.
struct WindowBlock {
  std::int64_t images = 1;          ///< whole ones
  std::int64_t rows = 1;            ///< or of a large image so many rows of windows
  std::int64_t image_elements = 0;  ///< floats of the copy of one
};
WindowBlock plan_window_block(const ConvolutionPlan& plan);
/// A kernel of so many numbers does not stay in the second-level cache between chunks.
inline constexpr std::int64_t much_kernel = 256 * 1024;
/// The least images of a chunk that reads so much, if one has this number of windows or tiles.
std::int64_t least_images(std::int64_t windows);

/// `count` rows cut into tiles of two sizes that differ by one: `large` of `size`, then `small` of `size - 1`.
struct RowTiles {
  unsigned size = 1;
  std::int64_t large = 0, small = 0;
};
RowTiles tile_rows(std::int64_t count, std::int64_t most);

/// Rows of a tile that leave registers for a row of b and an element of a.
std::int64_t most_rows(std::int64_t vectors, VectorUnit unit);
/// The cost of a register tile per contracted index, in vector operations.
double tile_cost(std::int64_t rows, std::int64_t vectors);

/// Columns cut into panels, and rows into tiles, such that few lanes and registers are idle: `rows` adjacent ones of so many columns.
struct ConvolutionTiles {
  std::vector<Panels> panels;
  RowTiles rows;
};
ConvolutionTiles plan_tiles(std::int64_t rows, std::int64_t columns, VectorUnit unit);

/// The most parts of a weight gradient of this shape, each of which is a sum over some samples: 8, or up to 64 if they are small.
std::int64_t most_slots(const Shape& weight);

std::string to_text(const ConvolutionPlan& plan, const ConvolutionTiles& tiles);

}  // namespace sinter::codegen
