// conv2d: rows of results are products of windows and the kernel.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/combine.h"
#include "codegen/kernels/convolution_emit.h"
#include "codegen/kernels/convolution_words.h"
#include "codegen/kernels/product_tile.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class ForwardEmitter : ConvolutionWords {
 public:
  explicit ForwardEmitter(Emitter& emitter) : ConvolutionWords(emitter) {}

  /// conv2d: a row of pixels at a time, each followed by the epilogue.
  void emit() {
    const Shape& shape = e_.kernel().shape;
    source_ = e_.value_of(node_.inputs[0]);
    if (!is_flat(shape)) choose_tiles(plan_.w.windows, symbolic_layout(shape).stride.factor());
    const bool cut = e_.kernel().cut.along == Cut::Along::rows;  // of windows
    Value *begin = cut ? e_.piece_begin() : number(0), *end = cut ? e_.piece_end() : number(plan_.h.windows);
    for_each_image([&](Value* image) {
      for_each_block(image, begin, end, plan_.block(), [&](Value* block, Value* block_end) {
        e_.loop(block, block_end, 1, [&](Value* oh) {
          Value* first = mul(add(mul(image, plan_.h.windows), oh), plan_.w.windows);
          Value* from = copy_at(mul(sub(oh, block), plan_.h.step * plan_.copy_row()));
          if (is_flat(shape)) dot_row(first, from);
          else tile_row(first, from, rows_of_window(oh));
          e_.store_results({first, add(first, number(plan_.w.windows))});
        });
      });
    });
  }

 private:
  /// The rows of the windows of row `oh` that are not all padding, [first, last): at least one, so that there is a result.
  std::pair<Value*, Value*> rows_of_window(Value* oh) {
    const auto& h = plan_.h;
    if (h.dilation > 1 || plan_.runs_a_row() > 1) return {number(0), number(h.size)};
    const auto bounded = [&](Value* x, std::int64_t low, std::int64_t high) {
      x = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, number(low));
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, number(high));
    };
    Value* start = mul(oh, h.step);
    return {bounded(sub(number(h.first), start), 0, h.size - 1), bounded(sub(number(h.first + h.source), start), 1, h.size)};
  }

  /// Part of each window: `runs` runs of `count` numbers from element (h, w) on, and what a jumps after each. `place` is 0 for the first part.
  struct Taps {
    Value *h, *w, *count, *runs, *jump, *place;
  };

  /// The pixels from row `first` of the result on, whose windows begin at `from`.
  void tile_row(Value* first, Value* from, std::pair<Value*, Value*> rows_of_window) {
    const auto [begin, end] = rows_of_window;
    Value *zero = number(0), *channels = number(plan_.channels);
    const std::int64_t most = plan_.taps_at_a_time(symbolic_layout(e_.kernel().shape).stride.factor());
    if (plan_.runs_a_row() > 1) {
      e_.loop(begin, end, 1, [&](Value* h) {
        tile_taps(first, from, {h, zero, channels, number(plan_.w.size), number((plan_.w.dilation - 1) * plan_.channels), b_.CreateSub(h, begin)},
                  true);
      });
    } else if (most == plan_.w.size) {  // runs are the rows of a window
      tile_taps(first, from,
                {begin, zero, number(plan_.run()), b_.CreateSub(end, begin), number(plan_.h.dilation * plan_.copy_row() - plan_.run()), zero}, false);
    } else {
      e_.loop(begin, end, 1, [&](Value* h) {
        e_.loop(zero, number(plan_.w.size), most, [&](Value* w) {
          Value* taps = least(number(most), b_.CreateSub(number(plan_.w.size), w));
          tile_taps(first, from, {h, w, mul(taps, plan_.channels), number(1), zero, add(b_.CreateSub(h, begin), w)}, true);
        });
      });
    }
  }
  void tile_taps(Value* first, Value* from, const Taps& taps, bool accumulate) {
    const ValueId right = e_.value_of(node_.inputs[1]);
    const std::int64_t ldb = symbolic_layout(type(right).shape).stride.factor(), step = plan_.w.step * plan_.channels;
    Value* window = float_at(from, add(mul(taps.h, plan_.h.dilation * plan_.copy_row()), mul(taps.w, plan_.channels)));
    Value* row = mul(add(mul(taps.h, plan_.w.size), taps.w), plan_.channels);
    for_each_panel(tiles_.panels, [&](const Panels& panels, Value* column) {
      Value* b = e_.address(right, row, column);
      for_each_tile(tiles_.rows, [&](Value* ow, unsigned rows) {
        llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                            .rows = rows,
                                                            .ldc = symbolic_layout(e_.kernel().shape).stride.factor(),
                                                            .walk = Tile::Walk::spread,
                                                            .lda = step,
                                                            .accumulate = accumulate,
                                                            .runs = true});
        Value* c = e_.address(e_.memory(Memory::collected), add(first, ow), column);
        b_.CreateCall(tile, {c, b, number(ldb), taps.count, taps.place, float_at(window, mul(ow, step)), taps.runs, taps.jump, number(0)});
      });
    });
  }

  /// Results of one feature: each is a sum of products along the runs of its window, in lanes.
  void dot_row(Value* first, Value* from) {
    Value* kernel = e_.pointer(e_.value_of(node_.inputs[1]));  // one column: adjacent
    llvm::Type* vector = e_.memory_type(DType::f32, lanes);
    llvm::AllocaInst* sum = e_.variable(vector, "sum", 64);
    e_.loop(number(0), number(plan_.w.windows), 1, [&](Value* ow) {
      b_.CreateStore(llvm::Constant::getNullValue(vector), sum);
      Value* window = float_at(from, mul(ow, plan_.w.step * plan_.channels));
      e_.loop(number(0), number(plan_.h.size), 1, [&](Value* kh) {
        e_.loop(number(0), number(plan_.runs_a_row()), 1, [&](Value* part) {
          Value* a = float_at(window, add(mul(kh, plan_.h.dilation * plan_.copy_row()), mul(part, plan_.w.dilation * plan_.channels)));
          Value* b = float_at(kernel, mul(add(mul(kh, plan_.runs_a_row()), part), plan_.run()));
          const auto more = [&](Value* i, unsigned valid) {
            const Vec x = only_valid(e_.load(float_at(a, i), DType::f32, lanes), valid, 0),
                      y = only_valid(e_.load(float_at(b, i), DType::f32, lanes), valid, 0);
            Value* before = b_.CreateLoad(vector, sum);
            b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x.value, y.value, before}), sum);
          };
          const std::int64_t whole = plan_.run() / lanes * lanes;
          e_.loop(number(0), number(whole), lanes, [&](Value* i) { more(i, lanes); });
          if (whole < plan_.run()) more(number(whole), static_cast<unsigned>(plan_.run() - whole));
        });
      });
      const Vec total = horizontal(Vec(b_.CreateLoad(vector, sum), DType::f32), Combine::sum);
      e_.store(total, e_.memory(Memory::collected), {number(0), add(first, ow), 1, 1});
    });
  }
};

}  // namespace

void emit_convolution(Emitter& e) { ForwardEmitter(e).emit(); }

}  // namespace sinter::codegen
