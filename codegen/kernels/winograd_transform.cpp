#include "codegen/kernels/winograd_transform.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cmath>
#include <iterator>

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
    // Terms without a multiplication come first.
    const auto plain = [](const auto& term) { return std::abs(term.second) == 1; };
    Terms order;
    for (const bool first : {true, false})
      std::copy_if(terms.begin(), terms.end(), std::back_inserter(order), [&](const auto& term) { return (term.second == 1) == first; });
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
  llvm::PHINode* seen = t.checked ? b.CreatePHI(vector, 2) : nullptr;  // 0 while all is finite, else NaN
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
  Value* total = nullptr;  // of a row, then of all rows
  for (std::size_t r = 0; r < k; ++r) {
    const std::vector<Value*> made = LinearMap(b, t.matrix)(half[r]);
    if (t.checked) {
      Value* row = made[0];
      for (std::size_t c = 1; c < k; ++c) row = b.CreateFAdd(row, made[c]);
      total = total ? b.CreateFAdd(total, row) : row;
    }
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
  Value* zero = llvm::ConstantFP::get(vector, 0);
  if (t.checked) {
    total = b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {total, zero, seen});
    seen->addIncoming(zero, entry);
    seen->addIncoming(total, body);
  }
  b.CreateCondBr(b.CreateICmpSLT(next, argument(6)), body, done);
  b.SetInsertPoint(done);
  if (t.checked) b.CreateRet(b.CreateNot(b.CreateOrReduce(b.CreateFCmpUNO(total, zero))));
  else b.CreateRetVoid();
}

}  // namespace

llvm::Function* transform_function(EmitContext& context, const Transform& t) {
  const std::size_t n = t.matrix.front().size(), k = t.matrix.size();
  const std::string name = str("winograd_", t.name, "_", n, "_", k, "_", t.width, t.clipped_from ? "_clipped_from" : "",
                               t.clipped_to ? "_clipped_to" : "", t.checked ? "_checked" : "");
  llvm::LLVMContext& llvm = context.module.getContext();
  llvm::Type *number = llvm::Type::getInt64Ty(llvm), *pointer = llvm::PointerType::getUnqual(llvm);
  llvm::Type* result = t.checked ? llvm::Type::getInt1Ty(llvm) : llvm::Type::getVoidTy(llvm);
  auto* type = llvm::FunctionType::get(result, {pointer, number, number, pointer, number, number, number, number, number}, false);
  return declare_shared(context, name, type, 4 * n * (n + k), [t](EmitContext& into) { define(into, t); });
}

}  // namespace sinter::codegen
