// A tap in a tile is a multiply-add of a pixel of the image, which several taps share, and a vector of the kernel. Sums are in the order of the taps,
// as elsewhere.
#include "codegen/kernels/convolution_depthwise.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/combine.h"
#include "codegen/emit/image.h"
#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/pixel_tiles.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class DepthwiseEmitter : PixelTileWords {
 public:
  explicit DepthwiseEmitter(Emitter& emitter)
      : PixelTileWords(emitter, convolution_of(emitter.graph(), emitter.kernel().anchor).sliding,
                       std::holds_alternative<ir::Conv2DTranspose>(emitter.anchor().op), most_pixels(emitter.unit()), ratio_of(emitter)),
        source_(emitter.value_of(emitter.anchor().inputs[0])),
        other_(emitter.value_of(emitter.anchor().inputs[1])) {
    note(str(ir::name(e_.anchor().op), ", depthwise, kernels of ", sliding_.h.size, "×", sliding_.w.size));
  }

  void emit() {
    for_each_row(
        [&](Value* image, Value* h) { for_each_tile_of_row([&](const PixelTile& tile, const Site& site) { sum_tile(image, h, tile, site); }); });
  }

  void emit_weight() {
    const std::int64_t height = sliding_.h.size, width = row_.taps();
    const Shape shape{height * width, convolution_of(e_.graph(), e_.kernel().anchor).features};
    // Rows of the kernel whose sums are in registers together.
    const std::int64_t together = std::clamp<std::int64_t>(most_sums(e_.unit()) / width, 1, height);
    e_.for_each_block(shape, e_.number(0), false, [&](const Site& site) {
      for (std::int64_t first = 0; first < height; first += together) {
        const std::vector<Vec> totals = rows_of_weight(first, std::min(together, height - first), site);
        Value* slot = b_.CreateAdd(b_.CreateMul(e_.chunk(), e_.number(height * width)), e_.number(first * width));
        for (std::size_t k = 0; k < totals.size(); ++k) {
          Value* row = b_.CreateAdd(slot, e_.number(static_cast<std::int64_t>(k)));
          e_.store(totals[k], e_.memory(Memory::slots), {row, site.last, site.width, site.valid});
        }
      }
    });
  }

 private:
  /// Several features of a channel are results of one source; in the adjoint, sources of one result.
  static ChannelRatio ratio_of(Emitter& e) {
    const std::int64_t features = convolution_of(e.graph(), e.kernel().anchor).features_a_group();
    return std::holds_alternative<ir::Conv2DTranspose>(e.anchor().op) ? ChannelRatio{1, features} : ChannelRatio{features, 1};
  }

  void add_product(llvm::AllocaInst* sum, const Vec& x, const Vec& y) {
    b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getAllocatedType()}, {x.value, y.value, value_of(sum).value}), sum);
  }

  void sum_tile(Value* image, Value* h, const PixelTile& tile, const Site& site) {
    const std::vector<llvm::AllocaInst*> sums = variables(static_cast<std::size_t>(tile.size), DType::f32, site, 0);
    for_each_line(h, false, [&](Value* kh, Value* line) {
      std::vector<std::vector<Vec>> weights;
      for (std::int64_t k = 0; k < row_.taps(); ++k) {
        Value* row = b_.CreateAdd(b_.CreateMul(kh, e_.number(row_.taps())), e_.number(k));
        if (adjoint_) weights.push_back(load_met(e_.address(other_, row, met_channel(site)), DType::f32, site));
        else weights.push_back({e_.load(e_.address(other_, row, site.last), DType::f32, site.width)});
      }
      each_tap({&source_, 1}, image, line, tile, site, false, [&](std::int64_t i, std::int64_t k, std::span<const Vec> x) {
        for (std::size_t j = 0; j < x.size(); ++j) add_product(sums[static_cast<std::size_t>(i)], x[j], weights[static_cast<std::size_t>(k)][j]);
      });
    });
    store_tile(values_of(sums), image, h, tile, site);
  }

  /// The chunk's sums for `rows` rows of the kernel.
  std::vector<Vec> rows_of_weight(std::int64_t first, std::int64_t rows, const Site& site) {
    const ir::SlidingAxis& h = sliding_.h;
    const auto count = static_cast<std::size_t>(rows * row_.taps());
    const Rows images = e_.indices(1);
    const auto lines_of = [&](Value* n) { return b_.CreateMul(n, e_.number(h.out)); };
    const std::int64_t a_chain = std::max<std::int64_t>(1, ir::chain_products / row_.results());
    return combine_chains(e_, Combine::sum, DType::f32, site.width, count, lines_of(images.first), lines_of(images.last), a_chain,
                          [&](Value* begin, Value* end) {
                            const std::vector<llvm::AllocaInst*> sums = variables(count, DType::f32, site, 0);
                            e_.loop(begin, end, 1, [&](Value* of_all) {
                              Value *image = b_.CreateUDiv(of_all, e_.number(h.out)), *oh = b_.CreateURem(of_all, e_.number(h.out));
                              for (std::int64_t kh = 0; kh < rows; ++kh) {
                                const AxisPlace at = index_in_window(e_, h, oh, e_.number(first + kh));
                                e_.when(at.inside, [&] { add_line(sums.data() + kh * row_.taps(), image, oh, at.place, site); });
                              }
                            });
                            return values_of(sums);
                          });
  }
  void add_line(llvm::AllocaInst* const* sums, Value* image, Value* oh, Value* line, const Site& site) {
    for_each_tile([&](const PixelTile& tile) {
      const std::vector<Vec> gradients = load_tile(other_, image, oh, tile, site);
      each_tap({&source_, 1}, image, line, tile, site, false,
               [&](std::int64_t i, std::int64_t k, std::span<const Vec> x) { add_product(sums[k], x[0], gradients[static_cast<std::size_t>(i)]); });
    });
  }

  const ValueId source_, other_;  ///< the images, or for conv2d_transpose the gradients; the kernel, or for conv2d_weight the gradients
};

}  // namespace

void emit_depthwise(Emitter& e) { DepthwiseEmitter(e).emit(); }
void emit_depthwise_weight(Emitter& e) { DepthwiseEmitter(e).emit_weight(); }

}  // namespace sinter::codegen
