// Convolutions with few multiplications; see codegen/kernels/winograd_plan.h.
#include "codegen/kernels/winograd_plan.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>
#include <map>

#include "codegen/kernels/image_copy.h"
#include "codegen/kernels/product_tile.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// matrix · x for a vector x of vectors. Points of a form come in pairs p, -p: columns that are equal but for signs take x's sum and difference, rows
/// that are take the sum and difference of what they have in common.
class LinearMap {
 public:
  LinearMap(Builder& builder, const ir::Matrix& matrix) : b_(builder), matrix_(matrix) {}

  std::vector<Value*> operator()(const std::vector<Value*>& x) {
    std::vector<Terms> rows(matrix_.size());
    for (std::size_t c = 0; c < x.size(); ++c) {
      if (c + 1 < x.size() && columns_pair(c)) {
        Value *sum = b_.CreateFAdd(x[c], x[c + 1]), *difference = b_.CreateFSub(x[c], x[c + 1]);
        for (std::size_t r = 0; r < rows.size(); ++r)
          if (matrix_[r][c] != 0) rows[r].emplace_back(matrix_[r][c] == matrix_[r][c + 1] ? sum : difference, matrix_[r][c]);
        ++c;
        continue;
      }
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (matrix_[r][c] != 0) rows[r].emplace_back(x[c], matrix_[r][c]);
    }
    std::vector<Value*> y;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r + 1 < rows.size() && rows_pair(rows[r], rows[r + 1])) {
        Terms equal, opposite;
        for (std::size_t i = 0; i < rows[r].size(); ++i) (rows[r][i] == rows[r + 1][i] ? equal : opposite).push_back(rows[r][i]);
        Value *e = sum(equal), *o = sum(opposite);
        y.push_back(b_.CreateFAdd(e, o));
        y.push_back(b_.CreateFSub(e, o));
        ++r;
        continue;
      }
      y.push_back(sum(rows[r]));
    }
    return y;
  }

 private:
  using Terms = std::vector<std::pair<Value*, double>>;

  bool columns_pair(std::size_t c) const {
    bool sums = false, differences = false;
    for (const std::vector<double>& row : matrix_) {
      if (std::abs(row[c]) != std::abs(row[c + 1])) return false;
      if (row[c] != 0) (row[c] == row[c + 1] ? sums : differences) = true;
    }
    return sums && differences;
  }
  static bool rows_pair(const Terms& a, const Terms& b) {
    if (a.size() != b.size()) return false;
    std::size_t same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].first != b[i].first || std::abs(a[i].second) != std::abs(b[i].second)) return false;
      same += a[i].second == b[i].second;
    }
    return same > 0 && same < a.size();
  }
  Value* sum(const Terms& terms) {
    // What needs no multiplication comes first.
    const auto plain = [](const auto& term) { return std::abs(term.second) == 1; };
    Terms order = terms;
    std::stable_partition(order.begin(), order.end(), [&](const auto& term) { return term.second == 1; });
    Value* total = nullptr;
    for (const auto& [x, factor] : order) {
      if (!total) total = factor == 1 ? x : b_.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor));
      else if (plain(std::pair{x, factor})) total = factor > 0 ? b_.CreateFAdd(total, x) : b_.CreateFSub(total, x);
      else total = b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, llvm::ConstantFP::get(x->getType(), factor), total});
    }
    return total;
  }

  Builder& b_;
  const ir::Matrix& matrix_;
};

/// A transform of square grids of vectors, to = matrix · from · matrixᵀ.
struct Transform {
  const char* name;
  ir::Matrix matrix;
  unsigned width;             ///< floats of a vector
  bool clipped_from = false;  ///< only the first rows and columns of `from` exist, the others count as zeros
  bool clipped_to = false;    ///< only the first rows and columns of `to` exist
};

/// void transform(ptr to, i64 to_row, i64 to_column, ptr from, i64 from_row, i64 from_column, i64 vectors, i64 rows, i64 columns): of adjacent
/// vectors, with floats from row to row and from column to column of each grid, and where it is clipped how many rows and columns exist.
llvm::Function* transform_function(EmitContext& context, const Transform& t);

