// Products: tiles of the result in registers, as planned in codegen/kernels/product_plan.h, then the epilogue over the finished rows,
// while they are in the first-level cache.
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/index.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_plain.h"
#include "codegen/kernels/product_tile.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class ProductEmitter {
 public:
  explicit ProductEmitter(Emitter& emitter) : e_(emitter), b_(emitter.builder()), product_(product_of(emitter.graph(), emitter.kernel().anchor)) {}

  void emit() {
    k_end_ = e_.extent(product_.sizes.k);
    plan_ = plan_product(product_, e_.kernel().packed != no_value, divided_, e_.unit());
    e_.note(to_text(plan_, product_));
    choose_left();
    if (product_.leading) {
      const auto [first, last] = e_.indices(product_.leading);
      return e_.loop(first, last, 1, [&](Value* matrix) {
        set_rows(b_.CreateMul(matrix, e_.extent(product_.sizes.m)), b_.CreateMul(b_.CreateAdd(matrix, number(1)), e_.extent(product_.sizes.m)));
        left_first_ = b_.CreateMul(matrix, k_end_);
        right_first_ = b_.CreateMul(matrix, op_.transpose_b ? e_.extent(product_.sizes.f) : k_end_);
        emit_rows();
      });
    }
    const Rows rows = e_.rows();
    set_rows(rows.first, rows.last);
    if (e_.kernel().piece != Piece::columns || op_.transpose_b) return emit_rows();
    Value* single = b_.CreateICmpEQ(b_.CreateSub(end_, begin_), number(1));
    e_.when(single, [&] { emit_row(); });
    e_.when(b_.CreateNot(single), [&] { emit_rows(); });
  }

  /// Rows [begin, end) of the right operand, panel after panel.
  void emit_pack() {
    k_end_ = e_.extent(product_.sizes.k);
    plan_ = plan_product(product_, true, divided_, e_.unit());
    const Rows rows = e_.rows();
    e_.when(reads_packed(), [&] {
      for_each_panel(
          [&](const Panels& panels, Value* column) { copy(panels, column, rows.first, rows.last, packed_at(panels, column, rows.first)); });
    });
  }

 private:
  void set_rows(Value* first, Value* last) {
    begin_ = first;
    end_ = last;
    last_ = b_.CreateSub(end_, number(1));
  }

  void emit_rows() {
    if (plan_.right == ProductPlan::Right::copied) panel_ = memory(most_k() * plan_.widest(), "panel");
    if (plan_.k_block == 0) pass(number(0), k_end_);
    else e_.loop(number(0), k_end_, plan_.k_block, [&](Value* k) { pass(k, least(b_.CreateAdd(k, number(plan_.k_block)), k_end_)); });
    if (divided_) e_.loop(begin_, end_, 1, [&](Value* row) { e_.store_results_of_row(row, first_column(), last_column()); });
    else if (!plan_.one_pass()) e_.store_results({begin_, end_});
  }

  // ---- a single row ----
  /// The kernel's pieces of one row: b is read once, in place, a few adjacent vectors of each of its rows.
  void emit_row() {
    const std::int64_t stride = right_stride(), each = std::min<std::int64_t>(piece_columns, most_row_vectors * e_.unit().lanes),
                       whole = stride / each * each;
    Value *first = first_column(), *last = last_column();
    const std::int64_t block = kind_ == Left::converted ? most_k() : 0;
    const auto columns = [&](Value* column, std::int64_t count, Value* k, Value* k_stop, Value* left) {
      llvm::Function* tile = tile_function(
          e_.context(),
          {.widths = widths_of(count, e_.unit().lanes), .rows = 1, .ldc = 0, .walk = Tile::Walk::rows, .lda = 0, .accumulate = block != 0});
      b_.CreateCall(tile, {e_.address(e_.kernel().product, begin_, column), e_.address(e_.value_of(product_.right), k, column),
                           number(right_stride()), b_.CreateSub(k_stop, k), k, left});
    };
    const auto pass = [&](Value* k, Value* k_stop) {
      Value* left = kind_ == Left::converted ? static_cast<Value*>(copy_) : left_at(begin_, k);
      if (kind_ == Left::converted) convert(begin_, k, k_stop, copy_);
      e_.loop(first, least(last, number(whole)), each, [&](Value* column) { columns(column, each, k, k_stop, left); });
      if (whole < stride) e_.when(b_.CreateICmpEQ(last, number(stride)), [&] { columns(number(whole), stride - whole, k, k_stop, left); });
    };
    if (!block) pass(number(0), k_end_);
    else e_.loop(number(0), k_end_, block, [&](Value* k) { pass(k, least(b_.CreateAdd(k, number(block)), k_end_)); });
    e_.store_results_of_row(begin_, first, last);
  }

  // ---- helpers ----
  /// The columns of the call's pieces.
  Value* first_column() { return b_.CreateMul(e_.piece_begin(), number(piece_columns)); }
  Value* last_column() { return least(b_.CreateMul(e_.piece_end(), number(piece_columns)), number(product_.result_layout.stride.factor())); }
  Value* number(std::int64_t n) const { return e_.number(n); }
  Value* after(Value* first, Value* row) { return first ? b_.CreateAdd(first, row) : row; }
  Value* least(Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  Value* floats_at(Value* base, Value* row, std::int64_t stride, Value* offset) {
    return b_.CreateInBoundsGEP(b_.getFloatTy(), base, {b_.CreateAdd(b_.CreateMul(row, number(stride)), offset)});
  }
  /// The most contracted indices of a pass, if known.
  std::int64_t most_k() const { return plan_.k_block ? plan_.k_block : product_.sizes.k.is_fixed() ? product_.sizes.k.factor() : 0; }
  std::int64_t right_stride() const { return product_.right_layout.stride.factor(); }
  llvm::AllocaInst* memory(std::int64_t floats, const char* name) {
    return e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(floats)), name, 64);
  }
  void fetch(Value* where) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {where, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
  }

  // ---- the left operand ----
  /// In place; rows that an index picks from a leaf; or such rows with arithmetic on them, converted into the kernel's own memory.
  enum class Left : std::uint8_t { stored, picked, converted };

  void choose_left() {
    picked_from_ = ir::picked_rows(e_.graph(), left_);
    if (!ir::is_row_view(e_.graph(), left_)) kind_ = Left::stored;
    else kind_ = left_ == picked_from_ && e_.type_of(left_).dtype == DType::f32 ? Left::picked : Left::converted;
    if (op_.transpose_a && kind_ == Left::picked)
      list_ = e_.variable(llvm::ArrayType::get(b_.getPtrTy(), static_cast<std::uint64_t>(most_k())), "rows", 64);
    if (kind_ != Left::converted) return;
    // Transposed: the chunk's columns of a block of rows. Else: the rows of a tile. Whole vectors in each row.
    const Loop& loop = e_.context().schedule.phases[e_.kernel().phase].loops[e_.kernel().loop];
    const std::int64_t columns = op_.transpose_a ? loop.chunk_units(1) : most_k();
    copy_stride_ = (columns + lanes - 1) / lanes * lanes;
    copy_ = memory(copy_stride_ * (op_.transpose_a ? most_k() : most_tile_rows) + most_tile_rows, "left");
  }

  /// Element of the left operand in place, or of the leaf that its rows are picked from.
  Value* left_at(Value* row, Value* column) {
    if (kind_ == Left::stored) return e_.address(e_.value_of(left_), row, column);
    const ir::Node& gather = e_.graph().node(picked_from_);
    const ValueId table = e_.value_of(gather.inputs[0]);
    return e_.address(table, checked_index(e_, picked_from_, element_of(e_, gather.inputs[1], row), table_rows(e_, table)), column);
  }

  /// Columns [column, stop) of a row, converted to floats at `to`.
  void convert(Value* row, Value* column, Value* stop, Value* to) {
    const DType dtype = e_.type_of(picked_from_).dtype;
    const Shape& shape = e_.type_of(left_).shape;
    Value* from = left_at(row, column);
    e_.loop(number(0), b_.CreateSub(stop, column), lanes, [&](Value* j) {
      Memo memo;
      memo[picked_from_] = e_.load(b_.CreateInBoundsGEP(e_.memory_type(dtype, 1), from, {j}), dtype, lanes, false);
      const Vec x = e_.evaluate(left_, shape, {row, b_.CreateAdd(column, j), lanes, lanes}, memo);
      b_.CreateAlignedStore(x.value, b_.CreateInBoundsGEP(b_.getFloatTy(), to, {j}), llvm::Align(4));
    });
  }

  /// The preparation of a pass over [k, k_stop) of a transposed left operand.
  void begin_transposed(Value* k, Value* k_stop) {
    if (kind_ == Left::stored) return;
    e_.loop(k, k_stop, 1, [&](Value* i) {
      Value* place = b_.CreateSub(i, k);
      if (kind_ == Left::picked) b_.CreateStore(left_at(i, number(0)), b_.CreateInBoundsGEP(b_.getPtrTy(), list_, {place}));
      else convert(i, begin_, end_, floats_at(copy_, place, copy_stride_, number(0)));
    });
  }

  /// The rows of the next pass over a batch are scattered, in pieces too short for the hardware prefetcher. Each tile prefetches its share
  /// of them, so that the prefetches overlap.
  void fetch_share(const Panels& panels, Value* row, Value* k_stop) {
    const DType dtype = kind_ == Left::stored ? DType::f32 : e_.type_of(picked_from_).dtype;
    const auto line = static_cast<std::int64_t>(64 / size_of(dtype));
    Value* tiles = b_.CreateUDiv(b_.CreateAdd(b_.CreateSub(end_, begin_), number(panels.rows - 1)), number(panels.rows));
    Value* share = b_.CreateUDiv(b_.CreateAdd(number(plan_.k_block - 1), tiles), tiles);
    Value* from = b_.CreateAdd(k_stop, b_.CreateMul(b_.CreateUDiv(b_.CreateSub(row, begin_), number(panels.rows)), share));
    Value* stop = least(b_.CreateAdd(k_stop, number(plan_.k_block)), k_end_);
    e_.loop(from, least(b_.CreateAdd(from, share), stop), 1, [&](Value* i) {
      Value* piece = left_at(i, begin_);
      e_.loop(number(0), b_.CreateSub(end_, begin_), line,
              [&](Value* column) { fetch(b_.CreateInBoundsGEP(e_.memory_type(dtype, 1), piece, {column})); });
    });
  }

  /// Prefetches the start of the next tile's picked rows; the hardware prefetcher continues from there.
  void fetch_next_rows(Value* row, unsigned rows, Value* k) {
    const auto bytes = product_.left_layout.stride.factor() * static_cast<std::int64_t>(size_of(e_.type_of(picked_from_).dtype));
    for (unsigned i = 0; i < rows; ++i) {
      Value* piece = left_at(least(b_.CreateAdd(row, number(rows + i), "", true, true), last_), k);
      for (std::int64_t line = 0; line < std::min<std::int64_t>(16, (bytes + 63) / 64); ++line)
        fetch(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), piece, static_cast<std::uint64_t>(64 * line)));
    }
  }

  Tile::Walk walk() const {
    if (!op_.transpose_a) return Tile::Walk::rows;
    return kind_ == Left::picked ? Tile::Walk::list : Tile::Walk::columns;
  }

  /// The left operand's arguments of the tile of rows that starts at `row`.
  void add_left(std::vector<Value*>& arguments, Value* row, unsigned rows, Value* k, Value* k_stop) {
    if (op_.transpose_a) {
      if (kind_ == Left::picked) arguments.insert(arguments.end(), {list_, row});
      else if (kind_ == Left::converted) arguments.push_back(floats_at(copy_, number(0), copy_stride_, b_.CreateSub(row, begin_)));
      else arguments.push_back(left_at(after(left_first_, k), left_first_ ? b_.CreateSub(row, begin_) : row));
      return;
    }
    // Rows past the last are computed from the last and written to memory that is never read.
    for (unsigned i = 0; i < rows; ++i) {
      Value* mine = least(b_.CreateAdd(row, number(i), "", true, true), last_);
      if (kind_ == Left::converted) {
        arguments.push_back(floats_at(copy_, number(i), copy_stride_, number(0)));
        convert(mine, k, k_stop, arguments.back());
      } else {
        arguments.push_back(left_at(mine, k));
      }
    }
    if (kind_ != Left::stored) fetch_next_rows(row, rows, k);
  }

  // ---- the right operand ----
  /// Whether the call has enough rows: a condition at run time where their number is N and the operand could be read in place.
  Value* reads_packed() {
    const Dim m = product_.sizes.m;
    if (op_.transpose_b || m.is_fixed() || packs_for_later_calls()) return b_.getTrue();
    return b_.CreateICmpSGE(e_.extent(m), number(paying_rows));
  }

  /// A pack that later calls use is made for any number of rows of this call.
  bool packs_for_later_calls() const { return e_.kernel().role == Kernel::Role::pack && e_.context().schedule.phases[e_.kernel().phase].once; }

  Value* packed_at(const Panels& panels, Value* column, Value* k) {
    Value* panel = b_.CreateInBoundsGEP(b_.getFloatTy(), e_.pointer(e_.kernel().packed), {b_.CreateMul(column, k_end_)});
    return floats_at(panel, k, panels.columns, number(0));
  }

  /// Copies rows [k, k_stop) of the columns of a panel, contiguously, to `to`.
  void copy(const Panels& panels, Value* column, Value* k, Value* k_stop, Value* to) {
    const ValueId right = e_.value_of(product_.right);
    if (!op_.transpose_b) {
      e_.loop(k, k_stop, 1, [&](Value* i) {
        std::int64_t j = 0;
        for (const unsigned width : panels.widths) {
          Value* from = e_.address(right, after(right_first_, i), b_.CreateAdd(column, number(j)));
          Value* x = b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), from, llvm::Align(4));
          b_.CreateAlignedStore(x, floats_at(to, b_.CreateSub(i, k), panels.columns, number(j)), llvm::Align(4));
          j += width;
        }
      });
      return;
    }
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
      if (divided_ && e_.kernel().role != Kernel::Role::pack)
        e_.loop(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, first_column()), least(last, last_column()), panels.columns, each);
      else if (panels.count == 1) each(first);
      else e_.loop(first, last, panels.columns, each);
    }
  }

  void pass(Value* k, Value* k_stop) {
    if (op_.transpose_a) begin_transposed(k, k_stop);
    for_each_panel([&](const Panels& panels, Value* column) { panel(panels, column, k, k_stop); });
  }

  void panel(const Panels& panels, Value* column, Value* k, Value* k_stop) {
    const ValueId right = e_.value_of(product_.right);
    switch (plan_.right) {
      case ProductPlan::Right::in_place:
        return tiles(panels, column, k, k_stop, e_.address(right, after(right_first_, k), column), number(right_stride()));
      case ProductPlan::Right::copied:
        copy(panels, column, k, k_stop, panel_);
        return tiles(panels, column, k, k_stop, panel_, number(panels.columns));
      case ProductPlan::Right::packed:
        break;
    }
    Value *b = packed_at(panels, column, k), *ldb = number(panels.columns);
    if (!op_.transpose_b) {
      b = b_.CreateSelect(reads_packed(), b, e_.address(right, k, column));
      ldb = b_.CreateSelect(reads_packed(), ldb, number(right_stride()));
    }
    tiles(panels, column, k, k_stop, b, ldb);
  }

  Value* result_at(Value* row, Value* column) {
    if (product_.leading) return e_.address(e_.kernel().staging, b_.CreateSub(row, begin_), column);
    return e_.address(e_.kernel().product, row, column);
  }

  void tiles(const Panels& panels, Value* column, Value* k, Value* k_stop, Value* b, Value* ldb) {
    llvm::Function* tile = tile_function(e_.context(), {.widths = panels.widths,
                                                        .rows = panels.rows,
                                                        .ldc = product_.result_layout.stride.factor(),
                                                        .walk = walk(),
                                                        .lda = kind_ == Left::converted ? copy_stride_ : product_.left_layout.stride.factor(),
                                                        .accumulate = plan_.k_block != 0});
    e_.loop(begin_, end_, panels.rows, [&](Value* row) {
      std::vector<Value*> arguments{result_at(row, column), b, ldb, b_.CreateSub(k_stop, k), k};
      add_left(arguments, row, panels.rows, k, k_stop);
      b_.CreateCall(tile, arguments);
      if (op_.transpose_a && plan_.k_block && panels.column == 0 && !left_first_) fetch_share(panels, row, k_stop);
      if (!plan_.one_pass()) return;
      e_.store_results({row, least(b_.CreateAdd(row, number(panels.rows)), end_)});
    });
  }

  Emitter& e_;
  Builder& b_;
  const Product product_;
  const ir::Matmul op_ = product_.op;
  const ir::NodeId left_ = product_.left;
  const bool divided_ = divides_columns(e_.graph(), e_.kernel().anchor);
  ir::NodeId picked_from_ = ir::no_node;
  ProductPlan plan_;
  Left kind_ = Left::stored;
  std::int64_t copy_stride_ = 0;
  llvm::AllocaInst* panel_ = nullptr;  ///< the block of b that a chunk copies
  llvm::AllocaInst* list_ = nullptr;   ///< pointers to the picked rows of a pass
  llvm::AllocaInst* copy_ = nullptr;   ///< converted rows
  Value *begin_ = nullptr, *end_ = nullptr, *last_ = nullptr, *k_end_ = nullptr;
  Value *left_first_ = nullptr, *right_first_ = nullptr;  ///< of several products: the first rows of the matrices, of the left one if transposed
};

}  // namespace

void ProductKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Graph& graph = planner.graph();
  if (!ir::fits_tiles(graph, kernel.anchor)) return planner.add(std::move(kernel));
  const Product product = product_of(graph, kernel.anchor);
  if (product.leading) {  // what follows runs matrix after matrix
    plan_samples(planner, kernel);
    kernel.staging = planner.temporary({DType::f32, {product.sizes.m.factor() + most_tile_rows, product.sizes.f}}, str("product ", kernel.anchor));
    return planner.add(std::move(kernel));
  }
  plan_memory(planner, kernel);
  if (packs_right(graph, kernel.anchor)) {
    const Shape packed{product.sizes.k, product.sizes.f};
    planner.add_pack(kernel, packed, planner.domain_of(packed));
  }
  const SymbolicLayout at = symbolic_layout(kernel.shape);
  if (divides_columns(graph, kernel.anchor)) {
    kernel.piece = Piece::columns;
    kernel.pieces = divide_up(at.stride.factor(), piece_columns);
    kernel.divided = true;
  } else if (at.rows.factor() > 1) {
    planner.cut(kernel, Piece::rows, at.rows.factor());
  } else if (!product.op.transpose_b) {
    planner.cut(kernel, Piece::columns, divide_up(at.stride.factor(), piece_columns));
  }
  planner.add(std::move(kernel));
}

void ProductKernel::emit(Emitter& e) const {
  if (!ir::fits_tiles(e.graph(), e.kernel().anchor)) return e.store_results(e.rows());
  ProductEmitter emitter(e);
  if (e.kernel().role == Kernel::Role::pack) emitter.emit_pack();
  else emitter.emit();
}

Vec ProductKernel::element(Emitter& e, ir::NodeId anchor, const Site& site) const {
  if (e.kernel().staging != no_value) {
    Value* row = e.builder().CreateURem(site.row, e.extent(product_of(e.graph(), anchor).sizes.m));
    return e.load(e.address(e.kernel().staging, row, site.last), DType::f32, site.width);
  }
  const bool in_tiles = ir::fits_tiles(e.graph(), anchor);
  const Vec x = in_tiles ? CollectedKernel::element(e, anchor, site) : product_at(e, product_of(e.graph(), anchor), site);
  const std::vector<ir::NodeId>& operands = e.graph().node(anchor).inputs;
  return operands.size() == 3 ? x + e.load_operand(e.value_of(operands[2]), e.kernel().shape, site) : x;  // a dense has a bias
}

}  // namespace sinter::codegen
