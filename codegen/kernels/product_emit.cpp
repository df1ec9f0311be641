#include "codegen/kernels/product_emit.h"

#include <optional>
#include <set>

#include "codegen/kernels/chains.h"
#include "codegen/kernels/product_left.h"
#include "codegen/kernels/product_tile.h"
#include "codegen/kernels/product_words.h"
#include "ir/kernel.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Whether every range of the product's units is cut into columns; also of what packs for it.
bool is_divided(const Kernel& kernel) {
  if (const auto* pack = std::get_if<Kernel::Pack>(&kernel.role)) return pack->divided;
  return kernel.cut.every_range && kernel.cut.along == Cut::Along::columns;
}

class ProductEmitter : ProductWords {
 public:
  explicit ProductEmitter(Emitter& emitter) : ProductWords(emitter), product_(product_of(emitter.graph(), emitter.kernel().anchor)) {}

  void emit() {
    begin();
    const std::string form = product_.of_windows() ? ", windows " : ", transposed windows ";
    e_.note(str(product_.run ? str(ir::name(e_.anchor().op), form) : "", to_text(plan_, product_)));
    left_.emplace(e_, product_, most_k(), most_rows());
    if (e_.kernel().is<Kernel::Partial>()) return emit_parts();
    if (product_.of_transposed_windows()) return emit_taps();
    if (product_.of_windows())
      return left_->for_each_block([&](Range rows) {
        set_rows(rows.first, rows.last);
        emit_rows();
      });
    if (product_.leading) {
      const auto [first, last] = e_.indices(product_.leading);
      return e_.loop(first, last, 1, [&](Value* matrix) {
        set_rows(b_.CreateMul(matrix, e_.extent(product_.sizes.m)), b_.CreateMul(b_.CreateAdd(matrix, number(1)), e_.extent(product_.sizes.m)),
                 b_.CreateMul(matrix, k_end_));
        right_first_ = b_.CreateMul(matrix, op_.transpose_b ? e_.extent(product_.sizes.f) : k_end_);
        emit_rows();
      });
    }
    const Rows rows = e_.rows();
    set_rows(rows.first, rows.last);
    if (reads_much_again()) {  // what follows finds the sums of a piece in the first-level cache
      return e_.loop(e_.piece_begin(), e_.piece_end(), 1, [&](Value* piece) {
        piece_ = piece;
        emit_rows();
      });
    }
    if (e_.kernel().cut.along != Cut::Along::columns || op_.transpose_b) return emit_rows();
    Value* single = b_.CreateICmpEQ(b_.CreateSub(end_, begin_), number(1));
    e_.when(single, [&] { emit_row(); });
    e_.when(b_.CreateNot(single), [&] { emit_rows(); });
  }

  /// Rows [begin, end) of the right operand, panel after panel, from memory that is read in its own order.
  void emit_pack() {
    begin();
    const Rows rows = e_.rows();
    e_.when(reads_packed(), [&] {
      if (!op_.transpose_b && !product_.rotated)
        return e_.loop(rows.first, rows.last, 1, [&](Value* row) {
          for_each_panel([&](const Panels& panels, Value* column) { copy_row(panels, column, row, packed_at(panels, column, row)); });
        });
      constexpr std::int64_t most = 512;  // what a panel has of them stays in the second-level cache
      e_.loop(rows.first, rows.last, most, [&](Value* first) {
        const Rows some{first, least(b_.CreateAdd(first, number(most)), rows.last)};
        for_each_panel([&](const Panels& panels, Value* column) {
          if (product_.rotated) copy_rotated(panels, column, some);
          else copy_transposed(panels, column, some.first, some.last, packed_at(panels, column, some.first));
        });
      });
    });
  }

 private:
  void begin() {
    k_begin_ = number(0);
    k_end_ = k_all_ = e_.extent(product_.sizes.k);
    plan_ = plan_product(product_, {e_.memory(Memory::packed) != no_value, divided_ || product_.of_windows(), is_of_step()}, e_.unit());
  }

  /// The chunk's terms of its pieces, into its slot.
  void emit_parts() {
    const Rows terms = e_.kernel().domain.samples ? e_.indices(1) : Rows{e_.begin(), e_.end()};
    k_begin_ = terms.first;
    k_end_ = terms.last;
    slot_row_ = b_.CreateMul(e_.chunk(), e_.extent(product_.sizes.m));
    const auto row_of = [&](Value* piece) { return least(b_.CreateMul(piece, number(parts_.piece_rows)), e_.extent(product_.sizes.m)); };
    e_.loop(e_.piece_begin(), e_.piece_end(), 1, [&](Value* piece) {  // the last tile of a piece has rows of its own
      set_rows(row_of(piece), row_of(b_.CreateAdd(piece, number(1))));
      emit_rows();
    });
  }