void define(EmitContext& context, const Transform& t) {
  const std::size_t n = t.matrix.front().size(), k = t.matrix.size();
  llvm::Function* function = transform_function(context, t);
  llvm::LLVMContext& llvm = context.module.getContext();
  Builder b(llvm);
  llvm::Type *number = b.getInt64Ty(), *pointer = b.getPtrTy(), *element = b.getFloatTy(), *vector = llvm::FixedVectorType::get(element, t.width);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(3, llvm::Attribute::NoAlias);
  const auto argument = [&](unsigned i) { return function->getArg(i); };
  auto *entry = llvm::BasicBlock::Create(llvm, "entry", function), *body = llvm::BasicBlock::Create(llvm, "body", function),
       *done = llvm::BasicBlock::Create(llvm, "done", function);
  b.SetInsertPoint(entry);
  llvm::AllocaInst* nowhere = nullptr;
  if (t.clipped_to || t.clipped_from) {
    nowhere = b.CreateAlloca(vector);
    nowhere->setAlignment(llvm::Align(64));
    b.CreateStore(llvm::Constant::getNullValue(vector), nowhere);
  }
  const auto offsets = [&](unsigned argument_number, std::size_t count) {
    std::vector<Value*> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(b.CreateMul(argument(argument_number), b.getInt64(i), "", true, true));
    return all;
  };
  const std::vector<Value*> to_rows = offsets(1, k), to_columns = offsets(2, k), from_rows = offsets(4, n), from_columns = offsets(5, n);
  const auto exists = [&](std::size_t r, std::size_t c) {
    return b.CreateAnd(b.CreateICmpSGT(argument(7), b.getInt64(r)), b.CreateICmpSGT(argument(8), b.getInt64(c)));
  };
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode *i = b.CreatePHI(number, 2), *to = b.CreatePHI(pointer, 2), *from = b.CreatePHI(pointer, 2);
  const auto at = [&](Value* base, Value* row, Value* column) {
    return b.CreateInBoundsGEP(element, b.CreateInBoundsGEP(element, base, {row}), {column});
  };
  std::vector<std::vector<Value*>> half(k, std::vector<Value*>(n));  // matrix · from
  for (std::size_t c = 0; c < n; ++c) {
    std::vector<Value*> column;
    for (std::size_t r = 0; r < n; ++r) {
      Value* place = at(from, from_rows[r], from_columns[c]);
      if (t.clipped_from) place = b.CreateSelect(exists(r, c), place, nowhere);
      column.push_back(b.CreateAlignedLoad(vector, place, llvm::Align(4)));
    }
    const std::vector<Value*> made = LinearMap(b, t.matrix)(column);
    for (std::size_t r = 0; r < k; ++r) half[r][c] = made[r];
  }
  for (std::size_t r = 0; r < k; ++r) {
    const std::vector<Value*> made = LinearMap(b, t.matrix)(half[r]);
    for (std::size_t c = 0; c < k; ++c) {
      Value* place = at(to, to_rows[r], to_columns[c]);
      if (t.clipped_to) place = b.CreateSelect(exists(r, c), place, nowhere);
      b.CreateAlignedStore(made[c], place, llvm::Align(4));
    }
  }
  Value* next = b.CreateAdd(i, b.getInt64(1), "", true, true);
  Value* step = b.getInt64(t.width);
  i->addIncoming(b.getInt64(0), entry);
  i->addIncoming(next, body);
  to->addIncoming(argument(0), entry);
  to->addIncoming(b.CreateInBoundsGEP(element, to, {step}), body);
  from->addIncoming(argument(3), entry);
  from->addIncoming(b.CreateInBoundsGEP(element, from, {step}), body);
  b.CreateCondBr(b.CreateICmpSLT(next, argument(6)), body, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

llvm::Function* transform_function(EmitContext& context, const Transform& t) {
  const std::size_t n = t.matrix.front().size(), k = t.matrix.size();
  const std::string name =
      str("winograd_", t.name, "_", n, "_", k, "_", t.width, t.clipped_from ? "_clipped_from" : "", t.clipped_to ? "_clipped_to" : "");
  llvm::LLVMContext& llvm = context.module.getContext();
  llvm::Type *number = llvm::Type::getInt64Ty(llvm), *pointer = llvm::PointerType::getUnqual(llvm);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(llvm), {pointer, number, number, pointer, number, number, number, number, number}, false);
  return declare_shared(context, name, type, 4 * n * (n + k), [t](EmitContext& into) { define(into, t); });
}

}  // namespace

