// Cumulative sums along an axis.
#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

/// Each element is the one before it along the axis plus the operand's.
void CumulativeSumKernel::collect(Emitter& e) const {
  Builder& b = e.builder();
  const auto& op = std::get<ir::Cumsum>(e.anchor().op);
  const ValueId x = e.value_of(e.anchor().inputs[0]);
  const DType dtype = e.type_of(e.kernel().anchor).dtype;
  const Shape& shape = e.kernel().shape;
  const auto axis = static_cast<std::size_t>(op.axis);
  Value *along = e.extent(shape[axis]), *inner = e.extent(shape.product(axis + 1, shape.rank()));
  const auto [first, last] = e.indices(axis);
  e.loop(first, last, 1, [&](Value* outer) {
    e.loop(e.number(0), along, 1, [&](Value* k) {
      Value* place = op.reverse ? b.CreateSub(b.CreateSub(along, e.number(1)), k) : k;
      Value* row = b.CreateMul(b.CreateAdd(b.CreateMul(outer, along), place), inner);
      e.loop(e.number(0), inner, 1, [&](Value* i) {
        Value *element = b.CreateAdd(row, i), *neighbour = op.reverse ? b.CreateAdd(element, inner) : b.CreateSub(element, inner);
        Value* start = b.CreateICmpEQ(k, e.number(0));
        const Vec own = e.load(e.element_address(x, element), dtype, 1),
                  before = e.load(e.element_address(e.memory(Memory::collected), b.CreateSelect(start, element, neighbour)), dtype, 1);
        b.CreateStore(b.CreateSelect(start, own.value, (before + own).value), e.element_address(e.memory(Memory::collected), element));
      });
    });
  });
}

}  // namespace sinter::codegen
