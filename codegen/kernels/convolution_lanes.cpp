// A tap in a tile is a multiply-add of a channel of a pixel of the image, which several taps share, and a vector of the kernel. Lanes of a group
// have the channel of their group. Sums are in the order of the rows of the kernel, and of the taps of each channel in a row.
#include "codegen/kernels/convolution_lanes.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/image.h"
#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/pixel_tiles.h"
#include "codegen/kernels/result_sums.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class LanesEmitter : PixelTileWords {
 public:
  explicit LanesEmitter(Emitter& emitter)
      : PixelTileWords(emitter, convolution_of(emitter.graph(), emitter.kernel().anchor).sliding,
                       std::holds_alternative<ir::Conv2DTranspose>(emitter.anchor().op), most_pixels(emitter.unit()),
                       channel_ratio(emitter.graph(), emitter.kernel().anchor)),
        source_(emitter.value_of(emitter.anchor().inputs[0])),
        other_(emitter.value_of(emitter.anchor().inputs[1])) {}

  void emit() {
    describe();
    const ValueId kernel = packed_for_lanes(e_.graph(), e_.kernel().anchor) ? e_.memory(Memory::packed) : other_;
    for_each_row([&](Value* image, Value* h) {
      for_each_tile_of_row([&](const PixelTile& tile, const Site& site) { sum_tile(kernel, image, h, tile, site); });
    });
  }

  /// Row (tap, feature of a group) has in the lane of a channel what row (tap, channel of a group) of the kernel has for that feature of its group.
  void emit_pack() {
    const ValueId packed = e_.memory(Memory::packed);
    const Shape& shape = e_.kernel().shape;
    e_.loop(e_.begin(), e_.end(), 1, [&](Value* row) {
      Value *first = b_.CreateMul(b_.CreateUDiv(row, e_.number(ratio_.sources)), e_.number(ratio_.results)),
            *feature = b_.CreateURem(row, e_.number(ratio_.sources));
      e_.for_each_block(shape, row, false, [&](const Site& site) {
        e_.store(e_.each_lane(site, DType::f32,
                              [&](const Site& at) {
                                Value *group = b_.CreateUDiv(at.last, e_.number(ratio_.results)),
                                      *channel = b_.CreateURem(at.last, e_.number(ratio_.results));
                                Value* of_group = b_.CreateAdd(b_.CreateMul(group, e_.number(ratio_.sources)), feature);
                                return e_.load(e_.address(other_, b_.CreateAdd(first, channel), of_group), DType::f32, 1);
                              }),
                 packed, site);
      });
    });
  }

  void emit_weight() {
    describe();
    const std::int64_t height = sliding_.h.size, width = row_.taps(), channels = ratio_.sources, sums = most_sums(e_.unit()) / width;
    const Shape shape{height * width * channels, convolution_of(e_.graph(), e_.kernel().anchor).features};
    // Rows of the kernel, or channels of one, whose sums are in registers together.
    const std::int64_t rows = std::clamp<std::int64_t>(sums / channels, 1, height), of_row = std::clamp<std::int64_t>(sums, 1, channels);
    e_.for_each_block(shape, e_.number(0), false, [&](const Site& site) {
      for (std::int64_t row = 0; row < height; row += rows)
        for (std::int64_t channel = 0; channel < channels; channel += of_row) {
          const Part part{row, std::min(rows, height - row), channel, std::min(of_row, channels - channel)};
          const std::vector<Vec> totals = sums_of(part, site);
          for (std::size_t i = 0; i < totals.size(); ++i) {
            const auto tap = static_cast<std::int64_t>(i) / part.channels, c = static_cast<std::int64_t>(i) % part.channels;
            Value* first = b_.CreateMul(e_.chunk(), e_.number(height * width * channels));
            Value* to = b_.CreateAdd(first, e_.number((part.row * width + tap) * channels + part.channel + c));
            e_.store(totals[i], e_.memory(Memory::slots), {to, site.last, site.width, site.valid});
          }
        }
    });
  }

 private:
  void describe() {
    const ir::Convolution c = convolution_of(e_.graph(), e_.kernel().anchor);
    note(str(ir::name(e_.anchor().op), is_depthwise(c) ? ", depthwise, kernels of " : str(", ", c.groups, " groups in lanes, kernels of "),
             sliding_.h.size, "×", sliding_.w.size));
  }

  void add_product(llvm::AllocaInst* sum, const Vec& x, const Vec& y) {
    b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getAllocatedType()}, {x.value, y.value, value_of(sum).value}), sum);
  }

  void sum_tile(ValueId kernel, Value* image, Value* h, const PixelTile& tile, const Site& site) {
    const std::vector<llvm::AllocaInst*> sums = variables(static_cast<std::size_t>(tile.size), DType::f32, site, 0);
    for_each_line(h, false, [&](Value* kh, Value* line) {
      Value* first = b_.CreateMul(kh, e_.number(row_.taps() * ratio_.sources));
      for (std::int64_t j = 0; j < ratio_.sources; ++j) {  // few weights are in registers at a time
        std::vector<Vec> weights;
        for (std::int64_t k = 0; k < row_.taps(); ++k) {
          Value* row = b_.CreateAdd(first, e_.number(k * ratio_.sources + j));
          weights.push_back(e_.load(e_.address(kernel, row, site.last), DType::f32, site.width));
        }
        each_tap({&source_, 1}, image, line, tile, site, {j, 1}, false, [&](std::int64_t i, std::int64_t k, std::span<const Vec> x) {
          add_product(sums[static_cast<std::size_t>(i)], x[0], weights[static_cast<std::size_t>(k)]);
        });
      }
    });
    store_tile(values_of(sums), image, h, tile, site);
  }

  /// `rows` rows of the kernel from `row` on, and of each place so many channels of a group.
  struct Part {
    std::int64_t row, rows, channel, channels;
  };
  /// The chunk's sums for part of the kernel, by row, tap and channel.
  std::vector<Vec> sums_of(const Part& part, const Site& site) {
    const ir::SlidingAxis& h = sliding_.h;
    const std::int64_t of_row = row_.taps() * part.channels;
    const auto count = static_cast<std::size_t>(part.rows * of_row);
    return sum_over_results(e_, sliding_, {count, site.width, tile_size()}, [&](auto sums, Value* image, Value* oh, const Range& tiles) {
      for (std::int64_t kh = 0; kh < part.rows; ++kh) {
        const AxisPlace at = index_in_window(e_, h, oh, e_.number(part.row + kh));
        e_.when(at.inside, [&] { add_line(sums.data() + kh * of_row, part, image, oh, at.place, tiles, site); });
      }
    });
  }
  void add_line(llvm::AllocaInst* const* sums, const Part& part, Value* image, Value* oh, Value* line, const Range& tiles, const Site& site) {
    for_each_tile(tiles, [&](const PixelTile& tile) {
      const std::vector<Vec> gradients = load_tile(other_, image, oh, tile, site);
      each_tap({&source_, 1}, image, line, tile, site, {part.channel, part.channels}, false,
               [&](std::int64_t i, std::int64_t k, std::span<const Vec> x) {
                 for (std::int64_t c = 0; c < part.channels; ++c)
                   add_product(sums[k * part.channels + c], x[static_cast<std::size_t>(c)], gradients[static_cast<std::size_t>(i)]);
               });
    });
  }

  const ValueId source_, other_;  ///< the images, or for conv2d_transpose the gradients; the kernel, or for conv2d_weight the gradients
};

}  // namespace

void emit_lanes(Emitter& e) { LanesEmitter(e).emit(); }
void emit_lanes_pack(Emitter& e) { LanesEmitter(e).emit_pack(); }
void emit_lanes_weight(Emitter& e) { LanesEmitter(e).emit_weight(); }

}  // namespace sinter::codegen
