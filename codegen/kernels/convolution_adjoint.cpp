// conv2d_transpose: each gradient, times the kernel, gives a window's runs, which are added to a copy of the image that then becomes the result.
#include "codegen/kernels/convolution_emit.h"
#include "codegen/kernels/convolution_words.h"
#include "codegen/kernels/product_tile.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class AdjointEmitter : ConvolutionWords {
 public:
  explicit AdjointEmitter(Emitter& emitter) : ConvolutionWords(emitter) {}

  void emit() {
    source_ = e_.value_of(node_.inputs[0]);
    const std::int64_t stride = symbolic_layout(type(e_.memory(Memory::packed)).shape).stride.factor();
    choose_tiles(plan_.w.windows, stride);
    for_each_image([&](Value* image) {
      zero_copy();
      e_.loop(first_window(), last_window(), 1, [&](Value* oh) {
        Value* gradients = mul(add(mul(image, plan_.h.windows), oh), plan_.w.windows);
        e_.loop(number(0), number(plan_.h.size * plan_.runs_a_row()), 1, [&](Value* part) {
          Value* row = add(mul(oh, plan_.h.step), mul(div(part, plan_.runs_a_row()), plan_.h.dilation));
          const auto scatter = [&] { for_each_group(plan_.groups, [&](Value* group) { scatter_row(gradients, row, part, group, stride); }); };
          if (!cut_) return scatter();
          e_.when(b_.CreateAnd(b_.CreateICmpSGE(row, copied(rows_.first)), b_.CreateICmpSLT(row, copied(rows_.last))), scatter);
        });
      });
      copy_back(image);
      const auto pixel = [&](Value* row) { return mul(add(mul(image, plan_.h.source), row), plan_.w.source); };
      e_.store_results({pixel(rows_.first), pixel(rows_.last)});
    });
  }

  /// Rows [begin, end) of the rotated kernel: by (kernel row, part of it, feature) and index in the run.
  void emit_pack() {
    const ValueId w = e_.value_of(node_.inputs[1]), packed = e_.memory(Memory::packed);
    const SymbolicLayout at = symbolic_layout(e_.kernel().shape);
    const bool flat_w = is_flat(type(w).shape), flat = is_flat(e_.kernel().shape);
    e_.loop(e_.begin(), e_.end(), 1, [&](Value* row) {
      Value *first = mul(div(row, conv_.features), plan_.run()), *f = rem(row, conv_.features);
      e_.loop(number(0), number(plan_.run()), 1, [&](Value* i) {
        Value* from = add(first, i);
        Value* x = b_.CreateLoad(b_.getFloatTy(), flat_w ? e_.address(w, number(0), from) : e_.address(w, from, f));
        b_.CreateStore(x, flat ? e_.address(packed, number(0), row) : e_.address(packed, row, i));
      });
      if (!flat)
        e_.loop(number(plan_.run()), number(at.stride.factor()), 1,
                [&](Value* i) { b_.CreateStore(llvm::ConstantFP::get(b_.getFloatTy(), 0), e_.address(packed, row, i)); });
    });
  }

 private:
  // ---- a piece of a single image: the rows that windows add to are those of the piece alone, in the same order as without pieces ----
  /// The row of the copy in which row h of the image, or the one behind the last, lies.
  Value* copied(Value* h) { return add(h, number(plan_.h.first)); }
  /// The windows [first, last) along the height that may have a row among the piece's.
  Value* first_window() {
    if (!cut_) return number(0);
    Value* behind = sub(copied(rows_.first), number(plan_.h.reach() - 1));  // the first row that reaches the piece
    return div(add(most(behind, number(0)), number(plan_.h.step - 1)), plan_.h.step);
  }
  Value* last_window() {
    const std::int64_t all = plan_.h.windows;
    return cut_ ? least(div(add(copied(rows_.last), number(plan_.h.step - 1)), plan_.h.step), number(all)) : number(all);
  }
  void zero_copy() {
    if (!cut_) return zero_from(copy_at(number(0)), plan_.copy_elements() - plan_.slack);  // vectors reach past the end of it
    for_each_group(plan_.groups, [&](Value* group) {
      e_.loop(copied(rows_.first), least(copied(rows_.last), number(plan_.h.copy)), 1,
              [&](Value* row) { zero_from(copy_at(add(mul(group, plan_.plane_elements()), mul(row, plan_.copy_row()))), plan_.copy_row()); });
    });
  }

  /// Where row h of the image begins in the copy, in the plane of the first group.
  Value* place_of(Value* h) { return copy_at(add(mul(copied(h), plan_.copy_row()), number(plan_.w.first * plan_.channels))); }

  /// The copy as the image that is collected: zeros where no window was.
  void copy_back(Value* image) {
    const Shape& shape = e_.kernel().shape;
    const bool flat = is_flat(shape);
    const std::int64_t rows = plan_.h.kept(), columns = plan_.w.kept(), stride = symbolic_layout(shape).stride.factor();
    const Vec zero(llvm::ConstantFP::get(b_.getFloatTy(), 0), DType::f32);
    // The channels of a pixel from number `channel` on, up to the end of a row, or of a group.
    const auto of_group = [&](Value* from, Value* row, Value* channel, std::int64_t floats) {
      for (std::int64_t c = 0; c < plan_.channels; c += lanes) {
        const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, floats - c)),
                   valid = static_cast<unsigned>(std::min<std::int64_t>(width, plan_.channels - c));
        const Vec x = from ? e_.load(float_at(from, c), DType::f32, width) : splat(zero, width);
        e_.store(x, e_.memory(Memory::collected), flat ? Site{number(0), row, 1, 1} : Site{row, add(channel, number(c)), width, valid});
      }
    };
    const auto pixel = [&](Value* from, Value* row) {
      for_each_group(plan_.groups, [&](Value* group) {
        of_group(from ? float_at(from, mul(group, plan_.plane_elements())) : nullptr, row, mul(group, plan_.channels),
                 plan_.groups > 1 ? plan_.channels : stride);
      });
    };
    const auto line = [&](Value* h, std::int64_t covered) {
      Value *row = mul(add(mul(image, plan_.h.source), h), plan_.w.source), *from = place_of(h);
      e_.loop(number(0), number(covered), 1, [&](Value* w) { pixel(float_at(from, mul(w, plan_.channels)), add(row, w)); });
      e_.loop(number(covered), number(plan_.w.source), 1, [&](Value* w) { pixel(nullptr, add(row, w)); });
    };
    e_.loop(rows_.first, least(rows_.last, number(rows)), 1, [&](Value* h) { line(h, columns); });
    e_.loop(most(rows_.first, number(rows)), rows_.last, 1, [&](Value* h) { line(h, 0); });
  }

  /// Gradients of a group: from this row and column on.
  struct Gradients {
    Value *row, *column;
  };

  /// Adds the runs of part `part` of a group's kernel to this row of the copy, for the windows of the gradients from row `first` on.
  void scatter_row(Value* first, Value* row, Value* part, Value* group, std::int64_t stride) {
    const Gradients gradients{first, mul(group, conv_.features_a_group())};
    Value *line = mul(row, plan_.copy_row()), *kw = rem(part, plan_.runs_a_row());
    Value* to = copy_at(add(mul(group, plan_.plane_elements()), add(line, mul(kw, plan_.w.dilation * plan_.channels))));
    Value* packed = float_at(e_.pointer(e_.memory(Memory::packed)), mul(add(mul(part, conv_.features), gradients.column), stride));
    if (plan_.windows_are_apart()) add_runs(gradients, to, packed, stride);
    else add_tiles_of_runs(gradients, to, packed, stride);
  }

  /// Windows far enough apart that a tile's rows don't meet: it adds to the copy itself. A panel of the kernel stays in the first-level cache.
  void add_runs(const Gradients& gradients, Value* to, Value* packed, std::int64_t stride) {
    const std::int64_t step = plan_.w.step * plan_.channels;
    for_each_panel(tiles_.panels, [&](const Panels& panels, Value* column) {
      for_each_tile(tiles_.rows, [&](Value* ow, unsigned rows) {
        product_of_gradients(panels, rows, {float_at(to, add(mul(ow, step), column)), step, true}, float_at(packed, column), stride,
                             {add(gradients.row, ow), gradients.column});
      });
    });
  }

  /// Windows that overlap: the runs of a tile lie after the copy, and are added window by window.
  void add_tiles_of_runs(const Gradients& gradients, Value* to, Value* packed, std::int64_t stride) {
    Value* runs = copy_at(number(plan_.copy_elements()));
    for_each_tile(tiles_.rows, [&](Value* ow, unsigned rows) {
      for_each_panel(tiles_.panels, [&](const Panels& panels, Value* column) {
        product_of_gradients(panels, rows, {float_at(runs, column), stride, false}, float_at(packed, column), stride,
                             {add(gradients.row, ow), gradients.column});
      });
      for (unsigned i = 0; i < rows; ++i) {
        Value* window = float_at(to, mul(add(ow, number(i)), plan_.w.step * plan_.channels));
        const auto more = [&](Value* j, unsigned width) {  // pad lanes of a run are zeros
          const Vec x = e_.load(float_at(runs, add(j, number(i * stride))), DType::f32, width),
                    before = e_.load(float_at(window, j), DType::f32, width);
          b_.CreateAlignedStore((before + x).value, float_at(window, j), llvm::Align(4));
        };
        const std::int64_t whole = stride / lanes * lanes;
        e_.loop(number(0), number(whole), lanes, [&](Value* j) { more(j, lanes); });
        if (whole < stride) more(number(whole), static_cast<unsigned>(stride - whole));
      }
    });
  }

  /// Where a tile of runs goes: rows `stride` floats apart, to what is there already or in its place.
  struct Runs {
    Value* begin;
    std::int64_t stride;
    bool add;
  };
  /// `rows` rows of gradients, times a panel of the packed kernel.
  void product_of_gradients(const Panels& panels, unsigned rows, const Runs& to, Value* b, std::int64_t ldb, const Gradients& gradients) {
    const Shape& shape = type(source_).shape;
    Value* a = is_flat(shape) ? e_.address(source_, number(0), gradients.row) : e_.address(source_, gradients.row, gradients.column);
    llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                        .rows = rows,
                                                        .ldc = to.stride,
                                                        .walk = Tile::Walk::spread,
                                                        .lda = symbolic_layout(shape).stride.factor(),
                                                        .accumulate = to.add});
    b_.CreateCall(tile, {to.begin, b, number(ldb), number(conv_.features_a_group()), number(to.add), a});
  }

  const bool cut_ = e_.kernel().cut.along == Cut::Along::rows;
  /// Of the image: all, or those of the piece.
  const Range rows_ = cut_ ? Range{e_.piece_begin(), e_.piece_end()} : Range{number(0), number(plan_.h.source)};
};

}  // namespace

void emit_convolution_adjoint(Emitter& e) { AdjointEmitter(e).emit(); }
void emit_convolution_pack(Emitter& e) { AdjointEmitter(e).emit_pack(); }

}  // namespace sinter::codegen
