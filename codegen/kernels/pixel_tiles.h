// Windows that slide over images [N, H, W, C], of which a kernel computes a row of results a tile of some pixels at a time: channels, unless there is
// one, lie in the lanes of vectors, and what taps have in common is loaded once. Which taps of a pixel are outside of the image is known along a row
// where the code is written: tiles at the ends of a row have code of their own, and those between are a loop. So padding costs nothing, and nothing
// is copied.
#pragma once

#include <optional>
#include <span>

#include "codegen/emit/emitter.h"
#include "ir/ops/sliding.h"

namespace sinter::codegen {

/// The pixels of a row of results, and what each of their taps meets in a row of the source.
class PixelRow {
 public:
  /// `adjoint`: results are pixels of the image, and the source is over the windows.
  PixelRow(const ir::SlidingAxis& axis, bool adjoint) : axis_(axis), adjoint_(adjoint) {}

  std::int64_t results() const { return adjoint_ ? axis_.in : axis_.out; }
  std::int64_t source() const { return adjoint_ ? axis_.out : axis_.in; }
  std::int64_t taps() const { return axis_.size; }
  /// Pixels that are `period` apart have the same taps, which meet what is `advance` apart in the source.
  std::int64_t period() const { return adjoint_ ? axis_.stride : 1; }
  std::int64_t advance() const { return adjoint_ ? 1 : axis_.stride; }
  /// What tap k of result i meets, which may be outside of the source; nothing where it falls between two windows.
  std::optional<std::int64_t> met(std::int64_t i, std::int64_t k) const;
  bool is_inside(std::int64_t place) const { return place >= 0 && place < source(); }
  /// How many pixels of the image lie in window o.
  std::int64_t pixels_of_window(std::int64_t o) const;
  /// Whether all taps of results [first, last) are inside; of an adjoint, `whole`: and the windows that they meet.
  bool are_inside(std::int64_t first, std::int64_t last, bool whole) const;

 private:
  ir::SlidingAxis axis_;
  bool adjoint_;
};

/// Whether the taps along a row are so few that tiles can unroll them.
bool unrolls_taps(const ir::SlidingAxis& axis, bool adjoint);

/// A tile while its code is written: its pixels are [first, first + size) and, in a loop, `ahead` periods further.
struct PixelTile {
  std::int64_t first = 0, size = 1;
  llvm::Value* ahead = nullptr;
};

/// How the channels of sources lie beside those of results: each of so many adjacent results meets all of so many adjacent sources.
struct ChannelRatio {
  std::int64_t results = 1, sources = 1;
};

class PixelTileWords {
 protected:
  /// A tile of results in 16 channels has `most` pixels at most. `whole`: the loop's tiles of an adjoint meet windows that are whole along a row.
  PixelTileWords(Emitter& emitter, const ir::Sliding& sliding, bool adjoint, std::int64_t most, ChannelRatio ratio = {}, bool whole = false);

  using RowBody = std::function<void(llvm::Value* image, llvm::Value* h)>;
  /// Calls body for each row of results that a call has; of a single sample, for those of its pieces.
  void for_each_row(const RowBody& body);
  /// Calls body for each vector of channels of the kernel's results, in each tile of a row.
  void for_each_tile_of_row(const std::function<void(const PixelTile&, const Site&)>& body);
  /// The pixels of a tile; the last may have fewer.
  std::int64_t tile_size() const { return size_; }
  /// Calls body with each of these tiles of a row.
  void for_each_tile(const Range& tiles, const std::function<void(const PixelTile&)>& body);
  /// Calls body for each row kh of a window, in order, that is inside for row h of results: with the row of the source that it meets. `backwards`:
  /// the last first.
  void for_each_line(llvm::Value* h, bool backwards, const std::function<void(llvm::Value* kh, llvm::Value* line)>& body);
  /// Of the channels of a source that a result meets.
  struct Channels {
    std::int64_t first = 0, count = 1;
  };
  /// Calls body with the pixels of a tile, the taps along a row that each has, in order or backwards, and what these meet in row `line` of the
  /// sources: of each source, a vector for each of the channels.
  using TapBody = std::function<void(std::int64_t i, std::int64_t k, std::span<const Vec> met)>;
  void each_tap(std::span<const ValueId> sources, llvm::Value* image, llvm::Value* line, const PixelTile& tile, const Site& site,
                const Channels& channels, bool backwards, const TapBody& body);
  /// The pixels of a tile in row h of a value that has a pixel for each result.
  std::vector<Vec> load_tile(ValueId value, llvm::Value* image, llvm::Value* h, const PixelTile& tile, const Site& site);
  /// Stores what follows these results of a tile of row h.
  void store_tile(std::span<const Vec> results, llvm::Value* image, llvm::Value* h, const PixelTile& tile, const Site& site);

  /// `count` variables that hold this number in all lanes.
  std::vector<llvm::AllocaInst*> variables(std::size_t count, DType dtype, const Site& site, double value);
  Vec value_of(llvm::AllocaInst* from, DType dtype = DType::f32);
  std::vector<Vec> values_of(std::span<llvm::AllocaInst* const> from, DType dtype = DType::f32);
  /// Adds a line to explain() that ends with the size of tiles.
  void note(std::string text);

  Emitter& e_;
  Builder& b_;
  const ir::Sliding sliding_;
  const bool adjoint_;
  const PixelRow row_;
  const ChannelRatio ratio_;

 private:
  /// The channels of a source that the results at a site meet begin with this one. What they meet there: a vector for each of the channels.
  llvm::Value* met_channel(const Site& site);
  std::vector<Vec> load_met(llvm::Value* address, DType dtype, const Site& site, const Channels& channels);
  llvm::Value* address(ValueId value, llvm::Value* image, llvm::Value* h, llvm::Value* w, llvm::Value* channel);
  llvm::Value* pixels_after(llvm::Value* address, ValueId value, std::int64_t pixels);
  /// `first`, and `step` for each period that a tile is ahead.
  llvm::Value* place_of(std::int64_t first, const PixelTile& tile, std::int64_t step);

  std::int64_t size_ = 1, count_ = 1, loop_first_ = 0, loop_last_ = 0;  ///< tiles; those of the loop have all of their taps inside
};

/// Vectors of 16 floats that fit the registers beside what is loaded.
std::int64_t most_sums(const VectorUnit& unit);
/// Of them, results of a tile.
std::int64_t most_pixels(const VectorUnit& unit);

}  // namespace sinter::codegen
