// Pools and their adjoints: each element from the elements of its window, or from the windows that contain it. Most are computed in tiles
// (codegen/kernels/pool_tiles.h).
#include <limits>

#include "codegen/emit/image.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/pool_tiles.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Windows of more elements than this are loops.
constexpr std::int64_t most_unrolled = 16;

/// The elements of a node at a site of its own shape.
class PoolElements {
 public:
  PoolElements(Emitter& emitter, ir::NodeId id, const Site& site)
      : e_(emitter), b_(emitter.builder()), node_(emitter.graph().node(id)), width_(site.width), at_(pixel_of(emitter, node_.type.shape, site)) {}

  Vec operator()(const ir::MaxPool& op) { return greatest(op).value; }
  Vec operator()(const ir::MaxPoolPlace& op) { return greatest(op).place; }

  Vec operator()(const ir::PoolTake& op) {
    const Vec wanted = load_pixel(e_, operand(1), at_, width_);
    return sum_of(windows_of(op, image()), false, [&](const ir::Sliding& s, Value* kh, Value* kw) {
      const Tap tap = tap_of(s, kh, kw);
      return std::pair(tap.value, b_.CreateAnd(tap.inside, b_.CreateICmpEQ(wanted.value, tap.number)));
    });
  }

  Vec operator()(const ir::AveragePool& op) {
    llvm::AllocaInst* count = e_.variable(b_.getFloatTy(), "count");
    b_.CreateStore(float_number(0), count);
    const Vec sum = sum_of(windows_of(op, image()), false, [&](const ir::Sliding& s, Value* kh, Value* kw) {
      const Tap tap = tap_of(s, kh, kw);
      Value* one = b_.CreateSelect(tap.exists, float_number(1), float_number(0));
      b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(b_.getFloatTy(), count), one), count);
      return std::pair(tap.value, tap.inside);
    });
    return sum / splat(Vec(b_.CreateLoad(b_.getFloatTy(), count), DType::f32), width_);
  }

  // Windows are visited in ascending order: those in which the pixel has a late position first.
  Vec operator()(const ir::PoolPut& op) {
    return sum_of(windows_of(op, node_.type.shape), true, [&](const ir::Sliding& s, Value* kh, Value* kw) {
      const Over over = window_of(s, kh, kw);
      const Vec value = load_pixel(e_, operand(1), over.window, width_), place = load_pixel(e_, operand(0), over.window, width_);
      return std::pair(value, b_.CreateAnd(over.inside, b_.CreateICmpEQ(place.value, tap_number(s, kh, kw))));
    });
  }

  Vec operator()(const ir::AverageSpread& op) {
    return sum_of(windows_of(op, node_.type.shape), true, [&](const ir::Sliding& s, Value* kh, Value* kw) {
      const Over over = window_of(s, kh, kw);
      const Vec value = load_pixel(e_, operand(0), over.window, width_);
      Value* count = b_.CreateSIToFP(b_.CreateMul(elements_inside(e_, s.h, over.window.h), elements_inside(e_, s.w, over.window.w)), b_.getFloatTy());
      return std::pair(value / splat(Vec(count, DType::f32), width_), over.inside);
    });
  }

 private:
  template <class O>
  ir::Sliding windows_of(const O& op, const Shape& image) const {
    return ir::pool_windows(image, op.kernel, op.strides, op.pads);
  }
  ValueId operand(std::size_t i) const { return e_.value_of(node_.inputs[i]); }
  const Shape& image() const { return e_.type_of(node_.inputs[0]).shape; }
  llvm::Constant* float_number(double number) { return llvm::ConstantFP::get(b_.getFloatTy(), number); }
  Value* in_lanes(Value* scalar) { return width_ == 1 ? scalar : b_.CreateVectorSplat(width_, scalar); }

  /// The number of an element of a window.
  Value* tap_number(const ir::Sliding& s, Value* kh, Value* kw) {
    return in_lanes(b_.CreateTrunc(b_.CreateAdd(b_.CreateMul(kh, e_.number(s.w.size)), kw), b_.getInt8Ty()));
  }

  /// An element of the window: its value and number, and whether it is in the image, once and in all lanes.
  struct Tap {
    Vec value;
    Value *number, *exists, *inside;
  };
  Tap tap_of(const ir::Sliding& s, Value* kh, Value* kw) {
    const AxisPlace h = index_in_window(e_, s.h, at_.h, kh), w = index_in_window(e_, s.w, at_.w, kw);
    Value* exists = b_.CreateAnd(h.inside, w.inside);
    Value* number = tap_number(s, kh, kw);
    return {load_pixel(e_, operand(0), {at_.n, h.place, w.place, at_.channel}, width_), number, exists, in_lanes(exists)};
  }

  /// A window over the pixel, and whether there is one.
  struct Over {
    Pixel window;
    Value* inside;
  };
  Over window_of(const ir::Sliding& s, Value* kh, Value* kw) {
    const AxisPlace h = window_over(e_, s.h, at_.h, kh), w = window_over(e_, s.w, at_.w, kw);
    return {{at_.n, h.place, w.place, at_.channel}, in_lanes(b_.CreateAnd(h.inside, w.inside))};
  }

  /// Calls body with each position of a window: unrolled if there are few.
  void for_each_tap(const ir::Sliding& s, bool backwards, const std::function<void(Value*, Value*)>& body) {
    const std::int64_t all = s.h.size * s.w.size;
    if (all <= most_unrolled) {
      for (std::int64_t i = 0; i < all; ++i) {
        const std::int64_t tap = backwards ? all - 1 - i : i;
        body(e_.number(tap / s.w.size), e_.number(tap % s.w.size));
      }
      return;
    }
    e_.loop(e_.number(0), e_.number(all), 1, [&](Value* i) {
      Value* tap = backwards ? b_.CreateSub(e_.number(all - 1), i) : i;
      body(b_.CreateUDiv(tap, e_.number(s.w.size)), b_.CreateURem(tap, e_.number(s.w.size)));
    });
  }

  /// The sum of what `part` says of each position of a window: a value, and in which lanes it counts.
  Vec sum_of(const ir::Sliding& s, bool backwards, const std::function<std::pair<Vec, Value*>(const ir::Sliding&, Value*, Value*)>& part) {
    llvm::Type* floats = e_.memory_type(DType::f32, width_);
    llvm::AllocaInst* sum = e_.variable(floats, "sum", 64);
    b_.CreateStore(llvm::Constant::getNullValue(floats), sum);
    for_each_tap(s, backwards, [&](Value* kh, Value* kw) {
      const auto [value, counts] = part(s, kh, kw);
      const Vec before(b_.CreateLoad(floats, sum), DType::f32);
      b_.CreateStore(b_.CreateSelect(counts, (before + value).value, before.value), sum);
    });
    return {b_.CreateLoad(floats, sum), DType::f32};
  }

  struct Greatest {
    Vec value, place;
  };
  /// The first greatest element; a NaN wins, the first one. It has a position even where all are -infinity.
  template <class O>
  Greatest greatest(const O& op) {
    constexpr bool has_place = std::is_same_v<O, ir::MaxPoolPlace>;
    llvm::Type *floats = e_.memory_type(DType::f32, width_), *places = e_.memory_type(DType::u8, width_);
    llvm::AllocaInst *best = e_.variable(floats, "best", 64), *where = e_.variable(places, "where", 64);
    b_.CreateStore(llvm::ConstantFP::get(floats, -std::numeric_limits<double>::infinity()), best);
    b_.CreateStore(llvm::Constant::getAllOnesValue(places), where);  // no place
    const ir::Sliding s = windows_of(op, image());
    for_each_tap(s, false, [&](Value* kh, Value* kw) {
      const Tap tap = tap_of(s, kh, kw);
      const Vec before(b_.CreateLoad(floats, best), DType::f32);
      Value* nan = b_.CreateAnd(b_.CreateFCmpUNO(tap.value.value, tap.value.value), b_.CreateFCmpORD(before.value, before.value));
      Value* better = b_.CreateOr(b_.CreateFCmpOGT(tap.value.value, before.value), nan);
      if (has_place) better = b_.CreateOr(better, b_.CreateICmpEQ(b_.CreateLoad(places, where), llvm::Constant::getAllOnesValue(places)));
      better = b_.CreateAnd(better, tap.inside);
      b_.CreateStore(b_.CreateSelect(better, tap.value.value, before.value), best);
      if (has_place) b_.CreateStore(b_.CreateSelect(better, tap.number, b_.CreateLoad(places, where)), where);
    });
    return {{b_.CreateLoad(floats, best), DType::f32}, {b_.CreateLoad(places, where), DType::u8}};
  }

  Emitter& e_;
  Builder& b_;
  const ir::Node& node_;
  const unsigned width_;
  const Pixel at_;
};

}  // namespace

void PoolKernel::plan(Planner& planner, Kernel kernel) const {
  if (!tiles_pool(planner.graph(), kernel)) return PointwiseKernel::plan(planner, std::move(kernel));
  if (kernel.shape[0] == Dim::batch()) planner.cut_single_sample(kernel, Cut::Along::rows, kernel.shape[1].factor());
  planner.add(std::move(kernel));
}

void PoolKernel::emit(Emitter& e) const {
  if (tiles_pool(e.graph(), e.kernel())) emit_pool_tiles(e);
  else PointwiseKernel::emit(e);
}

Vec PoolKernel::element(Emitter& e, ir::NodeId anchor, const Site& site) const {
  const auto at = [&](const Site& here) {
    return std::visit(
        [&]<class O>(const O& op) -> Vec {
          if constexpr (computes<O>) return PoolElements(e, anchor, here)(op);
          else throw InternalError("codegen", str(O::name, " is no pool"));
        },
        e.graph().node(anchor).op);
  };
  const Type& type = e.type_of(anchor);
  return type.shape.back() == Dim(1) ? e.each_lane(site, type.dtype, at) : at(site);  // lanes are channels
}

}  // namespace sinter::codegen
