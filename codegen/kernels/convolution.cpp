// Convolutions; see codegen/kernels/convolution_plan.h.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/combine.h"
#include "codegen/kernels/chains.h"
#include "codegen/kernels/convolution_grouped.h"
#include "codegen/kernels/image_copy.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_tile.h"
#include "codegen/kernels/winograd.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Rows of windows that are one chain of a weight gradient; several images are if all of one are fewer.
std::int64_t chain_rows(const ConvolutionPlan& plan) {
  const std::int64_t pixels = plan.h.windows * plan.w.windows, most = std::min(pixels, ir::chain_products);
  return std::max<std::int64_t>(1, most / plan.w.windows);
}
/// Whole chains of which a weight gradient copies the rows together.
std::int64_t block_of_weight(const ConvolutionPlan& plan) {
  const std::int64_t rows = chain_rows(plan);
  return plan.block() == plan.h.windows ? plan.h.windows : std::min(plan.h.windows, divide_up(plan.block(), rows) * rows);
}

class ConvolutionEmitter : ImageWords {
 public:
  explicit ConvolutionEmitter(Emitter& emitter)
      : ImageWords(emitter), node_(emitter.anchor()), plan_(plan_convolution(emitter.graph(), emitter.kernel().anchor)) {}

  /// conv2d: a row of pixels at a time, each followed by the epilogue.
  void emit_images() {
    const Shape& shape = e_.kernel().shape;
    source_ = e_.value_of(node_.inputs[0]);
    if (!is_flat(shape)) {
      tiles_ = plan_tiles(plan_.w.windows, symbolic_layout(shape).stride.factor(), e_.unit());
      note();
    }
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

  /// conv2d_transpose: each gradient, times the kernel, gives a window's runs, which are added to a copy of the image that then becomes the result.
  void emit_adjoint() {
    source_ = e_.value_of(node_.inputs[0]);
    const std::int64_t stride = symbolic_layout(type(e_.memory(Memory::packed)).shape).stride.factor();
    tiles_ = plan_tiles(plan_.w.windows, stride, e_.unit());
    note();
    for_each_image([&](Value* image) {
      zero_from(copy_at(number(0)), plan_.h.copy * plan_.copy_row());
      e_.loop(number(0), number(plan_.h.windows), 1, [&](Value* oh) {
        Value* gradients = mul(add(mul(image, plan_.h.windows), oh), plan_.w.windows);
        e_.loop(number(0), number(plan_.h.size * plan_.runs_a_row()), 1, [&](Value* part) { scatter_row(gradients, oh, part, stride); });
      });
      copy_back(image);
      Value* first = mul(image, plan_.h.source * plan_.w.source);
      e_.store_results({first, add(first, number(plan_.h.source * plan_.w.source))});
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

  /// This chunk's part of a conv2d_weight, into its slot.
  void emit_weight() {
    source_ = e_.value_of(node_.inputs[0]);
    gradient_ = e_.value_of(node_.inputs[1]);
    const bool flat = conv_.features == 1;
    if (!flat) {
      tiles_ = plan_tiles(plan_.run(), symbolic_layout(Shape{plan_.taps(), conv_.features}).stride.factor(), e_.unit());
      note();
    }
    // A chain has the terms of several images, or of some rows of windows of one.
    const std::int64_t pixels = plan_.h.windows * plan_.w.windows, rows = chain_rows(plan_), groups = divide_up(plan_.h.windows, rows);
    const Rows images = e_.indices(1);
    const ChainSteps steps(e_, mul(sub(images.last, images.first), groups), groups > 1 ? 1 : std::max<std::int64_t>(1, ir::chain_products / pixels));
    const Chains chains = chains_of_weight(flat);
    for_each_image([&](Value* image) {
      for_each_block(image, number(0), number(plan_.h.windows), block_of_weight(plan_), [&](Value* block, Value* block_end) {
        e_.loop(block, block_end, rows, [&](Value* oh) {
          const WindowRows windows{image, oh, least(number(rows), sub(block_end, oh))};
          Value* step = add(mul(sub(image, images.first), groups), div(oh, rows));
          e_.loop(number(0), number(plan_.h.size), 1, [&](Value* kh) {
            e_.loop(number(0), number(plan_.runs_a_row()), 1, [&](Value* part) {
              Value* line = add(mul(kh, plan_.h.dilation), mul(sub(oh, block), plan_.h.step));
              Value* from = copy_at(add(mul(line, plan_.copy_row()), mul(part, plan_.w.dilation * plan_.channels)));
              Value* row = add(mul(e_.chunk(), plan_.taps()), mul(add(mul(kh, plan_.runs_a_row()), part), plan_.run()));
              if (flat) weight_column(windows, steps.place(step), from, row);
              else weight_rows(windows, steps.place(step), from, row);
            });
          });
          steps.add(step, chains);
        });
      });
    });
    steps.finish(chains);
  }

 private:
  // ---- helpers ----
  Value* copy_at(Value* offset) { return float_at(e_.pointer(e_.memory(Memory::staging)), offset); }
  Vec zero() const { return Vec(llvm::ConstantFP::get(b_.getFloatTy(), 0), DType::f32); }
  void note() { e_.note(str(ir::name(node_.op), ", ", to_text(plan_, tiles_))); }

  /// Calls body with each image of the chunk.
  void for_each_image(const std::function<void(Value*)>& body) {
    const Rows images = e_.indices(1);
    e_.loop(images.first, images.last, 1, body);
  }

  // ---- the copy of an image ----
  /// Calls body with `most` rows of windows after the other of [begin, end), when what they lie over is copied.
  void for_each_block(Value* image, Value* begin, Value* end, std::int64_t most, const std::function<void(Value*, Value*)>& body) {
    const auto& h = plan_.h;
    const auto block = [&](Value* from, Value* to) {
      Value *first = mul(from, h.step), *last = add(mul(sub(to, number(1)), h.step), number(plan_.rows_under(1)));
      ImageCopy(e_, source_, h, plan_.w, plan_.channels).rows(image, first, last, copy_at(number(0)));
      body(from, to);
    };
    if (most == h.windows) return block(begin, end);
    e_.loop(begin, end, most, [&](Value* from) { block(from, least(add(from, number(most)), end)); });
  }

  /// Where row h of the image begins in the copy.
  Value* place_of(Value* h) { return copy_at(add(mul(add(h, number(plan_.h.first)), plan_.copy_row()), number(plan_.w.first * plan_.channels))); }

  /// The copy as the image that is collected: zeros where no window was.
  void copy_back(Value* image) {
    const Shape& shape = e_.kernel().shape;
    const bool flat = is_flat(shape);
    const std::int64_t rows = plan_.h.kept(), columns = plan_.w.kept(), stride = symbolic_layout(shape).stride.factor();
    const auto pixel = [&](Value* from, Value* row) {
      for (std::int64_t c = 0; c < plan_.channels; c += lanes) {
        const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, stride - c)),
                   valid = static_cast<unsigned>(std::min<std::int64_t>(width, plan_.channels - c));
        const Vec x = from ? e_.load(float_at(from, number(c)), DType::f32, width) : splat(zero(), width);
        e_.store(x, e_.memory(Memory::collected), flat ? Site{number(0), row, 1, 1} : Site{row, number(c), width, valid});
      }
    };
    const auto line = [&](Value* h, std::int64_t covered) {
      Value *row = mul(add(mul(image, plan_.h.source), h), plan_.w.source), *from = place_of(h);
      e_.loop(number(0), number(covered), 1, [&](Value* w) { pixel(float_at(from, mul(w, plan_.channels)), add(row, w)); });
      e_.loop(number(covered), number(plan_.w.source), 1, [&](Value* w) { pixel(nullptr, add(row, w)); });
    };
    e_.loop(number(0), number(rows), 1, [&](Value* h) { line(h, columns); });
    e_.loop(number(rows), number(plan_.h.source), 1, [&](Value* h) { line(h, 0); });
  }

  /// Adds the runs of part `part` of the kernel to the copy, for the windows of the gradients from row `first` on.
  void scatter_row(Value* first, Value* oh, Value* part, std::int64_t stride) {
    const bool flat = is_flat(type(source_).shape);
    const std::int64_t lda = symbolic_layout(type(source_).shape).stride.factor();
    Value* runs = copy_at(number(plan_.copy_elements()));  // of a tile, after the copy
    Value *kh = div(part, plan_.runs_a_row()), *kw = rem(part, plan_.runs_a_row());
    Value* row = add(mul(add(mul(oh, plan_.h.step), mul(kh, plan_.h.dilation)), plan_.copy_row()), mul(kw, plan_.w.dilation * plan_.channels));
    for_each_tile(tiles_.rows, [&](Value* ow, unsigned rows) {
      Value* a = flat ? e_.address(source_, number(0), add(first, ow)) : e_.address(source_, add(first, ow), number(0));
      for_each_panel(tiles_.panels, [&](const Panels& panels, Value* column) {
        llvm::Function* tile = tile_function(
            e_.context(), {.widths = panels.widths, .rows = rows, .ldc = stride, .walk = Tile::Walk::spread, .lda = lda, .accumulate = false});
        Value* b = float_at(e_.pointer(e_.memory(Memory::packed)), add(mul(part, conv_.features * stride), column));
        b_.CreateCall(tile, {float_at(runs, column), b, number(stride), number(conv_.features), number(0), a});
      });
      for (unsigned i = 0; i < rows; ++i) {
        Value* to = copy_at(add(row, mul(add(ow, number(i)), plan_.w.step * plan_.channels)));
        const auto more = [&](Value* j, unsigned width) {  // pad lanes of a run are zeros
          const Vec x = e_.load(float_at(runs, add(j, number(i * stride))), DType::f32, width), before = e_.load(float_at(to, j), DType::f32, width);
          b_.CreateAlignedStore((before + x).value, float_at(to, j), llvm::Align(4));
        };
        const std::int64_t whole = stride / lanes * lanes;
        e_.loop(number(0), number(whole), lanes, [&](Value* j) { more(j, lanes); });
        if (whole < stride) more(number(whole), static_cast<unsigned>(stride - whole));
      }
    });
  }

  // ---- rows of results ----
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

  /// The pixels from row `first` of the result on, whose windows begin at `from`.
  void tile_row(Value* first, Value* from, std::pair<Value*, Value*> rows_of_window) {
    const bool several = plan_.runs_a_row() > 1;
    const ValueId right = e_.value_of(node_.inputs[1]);
    const std::int64_t ldb = symbolic_layout(type(right).shape).stride.factor();
    for_each_panel(tiles_.panels, [&](const Panels& panels, Value* column) {
      for_each_tile(tiles_.rows, [&](Value* ow, unsigned rows) {
        llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                            .rows = rows,
                                                            .ldc = symbolic_layout(e_.kernel().shape).stride.factor(),
                                                            .walk = Tile::Walk::spread,
                                                            .lda = plan_.w.step * plan_.channels,
                                                            .accumulate = several,
                                                            .runs = true});
        Value *c = e_.address(e_.memory(Memory::collected), add(first, ow), column), *a = float_at(from, mul(ow, plan_.w.step * plan_.channels));
        Value *b = e_.address(right, number(0), column), *zero = number(0);
        if (!several) {  // runs are the rows of a window
          b_.CreateCall(tile,
                        {c, float_at(b, mul(rows_of_window.first, plan_.run() * ldb)), number(ldb), number(plan_.run()), zero,
                         float_at(a, mul(rows_of_window.first, plan_.h.dilation * plan_.copy_row())),
                         b_.CreateSub(rows_of_window.second, rows_of_window.first), number(plan_.h.dilation * plan_.copy_row() - plan_.run()), zero});
          return;
        }
        e_.loop(zero, number(plan_.h.size), 1, [&](Value* kh) {
          b_.CreateCall(tile, {c, float_at(b, mul(kh, plan_.w.size * plan_.run() * ldb)), number(ldb), number(plan_.run()), kh,
                               float_at(a, mul(kh, plan_.h.dilation * plan_.copy_row())), number(plan_.w.size),
                               number((plan_.w.dilation - 1) * plan_.channels), zero});
        });
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

  // ---- weight gradients ----
  /// Some rows of windows of an image.
  struct WindowRows {
    Value *image, *first, *count;
  };
  Value* first_pixel(const WindowRows& windows) { return mul(add(mul(windows.image, plan_.h.windows), windows.first), plan_.w.windows); }

  Chains chains_of_weight(bool flat) {
    const ValueId slots = e_.memory(Memory::slots);
    Value *first = mul(e_.chunk(), plan_.taps()), *sums = e_.pointer(e_.memory(Memory::sums));
    if (flat) return {e_.address(slots, number(0), first), sums, number(1), number(plan_.taps()), plan_.taps()};
    const std::int64_t stride = symbolic_layout(type(slots).shape).stride.factor();
    return {e_.address(slots, first, number(0)), sums, number(plan_.taps()), number(stride), stride};
  }

  /// Adds the part of some windows to the rows of the slots from `row`, those of one run: windows as columns, times the gradients of their pixels.
  /// `place` is 0 where a chain begins.
  void weight_rows(const WindowRows& windows, Value* place, Value* from, Value* row) {
    const std::int64_t ldb = symbolic_layout(type(gradient_).shape).stride.factor(), step = plan_.w.step * plan_.channels;
    for_each_panel(tiles_.panels, [&](const Panels& panels, Value* column) {
      Value* b = e_.address(gradient_, first_pixel(windows), column);
      for_each_tile(tiles_.rows, [&](Value* i, unsigned rows) {
        llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                            .rows = rows,
                                                            .ldc = symbolic_layout(type(e_.memory(Memory::slots)).shape).stride.factor(),
                                                            .walk = Tile::Walk::columns,
                                                            .lda = step,
                                                            .accumulate = true,
                                                            .runs = true});
        b_.CreateCall(tile, {e_.address(e_.memory(Memory::slots), add(row, i), column), b, number(ldb), number(plan_.w.windows), place,
                             float_at(from, i), windows.count, number(plan_.h.step * plan_.copy_row() - plan_.w.windows * step), number(0)});
      });
    });
  }

  /// The same for one feature: the run's numbers in lanes, times each pixel's gradient.
  void weight_column(const WindowRows& windows, Value* place, Value* from, Value* row) {
    const std::int64_t step = plan_.w.step * plan_.channels;
    Value* a = e_.address(gradient_, number(0), first_pixel(windows));
    const auto part = [&](Value* i, unsigned width) {
      llvm::Function* tile = tile_function(
          e_.context(), {.widths = {width}, .rows = 1, .ldc = 0, .walk = Tile::Walk::columns, .lda = 1, .accumulate = true, .runs = true});
      b_.CreateCall(tile, {e_.address(e_.memory(Memory::slots), number(0), add(row, i)), float_at(from, i), number(step), number(plan_.w.windows),
                           place, a, windows.count, number(0), number(plan_.h.step * plan_.copy_row() - plan_.w.windows * step)});
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

  const ir::Node& node_;
  const ConvolutionPlan plan_;
  ConvolutionTiles tiles_;
  ValueId source_ = no_value, gradient_ = no_value;
};

/// The copy of an image that a convolution reads, or collects, with the runs of a tile; or the transforms of a block of tiles.
void plan_staging(Planner& planner, Kernel& kernel) {
  const ConvolutionPlan plan = plan_convolution(planner.graph(), kernel.anchor);
  const std::optional<WinogradPlan> winograd = plan_winograd(planner.graph(), kernel.anchor);
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(planner.graph().node(kernel.anchor).op),
             weight = std::holds_alternative<ir::Conv2DWeight>(planner.graph().node(kernel.anchor).op);
  const std::int64_t copy =
      adjoint ? plan.copy_elements() + plan.tile_elements() : plan.block_elements(weight ? block_of_weight(plan) : plan.block());
  const Type type{DType::f32, {winograd ? winograd->elements() : copy}};
  kernel.memory.push_back({Memory::staging, planner.temporary(type, str("image of ", kernel.anchor)), true});
}

/// The sums of a weight gradient that is computed directly.
Type direct_sums(const ir::Graph& graph, ir::NodeId anchor) {
  const std::int64_t taps = plan_convolution(graph, anchor).taps(), features = convolution_of(graph, anchor).features;
  return features == 1 ? chain_sums(1, taps) : chain_sums(taps, symbolic_layout(Shape{taps, features}).stride.factor());
}

}  // namespace

void ConvolutionKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Graph& graph = planner.graph();
  plan_samples(planner, kernel);
  plan_memory_in_place(planner, kernel);
  if (!tiles_convolution(graph, kernel.anchor)) return planner.add(std::move(kernel));
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(graph.node(kernel.anchor).op);
  const ConvolutionPlan plan = plan_convolution(graph, kernel.anchor);
  const std::optional<WinogradPlan> winograd = plan_winograd(graph, kernel.anchor);
  plan_staging(planner, kernel);
  if (winograd) {
    planner.add_pack(kernel, {winograd->numbers() * winograd->channels, winograd->columns}, {Dim(winograd->channels), false});
  } else if (adjoint) {
    const Shape packed{plan.h.size * plan.runs_a_row() * convolution_of(graph, kernel.anchor).features, plan.run()};
    planner.add_pack(kernel, packed, planner.domain_of(packed));
  }
  if (!adjoint && kernel.shape[0] == Dim::batch()) planner.cut_single_sample(kernel, Cut::Along::rows, winograd ? winograd->strips : plan.h.windows);
  planner.add(std::move(kernel));
}

void ConvolutionKernel::emit(Emitter& e) const {
  if (const std::optional<WinogradPlan> winograd = plan_winograd(e.graph(), e.kernel().anchor)) return emit_winograd(e, *winograd);
  if (!tiles_convolution(e.graph(), e.kernel().anchor)) {
    collect_grouped(e);
    return e.store_results(e.rows());
  }
  ConvolutionEmitter emitter(e);
  if (e.kernel().is<Kernel::Pack>()) emitter.emit_pack();
  else if (std::holds_alternative<ir::Conv2DTranspose>(e.anchor().op)) emitter.emit_adjoint();
  else emitter.emit_images();
}

void ConvolutionWeightKernel::plan(Planner& planner, Kernel kernel) const {
  Planner::Parts parts = planner.split(kernel);
  parts.partial.pace = Pace::slots;
  if (!parts.partial.domain.samples) parts.partial.domain = {};
  const std::optional<WinogradPlan> winograd = plan_winograd(planner.graph(), kernel.anchor);
  if (tiles_convolution(planner.graph(), kernel.anchor)) {
    plan_staging(planner, parts.partial);
    const Type sums = winograd ? chain_sums(winograd->numbers() * winograd->channels, winograd->width) : direct_sums(planner.graph(), kernel.anchor);
    parts.partial.memory.push_back({Memory::sums, planner.temporary(sums, str("sums ", kernel.anchor)), true});
  }
  if (winograd && winograd->pieces() > 1) parts.partial.cut = {Cut::Along::columns, winograd->pieces(), true};
  planner.add(std::move(parts), kernel.shape.insert(0, most_slots(kernel.shape)));
}

void ConvolutionWeightKernel::emit(Emitter& e) const {
  if (e.kernel().is<Kernel::Combine>()) return emit_combined(e, Combine::sum);
  if (const std::optional<WinogradPlan> winograd = plan_winograd(e.graph(), e.kernel().anchor)) return emit_winograd(e, *winograd);
  if (tiles_convolution(e.graph(), e.kernel().anchor)) ConvolutionEmitter(e).emit_weight();
  else sum_grouped_weight(e);
}

}  // namespace sinter::codegen
