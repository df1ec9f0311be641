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

  /// Channels [begin, end) of the transformed kernel: by number of the tile, panel, channel and feature.
  void emit_pack() {
    panels_ = plan_winograd_tiles(plan_.stride, e_.unit());
    const ValueId w = e_.value_of(node_.inputs[1]);
    const std::int64_t stride = stride_of(w), to_column = plan_.kernel_number(), taps = plan_.form->taps;
    const ir::Matrix& matrix = plan_.form->kernel;
    const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(node_.op);
    const std::int64_t rows = adjoint ? plan_.columns : plan_.channels;  // per position of the kernel
    if (!adjoint) {
      e_.loop(e_.begin(), e_.end(), 1, [&](Value* channel) {
        for_each_packed(channel, [&](Value* to, Value* column, std::int64_t vectors, std::int64_t) {
          transform({"kernel", matrix, lanes_}, to, plan_.size() * to_column, to_column, e_.address(w, channel, column), taps * rows * stride,
                    rows * stride, vectors);
        });
      });
      return;
    }
    // Rotated, and with channels and features exchanged, which squares of numbers do.
    constexpr std::int64_t together = 8;
    turned_ = e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(together * taps * taps * lanes_)), "turned", 64);
    Value* rest = lanes_ % together ? e_.begin() : sub(e_.end(), rem(sub(e_.end(), e_.begin()), together));
    const auto pack = [&](Value* feature, std::int64_t features) {
      for_each_packed(feature, [&](Value* to, Value* column, std::int64_t vectors, std::int64_t row) {
        e_.loop(number(0), number(vectors * lanes_), lanes_, [&](Value* i) {
          turn(feature, features, add(column, i));
          e_.loop(number(0), number(features), 1, [&](Value* r) {
            transform({"kernel", matrix, lanes_}, float_at(to, add(i, mul(r, row))), plan_.size() * to_column, to_column,
                      float_at(turned_, mul(r, taps * taps * lanes_)), taps * lanes_, lanes_, 1);
          });
        });
      });
    };
    e_.loop(e_.begin(), rest, together, [&](Value* feature) { pack(feature, together); });
    e_.loop(rest, e_.end(), 1, [&](Value* feature) { pack(feature, 1); });
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

  /// The transformed kernel lies in panels, which tiles read from start to end, unless the last vector of a row overlaps the one before.
  bool is_in_panels() const { return plan_.stride % lanes_ == 0; }
  std::int64_t packed_row(const Panels& panels) const { return is_in_panels() ? panels.columns : plan_.stride; }
  /// Where a panel begins in it, in floats.
  Value* packed_panel(Value* column) { return mul(column, is_in_panels() ? plan_.channels : 1); }
  /// Calls body with where adjacent vectors of row `row` of the transformed kernel begin, the first of their columns, their number, and how many
  /// floats further the next row is.
  void for_each_packed(Value* row, const std::function<void(Value*, Value*, std::int64_t, std::int64_t)>& body) {
    Value* packed = e_.pointer(e_.memory(Memory::packed));
    if (!is_in_panels())
      return for_each_part(plan_.stride, [&](Value* column, std::int64_t vectors) {
        body(float_at(packed, add(mul(row, plan_.stride), column)), column, vectors, plan_.stride);
      });
    for_each_panel(panels_, [&](const Panels& panels, Value* column) {
      body(float_at(packed, add(packed_panel(column), mul(row, packed_row(panels)))), column, panels.columns / lanes_, packed_row(panels));
    });
  }
  /// Of so many features (1 or 8) the kernel of a vector of channels, rotated: by feature, place and channel.
  void turn(Value* feature, std::int64_t features, Value* channel) {
    const ValueId w = e_.value_of(node_.inputs[1]);
    const std::int64_t taps = plan_.form->taps, channels = plan_.columns;
    e_.loop(number(0), number(taps * taps), 1, [&](Value* place) {
      const auto from = [&](Value* i) {
        Value* row = least(add(channel, i), number(channels - 1));  // padding repeats the last: no result depends on it
        return e_.address(w, add(mul(place, channels), row), feature);
      };
      Value* to = float_at(turned_, mul(sub(number(taps * taps - 1), place), lanes_));
      if (features == 1)
        return e_.loop(number(0), number(lanes_), 1, [&](Value* i) { b_.CreateStore(b_.CreateLoad(b_.getFloatTy(), from(i)), float_at(to, i)); });
      for (std::int64_t first = 0; first < lanes_; first += features) {
        std::vector<Value*> square;
        for (std::int64_t i = 0; i < features; ++i)
          square.push_back(b_.CreateAlignedLoad(e_.memory_type(DType::f32, 8), from(number(first + i)), llvm::Align(4)));
        square = transposed(std::move(square));
        for (std::int64_t f = 0; f < features; ++f)
          b_.CreateAlignedStore(square[static_cast<std::size_t>(f)], float_at(to, f * taps * taps * lanes_ + first), llvm::Align(4));
      }
    });
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
        Value* b = float_at(e_.pointer(e_.memory(Memory::packed)), add(mul(n, plan_.kernel_number()), packed_panel(column)));
        e_.loop(number(0), tiles, panels.rows, [&](Value* row) {
          b_.CreateCall(tile, {staged(plan_.other_at(), add(add(mul(n, plan_.other_number()), mul(row, plan_.stride)), column)), b,
                               number(packed_row(panels)), number(plan_.channels), number(0),
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
  Value* first_column_ = nullptr;       ///< of the piece
  llvm::AllocaInst* turned_ = nullptr;  ///< what turn() makes
};

}  // namespace

void emit_winograd(Emitter& e, const WinogradPlan& plan) {
  WinogradEmitter emitter(e, plan);
  if (e.kernel().is<Kernel::Pack>()) emitter.emit_pack();
  else if (e.kernel().is<Kernel::Partial>()) emitter.emit_weight();
  else emitter.emit_images();
}

}  // namespace sinter::codegen