class WinogradEmitter : ImageWords {
 public:
  WinogradEmitter(KernelEmitter& kernel, const WinogradPlan& plan)
      : ImageWords(kernel), node_(kernel.context_.graph.node(kernel.kernel_.anchor)), plan_(plan), lanes_(kernel.context_.unit.lanes) {}

  /// Channels [begin, end) of the transformed kernel: by (number of the tile, channel) and feature.
  void emit_pack() {
    const ValueId w = e_.value_of(node_.inputs[1]);
    const std::int64_t stride = stride_of(w), to_column = plan_.sums_number();
    const ir::Matrix& matrix = plan_.form->kernel;
    Value* packed = e_.pointer(e_.kernel_.packed);
    const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(node_.op);
    const std::int64_t rows = adjoint ? plan_.columns : plan_.channels;  // of a place of the kernel
    if (!adjoint) {
      e_.loop(e_.begin_, e_.end_, 1, [&](Value* channel) {
        for_each_part(stride, [&](Value* column, std::int64_t vectors) {
          transform({"kernel", matrix, lanes_}, float_at(packed, add(mul(channel, plan_.stride), column)), plan_.size() * to_column, to_column,
                    e_.address(w, channel, column), 3 * rows * stride, rows * stride, vectors);
        });
      });
      return;
    }
    // Turned round, and with channels and features exchanged: columns are gathered first.
    Value* turned = e_.variable(llvm::ArrayType::get(b_.getFloatTy(), 9 * 16), "turned", 64);
    e_.loop(e_.begin_, e_.end_, 1, [&](Value* feature) {
      const auto gathered = [&](Value* column) {
        e_.loop(number(0), number(9), 1, [&](Value* place) {
          e_.loop(number(0), number(lanes_), 1, [&](Value* i) {
            Value* channel = least(add(column, i), number(rows - 1));  // pads repeat the last: no result depends on them
            Value* x = b_.CreateLoad(b_.getFloatTy(), e_.address(w, add(mul(place, rows), channel), feature));
            b_.CreateStore(x, float_at(turned, add(mul(sub(number(8), place), lanes_), i)));
          });
        });
        transform({"kernel", matrix, lanes_}, float_at(packed, add(mul(feature, plan_.stride), column)), plan_.size() * to_column, to_column, turned,
                  3 * lanes_, lanes_, 1);
      };
      const std::int64_t whole = plan_.stride / lanes_ * lanes_;
      e_.loop(number(0), number(whole), lanes_, [&](Value* column) { gathered(column); });
      if (whole < plan_.stride) gathered(number(plan_.stride - lanes_));
    });
  }

  /// conv2d and conv2d_transpose: block after block of tiles, each followed by the epilogue.
  void emit_images() {
    panels_ = plan_winograd_tiles(plan_.stride, e_.context_.unit);
    note();
    for_each_block([&](Value* first, Value* last) {
      each_strip(first, last, [&](Value* strip, Value* place) { transform_source(strip, place); });
      multiply(mul(sub(last, first), plan_.tiles_a_strip));
      each_strip(first, last, [&](Value* strip, Value* place) { make_results(strip, place); });
    });
  }

  /// This chunk's part of a conv2d_weight, into its slot.
  void emit_weight() {
    gradient_ = e_.value_of(node_.inputs[1]);
    tiles_ = plan_tiles(plan_.channels, plan_.stride, e_.context_.unit);
    panels_ = tiles_.panels;
    note();
    Value* begin = first_strip();
    for_each_block([&](Value* first, Value* last) {
      each_strip(first, last, [&](Value* strip, Value* place) {
        transform_source(strip, place);
        transform_gradient(strip, place);
      });
      add_products(sub(first, begin), mul(sub(last, first), plan_.tiles_a_strip));
    });
    const ir::Matrix matrix = ir::transposed(plan_.form->kernel);
    const std::int64_t from_column = plan_.sums_number();
    e_.loop(number(0), number(plan_.channels), 1, [&](Value* channel) {
      for_each_part(plan_.stride, [&](Value* column, std::int64_t vectors) {
        Value* row = add(mul(e_.chunk_, 9 * plan_.channels), channel);
        transform({"weight", matrix, lanes_}, e_.address(e_.kernel_.slots, row, column), 3 * from_column, from_column,
                  staged(plan_.sums_at(), add(mul(channel, plan_.stride), column)), plan_.size() * from_column, from_column, vectors);
      });
    });
  }