  /// The chunk's rows, each of which is of a tap of the kernel and a channel.
  void emit_taps() {
    const Rows rows = e_.rows();
    Value* channels = number(product_.run);
    e_.loop(b_.CreateUDiv(rows.first, channels), b_.CreateUDiv(b_.CreateAdd(rows.last, number(product_.run - 1)), channels), 1, [&](Value* tap) {
      Value* first = b_.CreateMul(tap, channels);
      left_->set_tap(tap);
      set_rows(most(rows.first, first), least(rows.last, b_.CreateAdd(first, channels)));
      emit_rows();
    });
  }

  /// Of several products, the matrix of the left operand begins at `left_first`.
  void set_rows(Value* first, Value* last, Value* left_first = nullptr) {
    begin_ = first;
    end_ = last;
    left_->set_rows(first, last, left_first);
  }

  void emit_rows() {
    if (plan_.right == ProductPlan::Right::copied) panel_ = memory(most_k() * plan_.widest(), "panel");
    for_each_chain([&](Value* first, Value* last) {
      chain_ = first;
      const auto block = [&](Value* k, Value* k_stop) { pass(k, k_stop); };
      if (e_.kernel().mask && slot_row_) for_each_masked_block_of_k(first, last, block);
      else if (product_.of_windows())
        e_.loop(first, last, product_.run,
                [&](Value* run) { for_each_block_of_k(run, b_.CreateAdd(run, number(product_.run)), plan_.k_block, block); });
      else for_each_block_of_k(first, last, plan_.k_block, block);
      return Range{begin_, end_};
    });
    if (slot_row_) return;
    if (has_columns_) e_.loop(begin_, end_, 1, [&](Value* row) { e_.store_results_of_row(row, first_column(), last_column()); });
    else if (!plan_.one_pass()) e_.store_results({begin_, end_});
  }

  // ---- a single row ----
  /// The kernel's pieces of one row: b is read once, in place, a few adjacent vectors of each of its rows.
  void emit_row() {
    const std::int64_t stride = right_stride(), each = std::min<std::int64_t>(piece_columns, most_row_vectors * e_.unit().lanes),
                       whole = stride / each * each;
    Value *first = first_column(), *last = last_column();
    const std::int64_t block = left_->is_converted() ? plan_.k_block : 0;
    const auto columns = [&](Value* column, std::int64_t count, Value* k, Value* k_stop, Value* left) {
      llvm::Function* tile = tile_function(
          e_.context(),
          {.widths = widths_of(count, e_.unit().lanes), .rows = 1, .ldc = 0, .walk = Tile::Walk::rows, .lda = 0, .accumulate = block != 0});
      b_.CreateCall(tile, {e_.address(e_.memory(Memory::collected), begin_, column), e_.address(e_.value_of(product_.right), k, column),
                           number(right_stride()), b_.CreateSub(k_stop, k), b_.CreateSub(k, chain_), left});
    };
    const auto pass = [&](Value* k, Value* k_stop) {
      Value* left = left_->of_row(begin_, k, k_stop);
      e_.loop(first, least(last, number(whole)), each, [&](Value* column) { columns(column, each, k, k_stop, left); });
      if (whole < stride) e_.when(b_.CreateICmpEQ(last, number(stride)), [&] { columns(number(whole), stride - whole, k, k_stop, left); });
    };
    for_each_chain([&](Value* chain, Value* chain_end) {
      chain_ = chain;
      for_each_block_of_k(chain, chain_end, block, pass);
      return Range{begin_, b_.CreateAdd(begin_, number(1))};
    });
    e_.store_results_of_row(begin_, first, last);
  }

  // ---- long sums ----
  /// Calls body for each chain of contracted indices, which returns the rows that it has computed, and adds those to the sums.
  void for_each_chain(const std::function<Range(Value* first, Value* last)>& body) {
    if (!is_long(product_)) return void(body(k_begin_, k_end_));
    // A product that turns out to be one chain needs no sums.
    Value* several = b_.CreateICmpSGT(b_.CreateSub(k_end_, k_begin_), number(ir::chain_products));
    e_.loop(k_begin_, k_end_, ir::chain_products, [&](Value* first) {
      const Range rows = body(first, least(b_.CreateAdd(first, number(ir::chain_products)), k_end_));
      e_.when(several, [&] { add_chains(e_, chains_of(rows), b_.CreateICmpEQ(first, k_begin_)); });
    });
    e_.when(several, [&] { finish_chains(e_, chains_of({begin_, end_})); });
  }

