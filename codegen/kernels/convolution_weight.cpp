// conv2d_weight: windows as columns, times the gradients of their pixels.
#include "codegen/kernels/chains.h"
#include "codegen/kernels/convolution_emit.h"
#include "codegen/kernels/convolution_words.h"
#include "codegen/kernels/product_tile.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class WeightEmitter : ConvolutionWords {
 public:
  explicit WeightEmitter(Emitter& emitter) : ConvolutionWords(emitter) {}

  /// This chunk's part of a conv2d_weight, into its slot.
  void emit() {
    source_ = e_.value_of(node_.inputs[0]);
    gradient_ = e_.value_of(node_.inputs[1]);
    if (!is_flat_) choose_tiles(plan_.run(), feature_columns());
    // A chain has the terms of several images, of some rows of windows of one, or of a part of a row.
    const std::int64_t pixels = plan_.h.windows * plan_.w.windows, rows = plan_.chain_rows(), of_row = plan_.chain_windows(),
                       parts_a_row = divide_up(plan_.w.windows, of_row), chains_an_image = divide_up(plan_.h.windows, rows) * parts_a_row;
    const Rows images = e_.indices(1);
    const ChainSteps steps(e_, mul(sub(images.last, images.first), chains_an_image),
                           chains_an_image > 1 ? 1 : std::max<std::int64_t>(1, ir::chain_products / pixels));
    const Chains chains = chains_of_weight();
    for_each_image([&](Value* image) {
      for_each_block(image, number(0), number(plan_.h.windows), plan_.weight_block(), [&](Value* block, Value* block_end) {
        e_.loop(block, block_end, rows, [&](Value* oh) {
          e_.loop(number(0), number(parts_a_row), 1, [&](Value* part) {
            Value* ow = mul(part, of_row);
            const Windows windows{image, oh, least(number(rows), sub(block_end, oh)), ow, least(number(of_row), sub(number(plan_.w.windows), ow))};
            Value* step = add(add(mul(sub(image, images.first), chains_an_image), mul(div(oh, rows), parts_a_row)), part);
            add_windows(windows, block, steps.place(step));
            steps.add(step, chains);
          });
        });
      });
    });
    steps.finish(chains);
  }

 private:
  /// Some rows of windows of an image, or a part of a row.
  struct Windows {
    Value *image, *first_row, *rows;
    Value *first, *of_row;  ///< of each row
  };
  Value* first_pixel(const Windows& windows) {
    return add(mul(add(mul(windows.image, plan_.h.windows), windows.first_row), plan_.w.windows), windows.first);
  }
  /// From one window to the next in the copy.
  std::int64_t window_step() const { return plan_.w.step * plan_.channels; }
  /// From the end of so many windows of a row to the next row.
  Value* row_jump(Value* windows) { return sub(number(plan_.h.step * plan_.copy_row()), mul(windows, window_step())); }

  Chains chains_of_weight() {
    const ValueId slots = e_.memory(Memory::slots);
    Value *first = mul(e_.chunk(), plan_.taps()), *sums = e_.pointer(e_.memory(Memory::sums));
    if (is_flat_) return {e_.address(slots, number(0), first), sums, number(1), number(plan_.taps()), plan_.taps()};
    const std::int64_t stride = symbolic_layout(type(slots).shape).stride.factor();
    return {e_.address(slots, first, number(0)), sums, number(plan_.taps()), number(stride), stride};
  }

  /// Adds the part of some windows, over a copy that begins with that of row `block` of windows. `place` is 0 where a chain begins.
  void add_windows(const Windows& windows, Value* block, Value* place) {
    e_.loop(number(0), number(plan_.h.size), 1, [&](Value* kh) {
      e_.loop(number(0), number(plan_.runs_a_row()), 1, [&](Value* run) {
        Value* line = add(mul(kh, plan_.h.dilation), mul(sub(windows.first_row, block), plan_.h.step));
        Value* of_line = add(mul(run, plan_.w.dilation * plan_.channels), mul(windows.first, window_step()));
        Value* from = copy_at(add(mul(line, plan_.copy_row()), of_line));
        Value* row = add(mul(e_.chunk(), plan_.taps()), mul(add(mul(kh, plan_.runs_a_row()), run), plan_.run()));
        if (is_flat_) return weight_column(windows, place, from, row);
        const std::int64_t plane = plan_.plane_elements(plan_.weight_block());
        for_each_group(plan_.groups, [&](Value* group) {
          weight_rows(windows, place, float_at(from, mul(group, plane)), row, mul(group, conv_.features_a_group()));
        });
      });
    });
  }

  /// Adds their part to the rows of the slots from `row`, those of one run, and the columns of a group from `first` on: windows as columns, times the
  /// gradients of their pixels.
  void weight_rows(const Windows& windows, Value* place, Value* from, Value* row, Value* first) {
    const std::int64_t ldb = symbolic_layout(type(gradient_).shape).stride.factor(), step = window_step();
    for_each_panel(tiles_.panels, [&](const Panels& panels, Value* of_group) {
      Value* column = add(first, of_group);
      Value* b = e_.address(gradient_, first_pixel(windows), column);
      for_each_tile(tiles_.rows, [&](Value* i, unsigned rows) {
        llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                            .rows = rows,
                                                            .ldc = symbolic_layout(type(e_.memory(Memory::slots)).shape).stride.factor(),
                                                            .walk = Tile::Walk::columns,
                                                            .lda = step,
                                                            .accumulate = true,
                                                            .runs = true});
        b_.CreateCall(tile, {e_.address(e_.memory(Memory::slots), add(row, i), column), b, number(ldb), windows.of_row, place, float_at(from, i),
                             windows.rows, row_jump(windows.of_row), number(0)});
      });
    });
  }

  /// The same for one feature: the run's numbers in lanes, times each pixel's gradient.
  void weight_column(const Windows& windows, Value* place, Value* from, Value* row) {
    const std::int64_t step = window_step();
    Value* a = e_.address(gradient_, number(0), first_pixel(windows));
    const auto part = [&](Value* i, unsigned width) {
      llvm::Function* tile = tile_function(
          e_.context(), {.widths = {width}, .rows = 1, .ldc = 0, .walk = Tile::Walk::columns, .lda = 1, .accumulate = true, .runs = true});
      b_.CreateCall(tile, {e_.address(e_.memory(Memory::slots), number(0), add(row, i)), float_at(from, i), number(step), windows.of_row, place, a,
                           windows.rows, number(0), row_jump(windows.of_row)});
    };
    const std::int64_t whole = plan_.run() / e_.unit().lanes * e_.unit().lanes;
    e_.loop(number(0), number(whole), e_.unit().lanes, [&](Value* i) { part(i, e_.unit().lanes); });
    std::int64_t at = whole;
    for (unsigned width = e_.unit().lanes / 2; width > 0; width /= 2)
      if (plan_.run() - at >= width) {
        part(number(at), width);
        at += width;
      }
  }

  const bool is_flat_ = conv_.features == 1;  ///< the gradient is one column
  ValueId gradient_ = no_value;
};

}  // namespace

void emit_convolution_weight(Emitter& e) { WeightEmitter(e).emit(); }

}  // namespace sinter::codegen
