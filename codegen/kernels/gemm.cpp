#include "codegen/kernels/gemm.h"

#include <cstddef>

#include "codegen/instrument/check.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

void emit_gemm(Emitter& e, const GemmMatrix& a, const GemmMatrix& b, const GemmMatrix& c, Value* m, const ir::ProductExtents& sizes) {
  Builder& builder = e.builder();
  Value* call = e.variable(llvm::ArrayType::get(builder.getInt8Ty(), sizeof(GemmCall)), "call", 8);
  const auto set = [&](std::size_t offset, Value* value) {
    builder.CreateStore(value, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), call, offset));
  };
  Value *k = e.extent(sizes.k), *f = e.extent(sizes.f);
  set(offsetof(GemmCall, a), a.data);
  set(offsetof(GemmCall, b), b.data);
  set(offsetof(GemmCall, c), c.data);
  set(offsetof(GemmCall, m), m);
  set(offsetof(GemmCall, k), k);
  set(offsetof(GemmCall, f), f);
  set(offsetof(GemmCall, lda), e.extent(a.stride));
  set(offsetof(GemmCall, ldb), e.extent(b.stride));
  set(offsetof(GemmCall, ldc), e.extent(c.stride));
  set(offsetof(GemmCall, transpose_a), builder.getInt32(a.transposed));
  set(offsetof(GemmCall, transpose_b), builder.getInt32(b.transposed));
  if (e.context().checked) {
    // The memory behind the pointers: so many rows and columns.
    const auto touch = [&](const GemmMatrix& matrix, Value* rows, Value* columns, bool stored) {
      if (matrix.transposed) std::swap(rows, columns);
      Value* floats = builder.CreateAdd(builder.CreateMul(builder.CreateSub(rows, e.number(1)), e.extent(matrix.stride)), columns);
      tell_touched(builder, matrix.data, builder.CreateMul(floats, e.number(4)), stored);
    };
    touch(a, m, k, false);
    touch(b, k, f, false);
    touch(c, m, f, true);
  }
  builder.CreateCall(llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
                     e.field(offsetof(StepContext, gemm), builder.getPtrTy()), {call});
}

}  // namespace sinter::codegen
