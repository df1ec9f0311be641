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
  explicit ForwardEmitter(Emitter& emitter)
      : ConvolutionWords(emitter),
        in_place_(reads_images_in_place(emitter.graph(), emitter.kernel().anchor)),
        dots_(is_narrow(emitter.graph(), emitter.kernel().anchor)) {}

  /// conv2d: a row of pixels at a time, each followed by the epilogue; of images of a single row so many windows.
  void emit() {
    source_ = e_.value_of(node_.inputs[0]);
    const std::int64_t windows = plan_.windows_of_part();
    choose_tiles(windows);
    const bool cut = e_.kernel().cut.along == Cut::Along::rows;
    Value *begin = cut ? e_.piece_begin() : number(0), *end = cut ? e_.piece_end() : number(plan_.parts());
    const bool divides_rows = windows < plan_.w.windows;
    for_each_image([&](Value* image) {
      Value *first_row = divides_rows ? number(0) : begin, *last_row = divides_rows ? number(1) : end;
      // Rows [row, row_end), whose windows begin at `from`.
      const auto rows = [&](Value* row, Value* row_end, Value* from) {
        e_.loop(row, row_end, 1, [&](Value* oh) {
          Value* first = mul(add(mul(image, plan_.h.windows), oh), plan_.w.windows);
          Value* of_row = float_at(from, mul(sub(oh, row), step_of(plan_.h) * row_floats()));
          if (divides_rows) parts_of_row(first, of_row, oh, {begin, end});
          else part_of_row(first, of_row, oh, windows);
        });
      };
      if (in_place_) {
        Value* pixel = mul(add(mul(image, plan_.h.source), mul(first_row, step_of(plan_.h))), plan_.w.source);
        rows(first_row, last_row, e_.element_address(source_, mul(pixel, conv_.channels)));
      } else {
        for_each_block(image, first_row, last_row, plan_.block(), [&](Value* row, Value* row_end) { rows(row, row_end, copy_at(number(0))); });
      }
    });
  }

 private:
  void choose_tiles(std::int64_t windows) {
    if (!dots_) return ConvolutionWords::choose_tiles(windows, feature_columns());
    e_.note(str(ir::name(node_.op), ", sums of products in lanes, ", conv_.features == 1 ? "1 feature" : str(conv_.features, " features")));
  }
  /// Floats between pixels, and between rows, of what windows are read from.
  std::int64_t pixel_floats() const { return in_place_ ? e_.stored(source_).layout().stride.factor() : plan_.channels; }
  std::int64_t row_floats() const { return in_place_ ? plan_.w.source * pixel_floats() : plan_.copy_row(); }
  /// From one window to the next.
  std::int64_t step_of(const ConvolutionPlan::Axis& axis) const { return in_place_ ? axis.stride : axis.step; }
  /// From one group's windows to the next one's.
  std::int64_t group_floats() const { return in_place_ ? plan_.channels : plan_.plane_elements(plan_.block()); }

  /// Parts [first, last) of row `oh`, of which the last of all may be shorter.
  void parts_of_row(Value* first, Value* from, Value* oh, Range parts) {
    const std::int64_t windows = plan_.windows_of_part(), last = plan_.parts() - 1;
    const auto part = [&](Value* i, std::int64_t count) {
      Value* ow = mul(i, windows);
      part_of_row(add(first, ow), float_at(from, mul(ow, step_of(plan_.w) * pixel_floats())), oh, count);
    };
    e_.loop(parts.first, least(parts.last, number(last)), 1, [&](Value* i) { part(i, windows); });
    e_.when(b_.CreateICmpEQ(parts.last, number(last + 1)), [&] { part(number(last), plan_.w.windows - last * windows); });
  }
  /// The results of `windows` windows of row `oh`: the rows from `first` on, whose windows begin at `from`.
  void part_of_row(Value* first, Value* from, Value* oh, std::int64_t windows) {
    const RowTiles tiles = dots_ || windows == plan_.windows_of_part() ? tiles_.rows : tile_rows(windows, tiles_.rows.size);
    if (dots_) dot_row(first, from, windows);
    else
      for_each_group(plan_.groups, [&](Value* group) {
        const Results results{first, mul(group, conv_.features_a_group())};
        tile_row(results, float_at(from, mul(group, group_floats())), rows_of_window(oh), tiles);
      });
    e_.store_results({first, add(first, number(windows))});
  }

  /// The rows of the windows of row `oh` that are not all padding, [first, last): at least one, so that there is a result.
  std::pair<Value*, Value*> rows_of_window(Value* oh) {
    const auto& h = plan_.h;
    if (h.dilation > 1 || plan_.runs_a_row() > 1) return {number(0), number(h.size)};
    const auto bounded = [&](Value* x, std::int64_t low, std::int64_t high) { return least(most(x, number(low)), number(high)); };
    Value* start = mul(oh, h.stride);
    return {bounded(sub(number(h.first), start), 0, h.size - 1), bounded(sub(number(h.first + h.source), start), 1, h.size)};
  }

  /// Part of each window: `runs` runs of `count` numbers from element (h, w) on, and what a jumps after each. `place` is 0 for the first part.
  struct Taps {
    Value *h, *w, *count, *runs, *jump, *place;
  };

  /// Where the results of a group begin.
  struct Results {
    Value *row, *column;
  };

  /// The results of the windows that begin at `from`.
  void tile_row(const Results& results, Value* from, std::pair<Value*, Value*> rows_of_window, const RowTiles& tiles) {
    const auto [begin, end] = rows_of_window;
    Value *zero = number(0), *channels = number(plan_.channels);
    const std::int64_t most = plan_.taps_at_a_time(feature_columns());
    if (plan_.runs_a_row() > 1) {
      e_.loop(begin, end, 1, [&](Value* h) {
        tile_taps(results, from, tiles,
                  {h, zero, channels, number(plan_.w.size), number((plan_.w.dilation - 1) * plan_.channels), b_.CreateSub(h, begin)}, true);
      });
    } else if (most == plan_.w.size) {  // runs are the rows of a window
      tile_taps(results, from, tiles,
                {begin, zero, number(plan_.run()), b_.CreateSub(end, begin), number(plan_.h.dilation * row_floats() - plan_.run()), zero}, false);
    } else {
      e_.loop(begin, end, 1, [&](Value* h) {
        e_.loop(zero, number(plan_.w.size), most, [&](Value* w) {
          Value* taps = least(number(most), b_.CreateSub(number(plan_.w.size), w));
          tile_taps(results, from, tiles, {h, w, mul(taps, plan_.channels), number(1), zero, add(b_.CreateSub(h, begin), w)}, true);
        });
      });
    }
  }
  void tile_taps(const Results& results, Value* from, const RowTiles& tiles, const Taps& taps, bool accumulate) {
    const ValueId right = e_.value_of(node_.inputs[1]);
    const std::int64_t ldb = symbolic_layout(type(right).shape).stride.factor(), step = step_of(plan_.w) * pixel_floats();
    Value* window = float_at(from, add(mul(taps.h, plan_.h.dilation * row_floats()), mul(taps.w, plan_.channels)));
    Value* row = mul(add(mul(taps.h, plan_.w.size), taps.w), plan_.channels);
    for_each_panel(tiles_.panels, [&](const Panels& panels, Value* of_group) {
      Value* column = add(results.column, of_group);
      Value* b = e_.address(right, row, column);
      for_each_tile(tiles, [&](Value* ow, unsigned rows) {
        llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                            .rows = rows,
                                                            .ldc = symbolic_layout(e_.kernel().shape).stride.factor(),
                                                            .walk = Tile::Walk::spread,
                                                            .lda = step,
                                                            .accumulate = accumulate,
                                                            .runs = true});
        Value* c = e_.address(e_.memory(Memory::collected), add(results.row, ow), column);
        b_.CreateCall(tile, {c, b, number(ldb), taps.count, taps.place, float_at(window, mul(ow, step)), taps.runs, taps.jump, number(0)});
      });
    });
  }

  /// Results of few features: each is a sum of products along the runs of its window, in lanes; those of a few windows together.
  void dot_row(Value* first, Value* from, std::int64_t windows) {
    const auto features = static_cast<unsigned>(conv_.features);
    const std::int64_t sums = e_.unit().registers >= 32 ? 16 : 6;
    for_each_tile(tile_rows(windows, std::clamp<std::int64_t>(sums / features, 1, 8)),
                  [&](Value* ow, unsigned rows) { dot_tile(add(first, ow), float_at(from, mul(ow, step_of(plan_.w) * pixel_floats())), rows); });
  }
  void dot_tile(Value* first, Value* from, unsigned rows) {
    const bool flat = is_flat(e_.kernel().shape);
    const auto features = static_cast<unsigned>(conv_.features);
    Value* kernel = e_.pointer(features == 1 ? e_.value_of(node_.inputs[1]) : e_.memory(Memory::packed));  // one column is adjacent as it is
    const std::int64_t feature_floats = features == 1 ? 0 : symbolic_layout(packed_by_features(plan_, conv_.features)).stride.factor();
    std::vector<llvm::AllocaInst*> sums;
    for (unsigned i = 0; i < rows * features; ++i) sums.push_back(neutral_variable(e_, Combine::sum, DType::f32, lanes, "sum"));
    e_.loop(number(0), number(plan_.h.size), 1, [&](Value* kh) {
      e_.loop(number(0), number(plan_.runs_a_row()), 1, [&](Value* part) {
        Value* a = float_at(from, add(mul(kh, plan_.h.dilation * row_floats()), mul(part, plan_.w.dilation * plan_.channels)));
        Value* b = float_at(kernel, mul(add(mul(kh, plan_.runs_a_row()), part), plan_.run()));
        const auto more = [&](Value* i, unsigned valid) {
          const auto load = [&](Value* at) {
            return valid == lanes ? e_.load(at, DType::f32, lanes) : e_.load_lanes(at, DType::f32, first_lanes(valid, lanes));
          };
          std::vector<Vec> y;
          for (unsigned f = 0; f < features; ++f) y.push_back(load(float_at(b, add(i, number(f * feature_floats)))));
          for (unsigned w = 0; w < rows; ++w) {
            const Vec x = load(float_at(a, add(i, number(w * step_of(plan_.w) * pixel_floats()))));
            for (unsigned f = 0; f < features; ++f) {
              llvm::AllocaInst* sum = sums[w * features + f];
              Value* before = b_.CreateLoad(sum->getAllocatedType(), sum);
              b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getAllocatedType()}, {x.value, y[f].value, before}), sum);
            }
          }
        };
        const std::int64_t whole = plan_.run() / lanes * lanes;
        e_.loop(number(0), number(whole), lanes, [&](Value* i) { more(i, lanes); });
        if (whole < plan_.run()) more(number(whole), static_cast<unsigned>(plan_.run() - whole));
      });
    });
    const auto width = static_cast<unsigned>(symbolic_layout(e_.kernel().shape).stride.factor());
    for (unsigned w = 0; w < rows; ++w) {
      std::vector<Vec> totals;
      for (unsigned f = 0; f < features; ++f) {
        llvm::AllocaInst* sum = sums[w * features + f];
        totals.push_back(horizontal(Vec(b_.CreateLoad(sum->getAllocatedType(), sum), DType::f32), Combine::sum));
      }
      Value* row = add(first, number(w));
      if (features == 1) {
        e_.store(totals[0], e_.memory(Memory::collected), flat ? Site{number(0), row, 1, 1} : Site{row, number(0), 1, 1});
        continue;
      }
      while (totals.size() < width) totals.emplace_back(llvm::ConstantFP::get(b_.getFloatTy(), 0), DType::f32);
      e_.store(vector_of(totals), e_.memory(Memory::collected), {row, number(0), width, features});
    }
  }

  const bool in_place_, dots_;
};

}  // namespace

void emit_convolution(Emitter& e) { ForwardEmitter(e).emit(); }

void emit_narrow_pack(Emitter& e) {
  const ValueId kernel = e.value_of(e.anchor().inputs[1]), packed = e.memory(Memory::packed);
  e.loop(e.begin(), e.end(), 1, [&](Value* feature) {
    e.loop(e.number(0), e.number(plan_convolution(e.graph(), e.kernel().anchor).taps()), 1,
           [&](Value* tap) { e.store(e.load(e.address(kernel, tap, feature), DType::f32, 1), packed, {feature, tap, 1, 1}); });
  });
}

}  // namespace sinter::codegen
