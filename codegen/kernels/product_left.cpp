#include "codegen/kernels/product_left.h"

#include <algorithm>

#include "codegen/emit/index.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using llvm::Value;

LeftOperand::LeftOperand(Emitter& emitter, const Product& product, std::int64_t most_k, std::int64_t most_rows)
    : ProductWords(emitter),
      product_(product),
      node_(product.left),
      picked_from_(ir::picked_rows(emitter.graph(), product.left)),
      transposed_(product.op.transpose_a) {
  const auto make_list = [&] { list_ = e_.variable(llvm::ArrayType::get(b_.getPtrTy(), static_cast<std::uint64_t>(most_k)), "rows", 64); };
  if (product.of_transposed_windows()) {
    kind_ = Kind::tap;
    pixels_.emplace(emitter);
    make_list();
    return;
  }
  if (product.of_windows()) {
    kind_ = Kind::windows;
    windows_.emplace(emitter);
    return;
  }
  if (!ir::is_row_view(e_.graph(), node_)) return;
  kind_ = node_ == picked_from_ && e_.type_of(node_).dtype == DType::f32 ? Kind::picked : Kind::converted;
  if (transposed_ && kind_ == Kind::picked) make_list();
  if (kind_ != Kind::converted) return;
  // Transposed: the call's columns of a block of rows. Else: the rows of a tile. Whole vectors in each row.
  copy_stride_ = divide_up(transposed_ ? most_rows : most_k, lanes) * lanes;
  copy_ = memory(copy_stride_ * (transposed_ ? most_k : most_tile_rows) + most_tile_rows, "left");
}

void LeftOperand::set_rows(Value* begin, Value* end, Value* first) {
  begin_ = begin;
  end_ = end;
  last_ = b_.CreateSub(end, number(1));
  first_ = first;
}

Tile::Walk LeftOperand::walk() const {
  if (!transposed_) return Tile::Walk::rows;
  return kind_ == Kind::picked || kind_ == Kind::tap ? Tile::Walk::list : Tile::Walk::columns;
}

/// Element in place, or of the leaf that rows are picked from.
Value* LeftOperand::at(Value* row, Value* column) {
  if (kind_ == Kind::stored) return e_.address(e_.value_of(node_), row, column);
  const ir::Node& gather = e_.graph().node(picked_from_);
  const ValueId table = e_.value_of(gather.inputs[0]);
  return e_.address(table, checked_index(e_, picked_from_, element_of(e_, gather.inputs[1], row), table_rows(e_, table)), column);
}

/// Columns [column, stop) of a row, converted to floats at `to`.
void LeftOperand::convert(Value* row, Value* column, Value* stop, Value* to) {
  const DType dtype = e_.type_of(picked_from_).dtype;
  const Shape& shape = e_.type_of(node_).shape;
  Value* from = at(row, column);
  e_.loop(number(0), b_.CreateSub(stop, column), lanes, [&](Value* j) {
    Memo memo;
    memo[picked_from_] = e_.load(b_.CreateInBoundsGEP(e_.memory_type(dtype, 1), from, {j}), dtype, lanes, false);
    const Vec x = e_.evaluate(node_, shape, {row, b_.CreateAdd(column, j), lanes, lanes}, memo);
    b_.CreateAlignedStore(x.value, b_.CreateInBoundsGEP(b_.getFloatTy(), to, {j}), llvm::Align(4));
  });
}

void LeftOperand::begin_pass(Value* k, Value* k_stop) {
  if (windows_) windows_->begin_pass(k);
  if (!transposed_ || kind_ == Kind::stored) return;
  e_.loop(k, k_stop, 1, [&](Value* i) {
    Value* place = b_.CreateSub(i, k);
    if (list_) b_.CreateStore(pixels_ ? pixels_->at(tap_, i) : at(i, number(0)), b_.CreateInBoundsGEP(b_.getPtrTy(), list_, {place}));
    else convert(i, begin_, end_, floats_at(copy_, place, copy_stride_, number(0)));
  });
}

void LeftOperand::add_to(std::vector<Value*>& arguments, Value* row, unsigned rows, Value* k, Value* k_stop) {
  if (transposed_) {
    if (kind_ == Kind::picked) arguments.insert(arguments.end(), {list_, row});
    else if (kind_ == Kind::tap) arguments.insert(arguments.end(), {list_, b_.CreateURem(row, number(product_.run))});
    else if (kind_ == Kind::converted) arguments.push_back(floats_at(copy_, number(0), copy_stride_, b_.CreateSub(row, begin_)));
    else arguments.push_back(at(after(first_, k), first_ ? b_.CreateSub(row, begin_) : row));
    return;
  }
  if (windows_) {
    for (unsigned i = 0; i < rows; ++i) arguments.push_back(windows_->at(b_.CreateAdd(b_.CreateSub(row, begin_), number(i), "", true, true)));
    return;
  }
  // Rows past the last are computed from the last and written to memory that is never read.
  for (unsigned i = 0; i < rows; ++i) {
    Value* mine = least(b_.CreateAdd(row, number(i), "", true, true), last_);
    if (kind_ == Kind::converted) {
      arguments.push_back(floats_at(copy_, number(i), copy_stride_, number(0)));
      convert(mine, k, k_stop, arguments.back());
    } else {
      arguments.push_back(at(mine, k));
    }
  }
  if (kind_ != Kind::stored) fetch_next_rows(row, rows, k);
}

Value* LeftOperand::of_row(Value* row, Value* k, Value* k_stop) {
  if (kind_ != Kind::converted) return at(row, k);
  convert(row, k, k_stop, copy_);
  return copy_;
}

void LeftOperand::fetch_share(Value* row, unsigned rows, Value* k_stop, Value* k_end, std::int64_t block) {
  const DType dtype = kind_ == Kind::stored ? DType::f32 : e_.type_of(picked_from_).dtype;
  const auto line = static_cast<std::int64_t>(64 / size_of(dtype));
  share(row, rows, {begin_, end_}, k_stop, block, k_end, [&](Value* i) {
    Value* piece = at(i, begin_);
    e_.loop(number(0), b_.CreateSub(end_, begin_), line,
            [&](Value* column) { fetch(b_.CreateInBoundsGEP(e_.memory_type(dtype, 1), piece, {column})); });
  });
}

/// Prefetches the start of the next tile's picked rows; the hardware prefetcher continues from there.
void LeftOperand::fetch_next_rows(Value* row, unsigned rows, Value* k) {
  const auto bytes = product_.left_layout.stride.factor() * static_cast<std::int64_t>(size_of(e_.type_of(picked_from_).dtype));
  for (unsigned i = 0; i < rows; ++i) {
    Value* piece = at(least(b_.CreateAdd(row, number(rows + i), "", true, true), last_), k);
    for (std::int64_t line = 0; line < std::min<std::int64_t>(16, (bytes + 63) / 64); ++line)
      fetch(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), piece, static_cast<std::uint64_t>(64 * line)));
  }
}

}  // namespace sinter::codegen
