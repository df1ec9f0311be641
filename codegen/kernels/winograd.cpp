// Convolutions with few multiplications; see codegen/kernels/winograd_plan.h.
#include "codegen/kernels/winograd.h"

#include "codegen/kernels/chains.h"
#include "codegen/kernels/image_copy.h"
#include "codegen/kernels/product_tile.h"
#include "codegen/kernels/winograd_range.h"
#include "codegen/kernels/winograd_transform.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class WinogradEmitter : ImageWords {
 public:
  WinogradEmitter(Emitter& emitter, const WinogradPlan& plan)
      : ImageWords(emitter), node_(emitter.anchor()), plan_(plan), lanes_(plan.lanes(emitter.unit())), range_(emitter, plan) {}

  /// Channels [begin, end) of the transformed kernel: by (number of the tile, channel) and feature.
  void emit_pack() {
    const ValueId w = e_.value_of(node_.inputs[1]);
    const std::int64_t stride = stride_of(w), to_column = plan_.kernel_number(), taps = plan_.form->taps;
    const ir::Matrix& matrix = plan_.form->kernel;
    Value* packed = e_.pointer(e_.memory(Memory::packed));
    const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(node_.op);
    const std::int64_t rows = adjoint ? plan_.columns : plan_.channels;  // per position of the kernel
    if (!adjoint) {
      e_.loop(e_.begin(), e_.end(), 1, [&](Value* channel) {
        for_each_part(stride, [&](Value* column, std::int64_t vectors) {
          transform({"kernel", matrix, lanes_}, float_at(packed, add(mul(channel, plan_.stride), column)), plan_.size() * to_column, to_column,
                    e_.address(w, channel, column), taps * rows * stride, rows * stride, vectors);
        });
      });
      return;
    }
    // Rotated, and with channels and features exchanged: columns are gathered first.
    Value* turned = e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(taps * taps * lanes_)), "turned", 64);
    e_.loop(e_.begin(), e_.end(), 1, [&](Value* feature) {
      const auto gathered = [&](Value* column) {
        e_.loop(number(0), number(taps * taps), 1, [&](Value* place) {
          e_.loop(number(0), number(lanes_), 1, [&](Value* i) {
            Value* channel = least(add(column, i), number(rows - 1));  // padding repeats the last: no result depends on it
            Value* x = b_.CreateLoad(b_.getFloatTy(), e_.address(w, add(mul(place, rows), channel), feature));
            b_.CreateStore(x, float_at(turned, add(mul(sub(number(taps * taps - 1), place), lanes_), i)));
          });
        });
        transform({"kernel", matrix, lanes_}, float_at(packed, add(mul(feature, plan_.stride), column)), plan_.size() * to_column, to_column, turned,
                  taps * lanes_, lanes_, 1);
      };
      const std::int64_t whole = plan_.stride / lanes_ * lanes_;
      e_.loop(number(0), number(whole), lanes_, [&](Value* column) { gathered(column); });
      if (whole < plan_.stride) gathered(number(plan_.stride - lanes_));
    });
  }

  /// conv2d and conv2d_transpose: block after block of tiles, each followed by the epilogue.
  void emit_images() {
    panels_ = plan_winograd_tiles(plan_.stride, e_.unit());
    note();
    Value* first_strip = own_strips().first;
    for_each_block([&](Value* first, Value* last) {
      each_strip(first, last, [&](Value* strip, Value* place) {
        transform_source(strip, place);
        range_.measure(strip, place, first_strip);
      });
      multiply(mul(sub(last, first), plan_.tiles_a_strip));
      each_strip(first, last, [&](Value* strip, Value* place) { make_results(strip, place); });
    });
  }

  /// This chunk's part of a conv2d_weight, into its slot.
  void emit_weight() {
    gradient_ = e_.value_of(node_.inputs[1]);
    first_column_ = mul(e_.piece_begin(), plan_.pieces() > 1 ? plan_.width : 0);
    tiles_ = plan_tiles(plan_.channels, plan_.width, e_.unit());
    panels_ = tiles_.panels;
    note();
    const auto [begin, end] = own_strips();
    const auto block_of = [&](Value* strip) { return div(sub(strip, begin), plan_.block); };
    const std::int64_t rows = plan_.numbers() * plan_.channels;
    const ChainSteps steps(e_, block_of(add(end, number(plan_.block - 1))),
                           std::max<std::int64_t>(1, ir::chain_products / (plan_.block * plan_.tiles_a_strip)));
    const Chains chains{staged(plan_.sums_at(), number(0)), e_.pointer(e_.memory(Memory::sums)), number(rows), number(plan_.width), plan_.width};
    for_each_block([&](Value* first, Value* last) {
      each_strip(first, last, [&](Value* strip, Value* place) {
        transform_source(strip, place);
        transform_gradient(strip, place);
      });
      add_products(steps.place(block_of(first)), mul(sub(last, first), plan_.tiles_a_strip));
      steps.add(block_of(first), chains);
    });
    steps.finish(chains);
    const ir::Matrix matrix = ir::transposed(plan_.form->kernel);
    const std::int64_t from_column = plan_.sums_number(), to_tap = plan_.channels * plan_.stride, taps = plan_.form->taps;
    e_.loop(number(0), number(plan_.channels), 1, [&](Value* channel) {
      for_each_part(plan_.width, [&](Value* column, std::int64_t vectors) {
        Value* row = add(mul(e_.chunk(), taps * taps * plan_.channels), channel);
        transform({"weight", matrix, lanes_}, e_.address(e_.memory(Memory::slots), row, add(first_column_, column)), taps * to_tap, to_tap,
                  staged(plan_.sums_at(), add(mul(channel, plan_.width), column)), plan_.size() * from_column, from_column, vectors);
      });
    });
  }

 private:
  Value* staged(std::int64_t part, Value* offset) { return float_at(e_.pointer(e_.memory(Memory::staging)), add(number(part), offset)); }
  void note() { e_.note(str(ir::name(node_.op), ", ", to_text(plan_, panels_))); }

  // ---- strips: rows of tiles, numbered through the images of the chunk ----
  Rows own_strips() {
    const Rows images = e_.indices(1);
    Value *first = mul(images.first, plan_.strips), *last = mul(images.last, plan_.strips);
    if (e_.kernel().cut.along != Cut::Along::rows) return {first, last};
    return {add(first, e_.piece_begin()), sub(last, sub(number(plan_.strips), e_.piece_end()))};
  }
  void for_each_block(const std::function<void(Value*, Value*)>& body) {
    const Rows strips = own_strips();
    e_.loop(strips.first, strips.last, plan_.block, [&](Value* first) { body(first, least(add(first, number(plan_.block)), strips.last)); });
  }
  /// Calls body with each strip and its index in the block.
  void each_strip(Value* first, Value* last, const std::function<void(Value*, Value*)>& body) {
    e_.loop(first, last, 1, [&](Value* strip) { body(strip, sub(strip, first)); });
  }

  // ---- transforms ----
  Value* transform(const Transform& t, Value* to, std::int64_t to_row, std::int64_t to_column, Value* from, std::int64_t from_row,
                   std::int64_t from_column, std::int64_t vectors, Value* rows = nullptr, Value* columns = nullptr) {
    return b_.CreateCall(transform_function(e_.context(), t), {to, number(to_row), number(to_column), from, number(from_row), number(from_column),
                                                               number(vectors), rows ? rows : number(0), columns ? columns : number(0)});
  }
  /// Calls body for the whole vectors of so many columns, and again for the last vector if it is not one of them: its overlap with the one
  /// before is computed twice.
  void for_each_part(std::int64_t columns, const std::function<void(Value*, std::int64_t)>& body) {
    body(number(0), columns / lanes_);
    if (columns % lanes_) body(number(columns - lanes_), 1);
  }

  void copy_pixels(Value* strip) {
    Value *image = div(strip, plan_.strips), *first = mul(rem(strip, plan_.strips), plan_.results());
    ImageCopy(e_, e_.value_of(node_.inputs[0]), plan_.h, plan_.w, plan_.channels)
        .rows(image, first, add(first, number(plan_.size())), staged(0, number(0)));
  }
  void transform_source(Value* strip, Value* place) {
    copy_pixels(strip);
    Value* copy = staged(0, number(0));
    const std::int64_t number_at = plan_.source_number();
    e_.loop(number(0), number(plan_.tiles_a_strip), 1, [&](Value* tile) {
      Value* row = add(mul(place, plan_.tiles_a_strip), tile);
      transform({"input", plan_.form->input, lanes_}, staged(plan_.source_at(), mul(row, plan_.source_stride())), plan_.size() * number_at, number_at,
                float_at(copy, mul(tile, plan_.results() * plan_.channels)), plan_.copy_row(), plan_.channels,
                (plan_.channels + lanes_ - 1) / lanes_);
    });
  }

  /// Calls body with the first pixel of each tile of a strip in the other image, the tile's index in the block, and how many of its rows and columns
  /// lie in the image.
  void each_tile(Value* strip, Value* place, const std::function<void(Value*, Value*, Value*, Value*)>& body) {
    Value *image = div(strip, plan_.strips), *top = mul(rem(strip, plan_.strips), plan_.results());
    Value* line = mul(add(mul(image, plan_.out_h), top), plan_.out_w);
    e_.loop(number(0), number(plan_.tiles_a_strip), 1, [&](Value* tile) {
      Value* left = mul(tile, plan_.results());
      body(add(line, left), add(mul(place, plan_.tiles_a_strip), tile), sub(number(plan_.out_h), top), sub(number(plan_.out_w), left));
    });
  }
  bool clips() const { return plan_.out_h % plan_.results() || plan_.out_w % plan_.results(); }

  void transform_gradient(Value* strip, Value* place) {
    const std::int64_t number_at = plan_.other_number();
    const ir::Matrix matrix = ir::transposed(plan_.form->output);
    each_tile(strip, place, [&](Value* pixel, Value* row, Value* rows, Value* columns) {
      for_each_part(plan_.width, [&](Value* column, std::int64_t vectors) {
        transform({"gradient", matrix, lanes_, clips(), false}, staged(plan_.other_at(), add(mul(row, plan_.width), column)),
                  plan_.size() * number_at, number_at, e_.address(gradient_, pixel, add(first_column_, column)), plan_.out_w * plan_.stride,
                  plan_.stride, vectors, rows, columns);
      });
    });
  }

  void make_results(Value* strip, Value* place) {
    const std::int64_t number_at = plan_.other_number();
    each_tile(strip, place, [&](Value* pixel, Value* row, Value* rows, Value* columns) {
      Value* finite = b_.getTrue();
      for_each_part(plan_.stride, [&](Value* column, std::int64_t vectors) {
        Value* part = transform({"output", plan_.form->output, lanes_, false, clips(), true}, e_.address(e_.memory(Memory::collected), pixel, column),
                                plan_.out_w * plan_.stride, plan_.stride, staged(plan_.other_at(), add(mul(row, plan_.stride), column)),
                                plan_.size() * number_at, number_at, vectors, rows, columns);
        finite = b_.CreateAnd(finite, part);
      });
      range_.note_finite(sub(row, mul(place, plan_.tiles_a_strip)), place, finite);
    });
    range_.mend(strip, place, [&] { copy_pixels(strip); });
    Value *image = div(strip, plan_.strips), *top = mul(rem(strip, plan_.strips), plan_.results());
    Value *line = mul(image, plan_.out_h), *bottom = least(add(top, number(plan_.results())), number(plan_.out_h));
    e_.store_results({mul(add(line, top), plan_.out_w), mul(add(line, bottom), plan_.out_w)});
  }

  // ---- products ----
  /// [tiles, channels] · [channels, columns] for each number of a tile. The last register tile may have rows past the last tile, never read.
  void multiply(Value* tiles) {
    e_.loop(number(0), number(plan_.numbers()), 1, [&](Value* n) {
      for_each_panel(panels_, [&](const Panels& panels, Value* column) {
        llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                            .rows = panels.rows,
                                                            .ldc = plan_.stride,
                                                            .walk = Tile::Walk::spread,
                                                            .lda = plan_.source_stride(),
                                                            .accumulate = false});
        Value* b = float_at(e_.pointer(e_.memory(Memory::packed)), add(mul(n, plan_.kernel_number()), column));
        e_.loop(number(0), tiles, panels.rows, [&](Value* row) {
          b_.CreateCall(tile, {staged(plan_.other_at(), add(add(mul(n, plan_.other_number()), mul(row, plan_.stride)), column)), b,
                               number(plan_.stride), number(plan_.channels), number(0),
                               staged(plan_.source_at(), add(mul(n, plan_.source_number()), mul(row, plan_.source_stride())))});
        });
      });
    });
  }

  /// Adds [channels, tiles] · [tiles, columns] for each number of a tile to those of the chain, which a block begins whose
  /// place in it is 0.
  void add_products(Value* place, Value* tiles) {
    e_.loop(number(0), number(plan_.numbers()), 1, [&](Value* n) {
      for_each_panel(panels_, [&](const Panels& panels, Value* column) {
        Value* b = staged(plan_.other_at(), add(mul(n, plan_.other_number()), column));
        for_each_tile(tiles_.rows, [&](Value* channel, unsigned rows) {
          llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                              .rows = rows,
                                                              .ldc = plan_.width,
                                                              .walk = Tile::Walk::columns,
                                                              .lda = plan_.source_stride(),
                                                              .accumulate = true});
          b_.CreateCall(tile, {staged(plan_.sums_at(), add(add(mul(n, plan_.sums_number()), mul(channel, plan_.width)), column)), b,
                               number(plan_.width), tiles, place, staged(plan_.source_at(), add(mul(n, plan_.source_number()), channel))});
        });
      });
    });
  }

  const ir::Node& node_;
  const WinogradPlan plan_;
  const unsigned lanes_;  ///< floats of a vector
  WinogradRange range_;
  std::vector<Panels> panels_;
  ConvolutionTiles tiles_;
  ValueId gradient_ = no_value;
  Value* first_column_ = nullptr;  ///< of the piece
};

}  // namespace

void emit_winograd(Emitter& e, const WinogradPlan& plan) {
  WinogradEmitter emitter(e, plan);
  if (e.kernel().is<Kernel::Pack>()) emitter.emit_pack();
  else if (e.kernel().is<Kernel::Partial>()) emitter.emit_weight();
  else emitter.emit_images();
}

}  // namespace sinter::codegen
