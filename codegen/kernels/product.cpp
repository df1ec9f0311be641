// Products: tiles of the result in registers, as codegen/kernels/product_plan.h lays them out, then the epilogue over the rows that are finished,
// while they are in the first-level cache.
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "codegen/emit/kernel_emitter.h"
#include "codegen/kernels/product_tile.h"
#include "ir/kernel.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

class ProductEmitter {
 public:
  explicit ProductEmitter(KernelEmitter& kernel)
      : e_(kernel),
        b_(kernel.builder_),
        anchor_(kernel.context_.graph.node(kernel.kernel_.anchor)),
        left_(anchor_.inputs[0]),
        left_layout_(symbolic_layout(e_.type_of(left_).shape)),
        right_layout_(symbolic_layout(e_.type_of(anchor_.inputs[1]).shape)),
        result_layout_(symbolic_layout(kernel.kernel_.shape)) {
    if (const auto* matmul = std::get_if<ir::Matmul>(&anchor_.op)) op_ = *matmul;
    sizes_ = ir::product_extents(op_, e_.type_of(left_).shape, e_.type_of(anchor_.inputs[1]).shape);
  }

  void emit() {
    begin_ = e_.rows_begin(e_.kernel_.shape);
    end_ = e_.rows_end(e_.kernel_.shape);
    if (!fits_tiles()) {
      call();
      e_.emit_pointwise();
      return;
    }
    last_ = b_.CreateSub(end_, number(1));
    k_end_ = e_.extent(sizes_.k);
    plan_ = plan_product(op_, sizes_, result_layout_.stride.factor(), e_.context_.unit);
    e_.context_.notes.push_back(str("kernel ", e_.kernel_.group, ": ", to_text(plan_, sizes_)));
    choose_left();
    const std::int64_t most_k = plan_.k_block ? plan_.k_block : sizes_.k.is_fixed() ? sizes_.k.factor() : 0;
    if (plan_.copy_rows) panel_ = memory(most_k * plan_.widest(), "panel");
    if (plan_.k_block == 0) pass(number(0), k_end_);
    else e_.loop(number(0), k_end_, plan_.k_block, [&](Value* k) { pass(k, least(b_.CreateAdd(k, number(plan_.k_block)), k_end_)); });
    if (!plan_.one_pass()) e_.emit_pointwise();
  }

