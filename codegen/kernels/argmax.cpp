// The position of the greatest element of a row.
#include "codegen/emit/index.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

void ArgmaxKernel::emit(Emitter& e) const {
  Builder& b = e.builder();
  const ValueId x = e.value_of(e.anchor().inputs[0]);
  Value* columns = e.extent(e.type_of(e.anchor().inputs[0]).shape.back());
  llvm::AllocaInst *best = e.variable(b.getFloatTy(), "best"), *place = e.variable(b.getInt64Ty(), "place");
  e.store_results(e.rows(), true, [&](const Site& site) {
    Value* start = b.CreateMul(element_at(e, e.kernel().shape, site), columns);
    const auto element = [&](Value* i) { return e.load(e.element_address(x, b.CreateAdd(start, i)), DType::f32, 1); };
    b.CreateStore(element(e.number(0)).value, best);
    b.CreateStore(e.number(0), place);
    e.loop(e.number(1), columns, 1, [&](Value* i) {
      const Vec candidate = element(i), present(b.CreateLoad(b.getFloatTy(), best), DType::f32);
      // A NaN wins over everything but an earlier NaN.
      Value* better = b.CreateAnd(b.CreateFCmpORD(present.value, present.value), b.CreateFCmpUGT(candidate.value, present.value));
      b.CreateStore(b.CreateSelect(better, candidate.value, present.value), best);
      b.CreateStore(b.CreateSelect(better, i, b.CreateLoad(b.getInt64Ty(), place)), place);
    });
    return Vec(b.CreateTrunc(b.CreateLoad(b.getInt64Ty(), place), b.getInt32Ty()), DType::i32);
  });
}

}  // namespace sinter::codegen
