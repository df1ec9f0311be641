#include "codegen/emit/image.h"

#include <llvm/IR/Intrinsics.h>

namespace sinter::codegen {

using llvm::Value;

Pixel pixel_of(Emitter& e, const Shape& shape, const Site& site) {
  Builder& b = e.builder();
  Value *number = is_flat(shape) ? site.last : site.row, *channel = is_flat(shape) ? e.number(0) : site.last;
  Value *width = e.number(shape[2].factor()), *height = e.number(shape[1].factor());
  Value *w = b.CreateURem(number, width), *rest = b.CreateUDiv(number, width);
  return {b.CreateUDiv(rest, height), b.CreateURem(rest, height), w, channel};
}

Vec load_pixel(Emitter& e, ValueId image, const Pixel& at, unsigned width) {
  Builder& b = e.builder();
  const Type& type = e.stored(image).type;
  Value* line = b.CreateAdd(b.CreateMul(at.n, e.number(type.shape[1].factor())), at.h);
  Value* row = b.CreateAdd(b.CreateMul(line, e.number(type.shape[2].factor())), at.w);
  return e.load(is_flat(type.shape) ? e.address(image, e.number(0), row) : e.address(image, row, at.channel), type.dtype, width);
}

AxisPlace index_in_window(Emitter& e, const ir::SlidingAxis& axis, Value* o, Value* k) {
  Builder& b = e.builder();
  Value* place = b.CreateSub(b.CreateAdd(b.CreateMul(o, e.number(axis.stride)), b.CreateMul(k, e.number(axis.dilation))), e.number(axis.before));
  Value* inside = b.CreateICmpULT(place, e.number(axis.in));
  return {b.CreateSelect(inside, place, e.number(0)), inside};
}

Value* elements_inside(Emitter& e, const ir::SlidingAxis& axis, Value* o) {
  Builder& b = e.builder();
  Value* first = b.CreateSub(b.CreateMul(o, e.number(axis.stride)), e.number(axis.before));
  Value* last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, e.number(axis.size)), e.number(axis.in));
  return b.CreateSub(last, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, e.number(0)));
}

AxisPlace window_over(Emitter& e, const ir::SlidingAxis& axis, Value* i, Value* k) {
  Builder& b = e.builder();
  Value* start = b.CreateSub(b.CreateAdd(i, e.number(axis.before)), b.CreateMul(k, e.number(axis.dilation)));
  Value* o = b.CreateSDiv(start, e.number(axis.stride));
  Value* inside = b.CreateAnd(b.CreateICmpSGE(start, e.number(0)), b.CreateICmpSLT(o, e.number(axis.out)));
  if (axis.stride > 1) inside = b.CreateAnd(inside, b.CreateICmpEQ(b.CreateSRem(start, e.number(axis.stride)), e.number(0)));
  return {b.CreateSelect(inside, o, e.number(0)), inside};
}

}  // namespace sinter::codegen