 private:
  Value* staged(std::int64_t part, Value* offset) { return float_at(e_.pointer(e_.kernel_.staging), add(number(part), offset)); }
  void note() { e_.context_.notes.push_back(str("kernel ", e_.kernel_.group, ": ", ir::name(node_.op), ", ", to_text(plan_, panels_))); }

  // ---- strips: rows of tiles, numbered through the images of the chunk ----
  Value* first_strip() {
    Value* first = mul(first_image(), plan_.strips);
    return e_.kernel_.piece == Piece::rows ? add(first, e_.piece_begin_) : first;
  }
  Value* last_strip() {
    Value* last = mul(last_image(), plan_.strips);
    return e_.kernel_.piece == Piece::rows ? sub(last, sub(number(plan_.strips), e_.piece_end_)) : last;
  }
  void for_each_block(const std::function<void(Value*, Value*)>& body) {
    Value* end = last_strip();
    e_.loop(first_strip(), end, plan_.block, [&](Value* first) { body(first, least(add(first, number(plan_.block)), end)); });
  }
  /// Calls body with each strip and its place in the block.
  void each_strip(Value* first, Value* last, const std::function<void(Value*, Value*)>& body) {
    e_.loop(first, last, 1, [&](Value* strip) { body(strip, sub(strip, first)); });
  }

  // ---- transforms ----
  void transform(const Transform& t, Value* to, std::int64_t to_row, std::int64_t to_column, Value* from, std::int64_t from_row,
                 std::int64_t from_column, std::int64_t vectors, Value* rows = nullptr, Value* columns = nullptr) {
    b_.CreateCall(transform_function(e_.context_, t), {to, number(to_row), number(to_column), from, number(from_row), number(from_column),
                                                       number(vectors), rows ? rows : number(0), columns ? columns : number(0)});
  }
  /// Calls body for the whole vectors of so many columns, and again for the last vector if it is not one of them: what it has in common with the one
  /// before is computed twice.
  void for_each_part(std::int64_t columns, const std::function<void(Value*, std::int64_t)>& body) {
    body(number(0), columns / lanes_);
    if (columns % lanes_) body(number(columns - lanes_), 1);
  }

  void transform_source(Value* strip, Value* place) {
    Value *image = div(strip, plan_.strips), *first = mul(rem(strip, plan_.strips), plan_.results()), *copy = staged(0, number(0));
    ImageCopy(e_, e_.value_of(node_.inputs[0]), plan_.h, plan_.w, plan_.channels).rows(image, first, add(first, number(plan_.size())), copy);
    const std::int64_t number_at = plan_.source_number();
    e_.loop(number(0), number(plan_.tiles_a_strip), 1, [&](Value* tile) {
      Value* row = add(mul(place, plan_.tiles_a_strip), tile);
      transform({"input", plan_.form->input, lanes_}, staged(plan_.source_at(), mul(row, plan_.source_stride())), plan_.size() * number_at, number_at,
                float_at(copy, mul(tile, plan_.results() * plan_.channels)), plan_.copy_row(), plan_.channels,
                (plan_.channels + lanes_ - 1) / lanes_);
    });
  }