 private:
  // ---- words ----
  Value* number(std::int64_t n) const { return e_.constant(n); }
  Value* least(Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  Value* floats_at(Value* base, Value* row, std::int64_t stride, Value* offset) {
    return b_.CreateInBoundsGEP(b_.getFloatTy(), base, {b_.CreateAdd(b_.CreateMul(row, number(stride)), offset)});
  }
  llvm::AllocaInst* memory(std::int64_t floats, const char* name) {
    return e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(floats)), name, 64);
  }
  void fetch(Value* where) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {where, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
  }

  // ---- products that tiles don't serve ----
  /// All but products whose columns are the batch, and single columns.
  bool fits_tiles() const {
    const bool flat = KernelEmitter::is_flat(e_.type_of(left_).shape) || KernelEmitter::is_flat(e_.type_of(anchor_.inputs[1]).shape) ||
                      KernelEmitter::is_flat(e_.kernel_.shape);
    return !flat && left_layout_.stride.is_fixed() && right_layout_.stride.is_fixed() && result_layout_.stride.is_fixed() && sizes_.f != Dim(1);
  }

  /// One call of the launcher's product.
  void call() {
    const ValueId a = e_.value_of(left_), b = e_.value_of(anchor_.inputs[1]);
    // Matrices of one column are flat in memory, with a stride of 1: their addresses count rows in `last`.
    const auto at = [&](ValueId value, Value* row, Value* column) {
      return KernelEmitter::is_flat(e_.context_.schedule.values[value].type.shape) ? e_.address(value, number(0), b_.CreateAdd(row, column))
                                                                                   : e_.address(value, row, column);
    };
    Value* call = e_.variable(llvm::ArrayType::get(b_.getInt8Ty(), sizeof(GemmCall)), "call", 8);
    const auto set = [&](std::size_t offset, Value* value) { b_.CreateStore(value, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), call, offset)); };
    set(offsetof(GemmCall, a), op_.transpose_a ? at(a, number(0), begin_) : at(a, begin_, number(0)));
    set(offsetof(GemmCall, b), at(b, number(0), number(0)));
    set(offsetof(GemmCall, c), at(e_.kernel_.product, begin_, number(0)));
    set(offsetof(GemmCall, m), b_.CreateSub(end_, begin_));
    set(offsetof(GemmCall, k), e_.extent(sizes_.k));
    set(offsetof(GemmCall, f), e_.extent(sizes_.f));
    set(offsetof(GemmCall, lda), e_.extent(left_layout_.stride));
    set(offsetof(GemmCall, ldb), e_.extent(right_layout_.stride));
    set(offsetof(GemmCall, ldc), e_.extent(result_layout_.stride));
    set(offsetof(GemmCall, transpose_a), b_.getInt32(op_.transpose_a));
    set(offsetof(GemmCall, transpose_b), b_.getInt32(op_.transpose_b));
    Value* gemm = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), e_.ctx_, offsetof(StepContext, gemm)));
    b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false), gemm, {call});
  }

  // ---- the left operand ----
  /// As it lies in memory; rows that an index picks from a leaf; or such rows with arithmetic on them, converted into memory of the kernel's own.
  enum class Left : std::uint8_t { stored, picked, converted };

  void choose_left() {
    picked_from_ = ir::picked_rows(e_.context_.graph, left_);
    if (!ir::is_row_view(e_.context_.graph, left_)) kind_ = Left::stored;
    else kind_ = left_ == picked_from_ && e_.type_of(left_).dtype == DType::f32 ? Left::picked : Left::converted;
    const std::int64_t most_k = plan_.k_block ? plan_.k_block : sizes_.k.is_fixed() ? sizes_.k.factor() : 0;
    if (op_.transpose_a && kind_ == Left::picked)
      list_ = e_.variable(llvm::ArrayType::get(b_.getPtrTy(), static_cast<std::uint64_t>(most_k)), "rows", 64);
    if (kind_ != Left::converted) return;
    // Transposed: the chunk's columns of a block of rows. Else: the rows of a tile. Whole vectors in each row.
    const Loop& loop = e_.context_.schedule.phases[e_.kernel_.phase].loops[e_.kernel_.loop];
    const std::int64_t columns = op_.transpose_a ? loop.chunk_units(1) : most_k;
    copy_stride_ = (columns + lanes - 1) / lanes * lanes;
    copy_ = memory(copy_stride_ * (op_.transpose_a ? most_k : most_tile_rows) + most_tile_rows, "left");
  }

  /// Element of the left operand where it lies, or of the leaf that its rows are picked from.
  Value* left_at(Value* row, Value* column) {
    if (kind_ == Left::stored) return e_.address(e_.value_of(left_), row, column);
    const ir::Node& gather = e_.context_.graph.node(picked_from_);
    const ValueId table = e_.value_of(gather.inputs[0]);
    return e_.address(table, e_.checked_index(picked_from_, e_.value_of(gather.inputs[1]), row, e_.table_rows(table)).value, column);
  }

  /// Columns [column, stop) of a row, converted to floats at `to`.
  void convert(Value* row, Value* column, Value* stop, Value* to) {
    const DType dtype = e_.type_of(picked_from_).dtype;
    const Shape& shape = e_.type_of(left_).shape;
    Value* from = left_at(row, column);
    e_.loop(number(0), b_.CreateSub(stop, column), lanes, [&](Value* j) {
      KernelEmitter::Memo memo;
      memo[picked_from_] = e_.load(b_.CreateInBoundsGEP(e_.memory_type(dtype, 1), from, {j}), dtype, lanes, false);
      const Vec x = e_.evaluate(left_, shape, {row, b_.CreateAdd(column, j), lanes, lanes}, memo);
      b_.CreateAlignedStore(x.value, b_.CreateInBoundsGEP(b_.getFloatTy(), to, {j}), llvm::Align(4));
    });
  }

  /// What a pass over [k, k_stop) of a transposed left operand needs first.
  void begin_transposed(Value* k, Value* k_stop) {
    if (kind_ == Left::stored) return;
    e_.loop(k, k_stop, 1, [&](Value* i) {
      Value* place = b_.CreateSub(i, k);
      if (kind_ == Left::picked) b_.CreateStore(left_at(i, number(0)), b_.CreateInBoundsGEP(b_.getPtrTy(), list_, {place}));
      else convert(i, begin_, end_, floats_at(copy_, place, copy_stride_, number(0)));
    });
  }

  /// The rows of the next pass over a batch come from far away, in pieces too short for the processor to see a pattern. Each tile fetches its share
  /// of them, so that the fetches don't wait for each other.
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

  /// Where the next tile's picked rows begin; the processor sees the pattern from there on.
  void fetch_next_rows(Value* row, unsigned rows, Value* k) {
    const auto bytes = left_layout_.stride.factor() * static_cast<std::int64_t>(size_of(e_.type_of(picked_from_).dtype));
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

  /// The left operand's arguments of the tile of rows from `row` on.
  void add_left(std::vector<Value*>& arguments, Value* row, unsigned rows, Value* k, Value* k_stop) {
    if (op_.transpose_a) {
      if (kind_ == Left::picked) arguments.insert(arguments.end(), {list_, row});
      else arguments.push_back(kind_ == Left::stored ? left_at(k, row) : floats_at(copy_, number(0), copy_stride_, b_.CreateSub(row, begin_)));
      return;
    }
    // Rows past the last are computed from the last and written to where nobody reads.
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

  // ---- passes, panels, tiles ----
  void pass(Value* k, Value* k_stop) {
    if (op_.transpose_a) begin_transposed(k, k_stop);
    for (const Panels& panels : plan_.panels)
      if (panels.count == 1) panel(panels, number(panels.column), k, k_stop);
      else
        e_.loop(number(0), number(panels.count * panels.columns), panels.columns,
                [&](Value* from) { panel(panels, b_.CreateAdd(from, number(panels.column)), k, k_stop); });
  }

  void panel(const Panels& panels, Value* column, Value* k, Value* k_stop) {
    const ValueId right = e_.value_of(anchor_.inputs[1]);
    const std::int64_t ldb = right_layout_.stride.factor();
    Value* in_place = op_.transpose_b ? e_.address(right, column, k) : e_.address(right, k, column);
    if (!plan_.copy_rows) return tiles(panels, column, k, k_stop, in_place, number(ldb));
    if (plan_.copy_rows == 1) {
      copy_panel(panels, in_place, b_.CreateSub(k_stop, k), column);
      return tiles(panels, column, k, k_stop, panel_, number(panels.columns));
    }
    Value* pays = b_.CreateICmpSGE(b_.CreateSub(end_, begin_), number(plan_.copy_rows));
    e_.when(pays, [&](Value*) { copy_panel(panels, in_place, b_.CreateSub(k_stop, k), column); });
    tiles(panels, column, k, k_stop, b_.CreateSelect(pays, panel_, in_place), b_.CreateSelect(pays, number(panels.columns), number(ldb)));
  }

  /// Rows of the block of b of one panel, one after the other.
  void copy_panel(const Panels& panels, Value* from, Value* k_count, Value* column) {
    const std::int64_t ldb = right_layout_.stride.factor();
    if (op_.transpose_b) {
      // Columns past the last (pads) are left as they are: no result depends on them.
      Value* columns = least(number(panels.columns), b_.CreateSub(e_.extent(sizes_.f), column));
      e_.loop(number(0), columns, 1, [&](Value* j) {
        e_.loop(number(0), k_count, 1, [&](Value* k) {
          b_.CreateStore(b_.CreateLoad(b_.getFloatTy(), floats_at(from, j, ldb, k)), floats_at(panel_, k, panels.columns, j));
        });
      });
      return;
    }
    e_.loop(number(0), k_count, 1, [&](Value* k) {
      std::int64_t j = 0;
      for (const unsigned width : panels.widths) {
        Value* x = b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), floats_at(from, k, ldb, number(j)), llvm::Align(4));
        b_.CreateAlignedStore(x, floats_at(panel_, k, panels.columns, number(j)), llvm::Align(4));
        j += width;
      }
    });
  }

  void tiles(const Panels& panels, Value* column, Value* k, Value* k_stop, Value* b, Value* ldb) {
    llvm::Function* tile = tile_function(e_.context_, {.widths = panels.widths,
                                                       .rows = panels.rows,
                                                       .ldc = result_layout_.stride.factor(),
                                                       .walk = walk(),
                                                       .lda = kind_ == Left::converted ? copy_stride_ : left_layout_.stride.factor(),
                                                       .accumulate = plan_.k_block != 0});
    e_.loop(begin_, end_, panels.rows, [&](Value* row) {
      std::vector<Value*> arguments{e_.address(e_.kernel_.product, row, column), b, ldb, b_.CreateSub(k_stop, k), k};
      add_left(arguments, row, panels.rows, k, k_stop);
      b_.CreateCall(tile, arguments);
      if (op_.transpose_a && plan_.k_block && panels.column == 0) fetch_share(panels, row, k_stop);
      if (!plan_.one_pass()) return;
      e_.for_each_site(e_.kernel_.shape, row, least(b_.CreateAdd(row, number(panels.rows)), end_), false, [&](const Site& site) {
        KernelEmitter::Memo memo;
        e_.store_results(e_.kernel_.shape, site, memo);
      });
    });
  }

  KernelEmitter& e_;
  Builder& b_;
  const ir::Node& anchor_;
  ir::NodeId left_, picked_from_ = ir::no_node;
  SymbolicLayout left_layout_, right_layout_, result_layout_;
  ir::Matmul op_;
  ir::ProductExtents sizes_;
  ProductPlan plan_;
  Left kind_ = Left::stored;
  std::int64_t copy_stride_ = 0;
  llvm::AllocaInst* panel_ = nullptr;  ///< the block of b that is copied
  llvm::AllocaInst* list_ = nullptr;   ///< pointers to the picked rows of a pass
  llvm::AllocaInst* copy_ = nullptr;   ///< converted rows
  Value *begin_ = nullptr, *end_ = nullptr, *last_ = nullptr, *k_end_ = nullptr;
};

void KernelEmitter::emit_product() { ProductEmitter(*this).emit(); }

}  // namespace sinter::codegen