  void for_each_block_of_k(Value* first, Value* last, std::int64_t block, const std::function<void(Value*, Value*)>& body) {
    if (!block) return body(first, last);
    e_.loop(first, last, block, [&](Value* k) { body(k, least(b_.CreateAdd(k, number(block)), last)); });
  }

  /// Of the steps that the mask has; others would add products with 0.
  void for_each_masked_block_of_k(Value* first, Value* last, const std::function<void(Value*, Value*)>& body) {
    e_.store_zeros(e_.memory(Memory::slots), {b_.CreateAdd(slot_row_, begin_), b_.CreateAdd(slot_row_, end_)});
    e_.for_each_masked_sample({first, last}, [&](Rows, Rows masked) { for_each_block_of_k(masked.first, masked.last, plan_.k_block, body); });
  }

  Chains chains_of(Range rows) {
    const bool columns = e_.kernel().cut.along == Cut::Along::columns;
    Value *column = columns ? first_column() : number(0), *last = columns ? last_column() : number(product_.result_layout.stride.factor());
    Value* row = sums_of_call(product_, e_.kernel()) ? b_.CreateSub(rows.first, begin_) : rows.first;
    return {result_at(rows.first, column), e_.address(e_.memory(Memory::sums), row, column), b_.CreateSub(rows.last, rows.first),
            b_.CreateSub(last, column), product_.result_layout.stride.factor()};
  }

  // ---- helpers ----
  /// The columns of the call's pieces, or of the one that is emitted.
  Value* first_column() { return b_.CreateMul(piece_ ? piece_ : e_.piece_begin(), number(columns_of_piece())); }
  Value* last_column() {
    Value* behind = piece_ ? b_.CreateAdd(piece_, number(1)) : e_.piece_end();
    return least(b_.CreateMul(behind, number(columns_of_piece())), number(product_.result_layout.stride.factor()));
  }
  std::int64_t columns_of_piece() const { return product_.of_windows() ? window_columns : reads_much_again() ? step_columns : piece_columns; }
  bool is_of_step() const { return e_.context().schedule.is_step; }
  bool reads_much_again() const { return is_of_step() && divided_; }
  /// The most contracted indices of a pass, if known.
  std::int64_t most_k() const { return plan_.k_block ? plan_.k_block : product_.sizes.k.is_fixed() ? product_.sizes.k.factor() : 0; }
  /// The most rows of the result of a call.
  std::int64_t most_rows() const {
    if (parts_.slots) return parts_.piece_rows;
    return e_.context().schedule.phases[e_.kernel().phase].loops[e_.kernel().loop].most_units(1);
  }
  std::int64_t right_stride() const { return product_.right_layout.stride.factor(); }

  // ---- the right operand ----
  /// Whether the call has enough rows: a condition at run time where their number is N and the operand could be read in place. Steps of a loop over
  /// time read a large one again and again.
  Value* reads_packed() {
    const Dim m = product_.sizes.m;
    if (op_.transpose_b || product_.of_windows() || m.is_fixed() || reads_much_again() || packs_for_later_calls()) return b_.getTrue();
    return b_.CreateICmpSGE(e_.extent(m), number(paying_rows));
  }

  /// A pack that later calls use is made for any number of rows of this call.
  bool packs_for_later_calls() const { return e_.kernel().is<Kernel::Pack>() && e_.context().schedule.phases[e_.kernel().phase].once; }

  Value* packed_at(const Panels& panels, Value* column, Value* k) {
    Value* panel = b_.CreateInBoundsGEP(b_.getFloatTy(), e_.pointer(e_.memory(Memory::packed)), {b_.CreateMul(column, k_all_)});
    return floats_at(panel, k, panels.columns, number(0));
  }

