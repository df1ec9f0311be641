// Products of many matrices.
#include "codegen/kernels/gemm.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

void BatchProductKernel::collect(Emitter& e) const {
  const ir::Node& anchor = e.anchor();
  const auto& op = std::get<ir::BatchMatmul>(anchor.op);
  const Shape &left = e.type_of(anchor.inputs[0]).shape, &right = e.type_of(anchor.inputs[1]).shape, &shape = e.kernel().shape;
  const std::size_t rank = shape.rank();
  const ir::ProductExtents sizes{shape[rank - 2], left[rank - (op.transpose_a ? 2 : 1)], shape[rank - 1]};
  const auto matrix = [&](ValueId value, const Shape& of, Value* i, bool transposed = false) -> GemmMatrix {
    Value* row = e.builder().CreateMul(i, e.number(of[rank - 2].factor()));
    return {is_flat(of) ? e.address(value, e.number(0), row) : e.address(value, row, e.number(0)), symbolic_layout(of).stride, transposed};
  };
  const auto [first, last] = e.indices(rank - 2);
  e.loop(first, last, 1, [&](Value* i) {
    emit_gemm(e, matrix(e.value_of(anchor.inputs[0]), left, i, op.transpose_a), matrix(e.value_of(anchor.inputs[1]), right, i, op.transpose_b),
              matrix(e.kernel().product, shape, i), e.extent(sizes.m), sizes);
  });
}

}  // namespace sinter::codegen
