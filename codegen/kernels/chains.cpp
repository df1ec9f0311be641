#include "codegen/kernels/chains.h"

#include "codegen/emit/flow.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// void chains(ptr results, ptr sums, i64 rows, i64 columns, i64 stride, i1 first): what is done to one vector of each.
struct Action {
  const char* name;
  void (*run)(Builder& b, llvm::Type* vector, Value* result, Value* sum, Value* error, Value* first);
};

Vec load(Builder& b, llvm::Type* vector, Value* from) { return {b.CreateAlignedLoad(vector, from, llvm::Align(4)), DType::f32}; }
void store(Builder& b, const Vec& x, Value* to) { b.CreateAlignedStore(x.value, to, llvm::Align(4)); }

void add_vector(Builder& b, llvm::Type* vector, Value* result, Value* sum, Value* error, Value* first) {
  const Vec x = load(b, vector, result), zero(llvm::Constant::getNullValue(vector), DType::f32);
  const auto next = ir::add(ir::LongSum<Vec>{load(b, vector, sum), load(b, vector, error)}, x);
  const VecMask is_first{first};
  store(b, select(is_first, x, next.sum), sum);
  store(b, select(is_first, zero, next.error), error);
}

void finish_vector(Builder& b, llvm::Type* vector, Value* result, Value* sum, Value*, Value*) { store(b, load(b, vector, sum), result); }

llvm::Function* function_of(EmitContext& context, const Action& action);

void define(EmitContext& context, const Action& action) {
  llvm::Function* function = function_of(context, action);
  Builder b(function->getContext());
  Builder* const outer = std::exchange(current_builder(), &b);
  for (unsigned i = 0; i < 2; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  const auto loop = [&](Value* begin, Value* end, std::int64_t step, const std::function<void(Value*)>& body) {
    emit_loop(b, begin, end, step, body);
  };
  Value *results = function->getArg(0), *sums = function->getArg(1), *rows = function->getArg(2), *columns = function->getArg(3),
        *stride = function->getArg(4), *first = function->getArg(5);
  const auto at = [&](Value* base, Value* offset) { return b.CreateInBoundsGEP(b.getFloatTy(), base, {offset}); };
  loop(b.getInt64(0), rows, 1, [&](Value* row) {
    Value *result = at(results, b.CreateMul(row, stride)), *sum = at(sums, b.CreateMul(row, b.CreateShl(stride, 1))), *error = at(sum, stride);
    Value* begin = b.getInt64(0);
    for (const std::int64_t width : {std::int64_t{lanes}, std::int64_t{8}, std::int64_t{1}}) {
      llvm::Type* vector = width == 1 ? b.getFloatTy() : llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(width));
      Value* end = b.CreateAnd(columns, b.getInt64(static_cast<std::uint64_t>(-width)));
      loop(begin, end, width, [&](Value* j) {
        Value* lanes_first = width == 1 ? first : b.CreateVectorSplat(static_cast<unsigned>(width), first);
        action.run(b, vector, at(result, j), at(sum, j), at(error, j), lanes_first);
      });
      begin = end;
    }
  });
  b.CreateRetVoid();
  current_builder() = outer;
}

llvm::Function* function_of(EmitContext& context, const Action& action) {
  Builder b(context.module.getContext());
  llvm::Type *pointer = b.getPtrTy(), *number = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, number, number, number, b.getInt1Ty()}, false);
  return declare_shared(context, action.name, type, 100, [&action](EmitContext& into) { define(into, action); });
}

void call(Emitter& e, const Action& action, const Chains& chains, Value* first) {
  e.builder().CreateCall(function_of(e.context(), action),
                         {chains.results, chains.sums, chains.rows, chains.columns, e.number(chains.stride), first});
}

constexpr Action adding{"add_chains", add_vector}, finishing{"finish_chains", finish_vector};

}  // namespace

Type chain_sums(Dim rows, Dim stride) { return {DType::f32, {rows, stride.with_factor(2 * stride.factor())}}; }
void add_chains(Emitter& e, const Chains& chains, Value* first) { call(e, adding, chains, first); }
void finish_chains(Emitter& e, const Chains& chains) { call(e, finishing, chains, e.builder().getFalse()); }

Value* ChainSteps::place(Value* step) const { return e_.builder().CreateURem(step, e_.number(a_chain_)); }
Value* ChainSteps::are_several() const { return e_.builder().CreateICmpSGT(steps_, e_.number(a_chain_)); }

void ChainSteps::add(Value* step, const Chains& chains) const {
  Builder& b = e_.builder();
  Value *is_last = b.CreateICmpEQ(step, b.CreateSub(steps_, e_.number(1))), *ends = b.CreateICmpEQ(place(step), e_.number(a_chain_ - 1));
  e_.when(b.CreateAnd(are_several(), b.CreateOr(is_last, ends)), [&] { add_chains(e_, chains, b.CreateICmpSLT(step, e_.number(a_chain_))); });
}

void ChainSteps::finish(const Chains& chains) const {
  e_.when(are_several(), [&] { finish_chains(e_, chains); });
}

}  // namespace sinter::codegen