  /// Rows of a kernel that is rotated by 180 degrees, with channels and features exchanged.
  void copy_rotated(const Panels& panels, Value* column, Rows rows) {
    Value* features = number(product_.rotated);
    Value *first = b_.CreateUDiv(rows.first, features), *last = b_.CreateUDiv(b_.CreateAdd(rows.last, number(product_.rotated - 1)), features);
    e_.loop(first, last, 1, [&](Value* place) {
      Value *begin = b_.CreateMul(place, features), *places = b_.CreateUDiv(k_all_, features);
      Value *from = most(rows.first, begin), *to = least(rows.last, b_.CreateAdd(begin, features));
      right_first_ = b_.CreateMul(b_.CreateSub(b_.CreateSub(places, number(1)), place), e_.extent(product_.sizes.f));
      copy_transposed(panels, column, b_.CreateSub(from, begin), b_.CreateSub(to, begin), packed_at(panels, column, from));
    });
  }

  /// Copies the columns of a panel in row `row`, as it is stored.
  void copy_row(const Panels& panels, Value* column, Value* row, Value* to) {
    std::int64_t j = 0;
    for (const unsigned width : panels.widths) {
      Value* from = e_.address(e_.value_of(product_.right), row, b_.CreateAdd(column, number(j)));
      Value* x = b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), from, llvm::Align(4));
      b_.CreateAlignedStore(x, b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), to, static_cast<std::uint64_t>(j)), llvm::Align(4));
      j += width;
    }
  }

  /// Copies rows [k, k_stop) of the columns of a panel, contiguously, to `to`: transposed from how they are stored.
  void copy_transposed(const Panels& panels, Value* column, Value* k, Value* k_stop, Value* to) {
    const ValueId right = e_.value_of(product_.right);
    // Squares of 8 columns × 8 rows, then the remaining rows. Columns past the last (padding) repeat it: no result depends on them.
    Value* last = b_.CreateSub(e_.extent(product_.sizes.f), number(1));
    Value* whole = b_.CreateAdd(k, b_.CreateAnd(b_.CreateSub(k_stop, k), number(-8)));
    e_.loop(number(0), number(panels.columns), 8, [&](Value* j) {
      std::vector<Value*> columns;
      for (int n = 0; n < 8; ++n) columns.push_back(after(right_first_, least(b_.CreateAdd(b_.CreateAdd(column, j), number(n)), last)));
      e_.loop(k, whole, 8, [&](Value* i) {
        std::vector<Value*> square;
        for (Value* from : columns) square.push_back(b_.CreateAlignedLoad(e_.memory_type(DType::f32, 8), e_.address(right, from, i), llvm::Align(4)));
        square = transposed(std::move(square));
        for (int n = 0; n < 8; ++n)
          b_.CreateAlignedStore(square[static_cast<std::size_t>(n)], floats_at(to, b_.CreateAdd(b_.CreateSub(i, k), number(n)), panels.columns, j),
                                llvm::Align(4));
      });
      e_.loop(whole, k_stop, 1, [&](Value* i) {
        for (int n = 0; n < 8; ++n) {
          Value* x = b_.CreateLoad(b_.getFloatTy(), e_.address(right, columns[static_cast<std::size_t>(n)], i));
          b_.CreateStore(x, floats_at(to, b_.CreateSub(i, k), panels.columns, b_.CreateAdd(j, number(n))));
        }
      });
    });
  }

  // ---- passes, panels, tiles ----
  void for_each_panel(const std::function<void(const Panels&, Value*)>& body) {
    for (const Panels& panels : plan_.panels) {
      const auto each = [&](Value* column) { body(panels, column); };
      Value *first = number(panels.column), *last = number(panels.column + panels.count * panels.columns);
      if (has_columns_) e_.loop(most(first, first_column()), least(last, last_column()), panels.columns, each);
      else if (panels.count == 1) each(first);
      else e_.loop(first, last, panels.columns, each);
    }
  }

  void pass(Value* k, Value* k_stop) {
    left_->begin_pass(k, k_stop);
    for_each_panel([&](const Panels& panels, Value* column) { panel(panels, column, k, k_stop); });
  }

  void panel(const Panels& panels, Value* column, Value* k, Value* k_stop) {
    const ValueId right = e_.value_of(product_.right);
    switch (plan_.right) {
      case ProductPlan::Right::in_place:
        return tiles(panels, column, k, k_stop, e_.address(right, after(right_first_, k), column), number(right_stride()));
      case ProductPlan::Right::copied:
        copy_transposed(panels, column, k, k_stop, panel_);
        return tiles(panels, column, k, k_stop, panel_, number(panels.columns));
      case ProductPlan::Right::packed:
        break;
    }
    Value *b = packed_at(panels, column, k), *ldb = number(panels.columns);
    if (!op_.transpose_b && !product_.of_windows()) {
      b = b_.CreateSelect(reads_packed(), b, e_.address(right, k, column));
      ldb = b_.CreateSelect(reads_packed(), ldb, number(right_stride()));
    }
    tiles(panels, column, k, k_stop, b, ldb);
  }

  Value* result_at(Value* row, Value* column) {
    if (product_.leading) return e_.address(e_.memory(Memory::staging), b_.CreateSub(row, begin_), column);
    if (!slot_row_) return e_.address(e_.memory(Memory::collected), row, column);
    return e_.address(e_.memory(Memory::slots), b_.CreateAdd(slot_row_, row), column);
  }

  void tiles(const Panels& panels, Value* column, Value* k, Value* k_stop, Value* b, Value* ldb) {
    const auto tile = [&](Value* row, unsigned rows) {
      llvm::Function* function = tile_function(e_.context(), {.widths = panels.widths,
                                                              .rows = rows,
                                                              .ldc = product_.result_layout.stride.factor(),
                                                              .walk = left_->walk(),
                                                              .lda = left_->stride(),
                                                              .accumulate = plan_.k_block != 0});
      std::vector<Value*> arguments{result_at(row, column), b, ldb, b_.CreateSub(k_stop, k), b_.CreateSub(k, chain_)};
      left_->add_to(arguments, row, rows, k, k_stop);
      b_.CreateCall(function, arguments);
      if (op_.transpose_a && plan_.k_block && !product_.leading) {
        if (panels.column == 0 && !product_.run) left_->fetch_share(row, panels.rows, k_stop, k_end_, plan_.k_block);
        if (plan_.right == ProductPlan::Right::in_place) fetch_next_panel(panels, column, row, k, k_stop);
      }
      if (fetches_packed()) fetch_next_packed(panels, column, row, k, k_stop);
      if (plan_.one_pass()) e_.store_results({row, least(b_.CreateAdd(row, number(rows)), end_)});
    };
    const auto whole_tile = [&](Value* row) { tile(row, panels.rows); };
    if (reads_much_again()) {
      Value *rest = b_.CreateURem(b_.CreateSub(end_, begin_), number(panels.rows)), *row = b_.CreateSub(end_, rest);
      e_.loop(begin_, row, panels.rows, whole_tile);
      for (unsigned rows = 1, before = 0; before < panels.rows; before = std::exchange(rows, std::min(2 * rows, panels.rows)))
        e_.when(b_.CreateAnd(b_.CreateICmpSGT(rest, number(before)), b_.CreateICmpSLE(rest, number(rows))), [&] { tile(row, rows); });
      return;
    }
    if (!slot_row_ && !product_.of_windows()) {
      if (takes_shorter_tiles(product_, panels.rows)) return tiles_of_any_rows(panels.rows, tile);
      return e_.loop(begin_, end_, panels.rows, whole_tile);
    }
    // Behind the rows of a piece, the slot has those of the next; behind windows are those of another chunk.
    Value *rest = b_.CreateURem(b_.CreateSub(end_, begin_), number(panels.rows)), *row = b_.CreateSub(end_, rest);
    e_.loop(begin_, row, panels.rows, whole_tile);
    for (const std::int64_t rows : rests(panels.rows))
      if (rows) e_.when(b_.CreateICmpEQ(rest, number(rows)), [&] { tile(row, static_cast<unsigned>(rows)); });
  }

  /// Tiles for any number of rows, of which as few as may be are computed in vain (takes_shorter_tiles).
  void tiles_of_any_rows(unsigned rows, const std::function<void(Value*, unsigned)>& tile) {
    const auto tiles_of = [&](Value* from, Value* to, unsigned each) { e_.loop(from, to, each, [&](Value* row) { tile(row, each); }); };
    Value *size = number(rows), *count = b_.CreateSub(end_, begin_), *first = begin_;
    Value* missing = b_.CreateURem(b_.CreateSub(size, b_.CreateURem(count, size)), size);
    if (const unsigned few = few_rows(rows); few < rows - 1) {
      Value* tiles = most(b_.CreateUDiv(b_.CreateAdd(count, missing), size), number(1));
      first = b_.CreateSelect(b_.CreateICmpSLE(count, b_.CreateMul(tiles, number(few))), end_, begin_);
      tiles_of(begin_, first, few);
    }
    Value* row = most(first, b_.CreateSub(end_, b_.CreateMul(missing, number(rows - 1))));
    tiles_of(first, row, rows);
    tiles_of(row, end_, rows - 1);
  }

  /// How many rows may be left behind whole tiles.
  std::set<std::int64_t> rests(std::int64_t tile) const {
    if (slot_row_) return {parts_.piece_rows % tile, (product_.sizes.m.factor() - (parts_.pieces - 1) * parts_.piece_rows) % tile};
    std::set<std::int64_t> all;
    const ConvolutionPlan plan = plan_windows(e_.graph(), e_.kernel().anchor);
    const WindowBlock block = plan_window_block(plan);
    const bool whole = block.rows == plan.h.windows;
    const std::int64_t each = plan.w.windows * (whole ? block.rows : 1);
    for (std::int64_t count = 1; count <= (whole ? block.images : block.rows); ++count) all.insert(count * each % tile);
    return all;
  }

  /// Prefetches a tile's share of what the next panel reads in place: its rows lie apart, and tiles are too short to wait for them.
  void fetch_next_panel(const Panels& panels, Value* column, Value* row, Value* k, Value* k_stop) {
    Value *next = b_.CreateAdd(column, number(panels.columns)), *is_last = b_.CreateICmpSGE(next, number(right_stride()));
    next = b_.CreateSelect(is_last, number(0), next);
    share(row, panels.rows, {begin_, end_}, b_.CreateSelect(is_last, k_stop, k), plan_.k_block, k_end_, [&](Value* i) {
      Value* piece = e_.address(e_.value_of(product_.right), i, next);
      for (std::int64_t line = 0; line < panels.columns; line += 16)
        fetch(b_.CreateConstGEP1_64(b_.getFloatTy(), piece, static_cast<std::uint64_t>(line)));
    });
  }

  /// Whether passes are so short that the hardware prefetcher, which begins anew in each panel and page, is late.
  bool fetches_packed() const {
    return product_.of_windows() || (op_.transpose_a && plan_.right == ProductPlan::Right::packed && plan_.k_block && product_.sizes.m.is_fixed());
  }

  /// Prefetches a tile's share of what the next panel has packed, or the first one of the next pass.
  void fetch_next_packed(const Panels& panels, Value* column, Value* row, Value* k, Value* k_stop) {
    Value* next = b_.CreateAdd(column, number(panels.columns));
    Value* is_last = b_.CreateICmpSGE(next, has_columns_ ? last_column() : number(product_.result_layout.stride.factor()));
    Value* first = has_columns_ ? first_column() : number(0);
    Value* from_k = b_.CreateSelect(is_last, b_.CreateSelect(b_.CreateICmpSGE(k_stop, k_end_), k_begin_, k_stop), k);
    Value* from = packed_at(panels, b_.CreateSelect(is_last, first, next), from_k);
    Value* lines = b_.CreateUDiv(b_.CreateAdd(b_.CreateMul(b_.CreateSub(k_stop, k), number(panels.columns)), number(15)), number(16));
    share(row, panels.rows, {begin_, end_}, number(0), divide_up(plan_.k_block * panels.columns, 16), lines,
          [&](Value* line) { fetch(b_.CreateGEP(b_.getFloatTy(), from, {b_.CreateMul(line, number(16))})); });
  }

  const Product product_;
  const ir::Matmul op_ = product_.op;
  const bool divided_ = is_divided(e_.kernel());
  /// Whether a call may have some of the columns of its rows.
  const bool has_columns_ = e_.kernel().cut.along == Cut::Along::columns && (divided_ || product_.of_windows());
  ProductPlan plan_;
  std::optional<LeftOperand> left_;
  llvm::AllocaInst* panel_ = nullptr;  ///< the block of b that a chunk copies
  const ProductParts parts_ = parts_of(e_.graph(), e_.kernel().anchor);
  Value *begin_ = nullptr, *end_ = nullptr;
  Value *k_begin_ = nullptr, *k_end_ = nullptr, *k_all_ = nullptr;  ///< contracted indices: of the chunk, and all
  Value* piece_ = nullptr;                                          ///< of the call's, if they are emitted one by one
  Value* chain_ = nullptr;                                          ///< the first contracted index of the chain
  Value* slot_row_ = nullptr;                                       ///< of a product in parts: the slot's first row
  Value* right_first_ = nullptr;                                    ///< of several products: the first row of the right matrix
};

}  // namespace

bool sums_of_call(const Product& product, const Kernel& kernel) { return kernel.is<Kernel::Partial>() || product.leading; }

void emit_product(Emitter& e) { ProductEmitter(e).emit(); }
void emit_product_pack(Emitter& e) { ProductEmitter(e).emit_pack(); }

}  // namespace sinter::codegen
