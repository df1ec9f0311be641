// Pools and their adjoints: each element from the elements of its window, or from the windows that contain it.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Windows of more elements than this are loops.
constexpr std::int64_t most_unrolled = 16;

/// The windows over the image of a pool or its adjoint.
ir::Sliding windows_of(const ir::Op& op, const Shape& image) {
  return std::visit(
      [&]<class O>(const O& o) -> ir::Sliding {
        if constexpr (ir::IsPool<O> || ir::IsUnpool<O>) return ir::pool_windows(image, o.kernel, o.strides, o.pads);
        else throw InternalError("codegen", str(O::name, " is no pool"));
      },
      op);
}

}  // namespace

/// Calls body with each position of a window: unrolled if there are few.
void KernelEmitter::for_each_tap(const ir::Sliding& s, bool backwards, const std::function<void(Value*, Value*)>& body) {
  const std::int64_t all = s.h.size * s.w.size;
  const auto at = [&](std::int64_t i) { return backwards ? all - 1 - i : i; };
  if (all <= most_unrolled) {
    for (std::int64_t i = 0; i < all; ++i) body(constant(at(i) / s.w.size), constant(at(i) % s.w.size));
    return;
  }
  loop(constant(0), constant(all), 1, [&](Value* i) {
    Value* place = backwards ? builder_.CreateSub(constant(all - 1), i) : i;
    body(builder_.CreateUDiv(place, constant(s.w.size)), builder_.CreateURem(place, constant(s.w.size)));
  });
}

/// max_pool, max_pool_place, pool_take and average_pool.
Vec KernelEmitter::load_pool(ir::NodeId id, const Site& site) {
  const ir::Node& node = context_.graph.node(id);
  const ValueId x = value_of(node.inputs[0]);
  const Shape &image = type_of(node.inputs[0]).shape, &shape = node.type.shape;
  const ir::Sliding s = windows_of(node.op, image);
  const Pixel at = pixel_of(shape, site);
  const bool average = std::holds_alternative<ir::AveragePool>(node.op), place = std::holds_alternative<ir::MaxPoolPlace>(node.op),
             take = std::holds_alternative<ir::PoolTake>(node.op);
  llvm::Type *floats = memory_type(DType::f32, site.width), *places = memory_type(DType::u8, site.width);
  llvm::AllocaInst *best = variable(floats, "best", 64), *where = variable(places, "where", 64), *count = variable(builder_.getFloatTy(), "count");
  const auto present = [&] { return Vec(builder_.CreateLoad(floats, best), DType::f32); };
  const auto vector = [&](Value* scalar) { return site.width == 1 ? scalar : builder_.CreateVectorSplat(site.width, scalar); };
  builder_.CreateStore(llvm::ConstantFP::get(floats, average || take ? 0 : -std::numeric_limits<double>::infinity()), best);
  builder_.CreateStore(llvm::Constant::getAllOnesValue(places), where);  // no place
  builder_.CreateStore(llvm::ConstantFP::get(builder_.getFloatTy(), 0), count);
  const Vec wanted = take ? load_pixel(value_of(node.inputs[1]), at.n, at.h, at.w, at.channel, site.width) : Vec(0.0f);
  for_each_tap(s, false, [&](Value* kh, Value* kw) {
    const AxisPlace h = axis_place(s.h, at.h, kh), w = axis_place(s.w, at.w, kw);
    Value* inside = vector(builder_.CreateAnd(h.inside, w.inside));
    Value* number = vector(builder_.CreateTrunc(builder_.CreateAdd(builder_.CreateMul(kh, constant(s.w.size)), kw), builder_.getInt8Ty()));
    const Vec value = load_pixel(x, at.n, h.place, w.place, at.channel, site.width), before = present();
    if (average) {
      builder_.CreateStore(builder_.CreateSelect(inside, (before + value).value, before.value), best);
      Value* one = builder_.CreateSelect(builder_.CreateAnd(h.inside, w.inside), llvm::ConstantFP::get(builder_.getFloatTy(), 1),
                                         llvm::ConstantFP::get(builder_.getFloatTy(), 0));
      builder_.CreateStore(builder_.CreateFAdd(builder_.CreateLoad(builder_.getFloatTy(), count), one), count);
      return;
    }
    if (take) {
      Value* here = builder_.CreateAnd(inside, builder_.CreateICmpEQ(wanted.value, number));
      builder_.CreateStore(builder_.CreateSelect(here, value.value, before.value), best);
      return;
    }
    // The first greatest element; a NaN wins, the first one. The position is needed even where all are -infinity.
    Value* none = builder_.CreateICmpEQ(builder_.CreateLoad(places, where), llvm::Constant::getAllOnesValue(places));
    Value* nan = builder_.CreateAnd(builder_.CreateFCmpUNO(value.value, value.value), builder_.CreateFCmpORD(before.value, before.value));
    Value* better = builder_.CreateOr(builder_.CreateFCmpOGT(value.value, before.value), nan);
    if (place) better = builder_.CreateOr(better, none);
    better = builder_.CreateAnd(better, inside);
    builder_.CreateStore(builder_.CreateSelect(better, value.value, before.value), best);
    if (place) builder_.CreateStore(builder_.CreateSelect(better, number, builder_.CreateLoad(places, where)), where);
  });
  if (place) return {builder_.CreateLoad(places, where), DType::u8};
  if (average) return present() / splat(Vec(builder_.CreateLoad(builder_.getFloatTy(), count), DType::f32), site.width);
  return present();
}