  /// Calls body with the first pixel of each tile of a strip in the other image, the tile's place in the block, and how many of its rows and columns
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
      for_each_part(plan_.stride, [&](Value* column, std::int64_t vectors) {
        transform({"gradient", matrix, lanes_, clips(), false}, staged(plan_.other_at(), add(mul(row, plan_.stride), column)),
                  plan_.size() * number_at, number_at, e_.address(gradient_, pixel, column), plan_.out_w * plan_.stride, plan_.stride, vectors, rows,
                  columns);
      });
    });
  }

  void make_results(Value* strip, Value* place) {
    const std::int64_t number_at = plan_.other_number();
    each_tile(strip, place, [&](Value* pixel, Value* row, Value* rows, Value* columns) {
      for_each_part(plan_.stride, [&](Value* column, std::int64_t vectors) {
        transform({"output", plan_.form->output, lanes_, false, clips()}, e_.address(e_.kernel_.product, pixel, column), plan_.out_w * plan_.stride,
                  plan_.stride, staged(plan_.other_at(), add(mul(row, plan_.stride), column)), plan_.size() * number_at, number_at, vectors, rows,
                  columns);
      });
    });
    Value *image = div(strip, plan_.strips), *top = mul(rem(strip, plan_.strips), plan_.results());
    Value *line = mul(image, plan_.out_h), *bottom = least(add(top, number(plan_.results())), number(plan_.out_h));
    e_.emit_epilogue(mul(add(line, top), plan_.out_w), mul(add(line, bottom), plan_.out_w));
  }

  // ---- products ----
  /// [tiles, channels] · [channels, columns] for each number of a tile. The last register tile may have rows that are no tiles: nobody reads them.
  void multiply(Value* tiles) {
    e_.loop(number(0), number(plan_.numbers()), 1, [&](Value* n) {
      for_each_panel(panels_, [&](const Panels& panels, Value* column) {
        llvm::Function* tile = tile_function(e_.context_, {.widths = panels.widths,
                                                           .rows = panels.rows,
                                                           .ldc = plan_.stride,
                                                           .walk = Tile::Walk::spread,
                                                           .lda = plan_.source_stride(),
                                                           .accumulate = false});
        Value* b = float_at(e_.pointer(e_.kernel_.packed), add(mul(n, plan_.sums_number()), column));
        e_.loop(number(0), tiles, panels.rows, [&](Value* row) {
          b_.CreateCall(tile, {staged(plan_.other_at(), add(add(mul(n, plan_.other_number()), mul(row, plan_.stride)), column)), b,
                               number(plan_.stride), number(plan_.channels), number(0),
                               staged(plan_.source_at(), add(mul(n, plan_.source_number()), mul(row, plan_.source_stride())))});
        });
      });
    });
  }

  /// Adds [channels, tiles] · [tiles, columns] for each number of a tile to the chunk's sums, which begin with the first block.
  void add_products(Value* block, Value* tiles) {
    e_.loop(number(0), number(plan_.numbers()), 1, [&](Value* n) {
      for_each_panel(panels_, [&](const Panels& panels, Value* column) {
        Value* b = staged(plan_.other_at(), add(mul(n, plan_.other_number()), column));
        for_each_tile(tiles_.rows, [&](Value* channel, unsigned rows) {
          llvm::Function* tile = tile_function(e_.context_, {.widths = panels.widths,
                                                             .rows = rows,
                                                             .ldc = plan_.stride,
                                                             .walk = Tile::Walk::columns,
                                                             .lda = plan_.source_stride(),
                                                             .accumulate = true});
          b_.CreateCall(tile, {staged(plan_.sums_at(), add(add(mul(n, plan_.sums_number()), mul(channel, plan_.stride)), column)), b,
                               number(plan_.stride), tiles, block, staged(plan_.source_at(), add(mul(n, plan_.source_number()), channel))});
        });
      });
    });
  }

  const ir::Node& node_;
  const WinogradPlan plan_;
  const unsigned lanes_;  ///< floats of a register
  std::vector<Panels> panels_;
  ConvolutionTiles tiles_;
  ValueId gradient_ = no_value;
};

// ---- entries ----

bool KernelEmitter::emit_winograd() {
  const std::optional<WinogradPlan> plan = plan_winograd(context_.graph, kernel_.anchor);
  if (!plan) return false;
  WinogradEmitter emitter(*this, *plan);
  switch (kernel_.kind) {
    case Kernel::Kind::pack:
      emitter.emit_pack();
      break;
    case Kernel::Kind::partial:
      emitter.emit_weight();
      break;
    default:
      emitter.emit_images();
  }
  return true;
}

}  // namespace sinter::codegen
