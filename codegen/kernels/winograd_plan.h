// How a convolution is computed with few multiplications (ir/winograd.h): rows of tiles of the source are transformed until there is a block of them,
// then each of the (m + r - 1)² numbers of a tile is a product of matrices, [tiles, channels] · [channels, features], and tiles of results are made
// of those. The adjoint in the image is the same convolution of the gradients; the adjoint in the kernel is the sum over tiles of products of
// transformed images and transformed gradients, which a chunk keeps until its end.
#pragma once

#include <optional>
#include <string>

#include "codegen/kernels/convolution_plan.h"
#include "ir/winograd.h"

namespace sinter::codegen {

struct WinogradPlan {
  const ir::Winograd* form = nullptr;
  CopyAxis h, w;                         ///< of the source: the image, or for the adjoint in the image the gradients
  std::int64_t channels = 1;             ///< of the source
  std::int64_t out_h = 1, out_w = 1;     ///< extents of the other image: the results, or for the adjoint in the kernel the gradients
  std::int64_t columns = 1, stride = 1;  ///< channels of the other image, and floats from pixel to pixel
  std::int64_t strips = 1, tiles_a_strip = 1;
  std::int64_t block = 1;  ///< strips, rows of tiles, whose tiles are multiplied together
  std::int64_t width = 1;  ///< of the stride, floats that are computed together: all, or in the adjoint in the kernel those of a piece
  bool weight = false;     ///< the adjoint in the kernel

  /// Floats of the vectors in which it computes: no more than the other image has from pixel to pixel.
  unsigned lanes(VectorUnit unit) const { return static_cast<unsigned>(std::min<std::int64_t>(unit.lanes, stride)); }
  std::int64_t results() const { return form->results; }
  std::int64_t size() const { return form->size(); }
  std::int64_t numbers() const { return size() * size(); }
  /// Tiles of a block; rows of a register tile divide it.
  std::int64_t capacity() const;
  // The layout of the staging memory, in floats. Numbers of a tile are a little more than a multiple of 4 KiB apart, so that they share no cache set.
  std::int64_t copy_row() const { return w.copy * channels; }
  std::int64_t source_stride() const { return (channels + 15) / 16 * 16; }
  std::int64_t source_number() const { return capacity() * source_stride() + 16; }
  std::int64_t other_number() const { return capacity() * width + 16; }
  std::int64_t sums_number() const { return channels * width; }
  std::int64_t kernel_number() const { return channels * stride + 16; }  ///< of the transformed kernel
  std::int64_t pieces() const { return stride / width; }
  std::int64_t source_at() const { return (size() * copy_row() + 31) / 16 * 16; }
  std::int64_t other_at() const { return source_at() + numbers() * source_number(); }
  std::int64_t sums_at() const { return other_at() + numbers() * other_number(); }
  // Of images, what codegen/kernels/winograd_range.h knows of them: the magnitude of each pixel of a strip, of each window of the block's strips, and
  // a flag for each tile of a strip and each strip of the block.
  std::int64_t magnitudes_at() const { return sums_at(); }
  std::int64_t windows_at() const { return magnitudes_at() + (size() * w.copy + 47) / 16 * 16; }
  std::int64_t window_row() const { return (tiles_a_strip * results() + 15) / 16 * 16; }
  std::int64_t tile_flags_at() const { return windows_at() + block * results() * window_row(); }
  std::int64_t strip_flags_at() const { return tile_flags_at() + tiles_a_strip; }
  std::int64_t elements() const { return weight ? sums_at() + numbers() * sums_number() + 16 : strip_flags_at() + block + 16; }
};

/// Empty for convolutions that are computed directly.
std::optional<WinogradPlan> plan_winograd(const ir::Graph& graph, ir::NodeId anchor);

/// Panels of columns, each with the rows of its register tile, which divide the tiles of a block.
std::vector<Panels> plan_winograd_tiles(std::int64_t stride, VectorUnit unit);

std::string to_text(const WinogradPlan& plan, const std::vector<Panels>& panels);

}  // namespace sinter::codegen