/// pool_put and average_spread. Windows are visited in ascending order: those in which the pixel has a late position first.
Vec KernelEmitter::load_unpool(ir::NodeId id, const Site& site) {
  const ir::Node& node = context_.graph.node(id);
  const bool put = std::holds_alternative<ir::PoolPut>(node.op);
  const ValueId values = value_of(node.inputs[put ? 1 : 0]);
  const Shape& image = node.type.shape;
  const ir::Sliding s = windows_of(node.op, image);
  const Pixel at = pixel_of(image, site);
  llvm::Type* floats = memory_type(DType::f32, site.width);
  llvm::AllocaInst* sum = variable(floats, "sum", 64);
  const auto vector = [&](Value* scalar) { return site.width == 1 ? scalar : builder_.CreateVectorSplat(site.width, scalar); };
  /// Elements of a window along an axis that are not padding.
  const auto covered = [&](const ir::SlidingAxis& axis, Value* o) {
    Value* first = builder_.CreateSub(builder_.CreateMul(o, constant(axis.stride)), constant(axis.before));
    Value* last = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.CreateAdd(first, constant(axis.size)), constant(axis.in));
    return builder_.CreateSub(last, builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, constant(0)));
  };
  builder_.CreateStore(llvm::Constant::getNullValue(floats), sum);
  for_each_tap(s, true, [&](Value* kh, Value* kw) {
    const AxisPlace h = axis_window(s.h, at.h, kh), w = axis_window(s.w, at.w, kw);
    Value* inside = vector(builder_.CreateAnd(h.inside, w.inside));
    Vec value = load_pixel(values, at.n, h.place, w.place, at.channel, site.width);
    if (put) {
      const Vec place = load_pixel(value_of(node.inputs[0]), at.n, h.place, w.place, at.channel, site.width);
      Value* number = builder_.CreateTrunc(builder_.CreateAdd(builder_.CreateMul(kh, constant(s.w.size)), kw), builder_.getInt8Ty());
      inside = builder_.CreateAnd(inside, builder_.CreateICmpEQ(place.value, vector(number)));
    } else {
      Value* count = builder_.CreateSIToFP(builder_.CreateMul(covered(s.h, h.place), covered(s.w, w.place)), builder_.getFloatTy());
      value = value / splat(Vec(count, DType::f32), site.width);
    }
    const Vec before(builder_.CreateLoad(floats, sum), DType::f32);
    builder_.CreateStore(builder_.CreateSelect(inside, (before + value).value, before.value), sum);
  });
  return {builder_.CreateLoad(floats, sum), DType::f32};
}

}  // namespace sinter::codegen
