#include "codegen/kernels/pool_tiles.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "codegen/emit/image.h"
#include "codegen/kernels/pixel_tiles.h"
#include "ir/ops/pool.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

template <class O>
ir::Sliding windows_of(const O& op, const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  return ir::pool_windows(ir::IsUnpool<O> ? node.type.shape : graph.node(node.inputs[0]).type.shape, op.kernel, op.strides, op.pads);
}

template <class O>
class PoolEmitter : PixelTileWords {
 public:
  PoolEmitter(Emitter& emitter, const O& op)
      : PixelTileWords(emitter, windows_of(op, emitter.graph(), emitter.kernel().anchor), ir::IsUnpool<O>, most_pixels(emitter.unit()), {},
                       std::is_same_v<O, ir::AverageSpread>) {
    for (const ir::NodeId input : e_.anchor().inputs) operands_.push_back(e_.value_of(input));
    note(str(O::name, ", windows of ", sliding_.h.size, "×", sliding_.w.size));
  }

  void emit() {
    for_each_row([&](Value* image, Value* h) {
      for_each_tile_of_row([&](const PixelTile& tile, const Site& site) { store_tile(results(image, h, tile, site), image, h, tile, site); });
    });
  }

 private:
  using Pixels = std::vector<llvm::AllocaInst*>;

  std::vector<Vec> results(Value* image, Value* h, const PixelTile& tile, const Site& site) {
    if constexpr (ir::is_one_of<O, ir::MaxPool, ir::MaxPoolPlace>) return greatest(image, h, tile, site);
    else if constexpr (std::is_same_v<O, ir::PoolTake>) {
      const std::vector<Vec> wanted = load_tile(operands_[1], image, h, tile, site);
      return sums({operands_[0]}, image, h, tile, site, [&](std::int64_t i, Value* number, std::span<const Vec> met, const Vec& sum) {
        return select(VecMask{b_.CreateICmpEQ(wanted[static_cast<std::size_t>(i)].value, number)}, sum + met[0], sum);
      });
    } else if constexpr (std::is_same_v<O, ir::PoolPut>) {
      return sums(operands_, image, h, tile, site, [&](std::int64_t, Value* number, std::span<const Vec> met, const Vec& sum) {
        return select(VecMask{b_.CreateICmpEQ(met[0].value, number)}, sum + met[1], sum);
      });
    } else if constexpr (std::is_same_v<O, ir::AverageSpread>) {
      return spread(image, h, tile, site);
    } else {
      std::vector<Vec> means =
          sums(operands_, image, h, tile, site, [&](std::int64_t, Value*, std::span<const Vec> met, const Vec& sum) { return sum + met[0]; });
      for (std::size_t i = 0; i < means.size(); ++i)
        means[i] = means[i] / splat(count_of(h, tile.first + static_cast<std::int64_t>(i), tile), site.width);
      return means;
    }
  }

  /// A window's value in each of its pixels, divided by their number.
  std::vector<Vec> spread(Value* image, Value* h, const PixelTile& tile, const Site& site) {
    const Pixels sums = variables(static_cast<std::size_t>(tile.size), DType::f32, site, 0);
    for_each_line(h, true, [&](Value*, Value* line) {
      Value* lines = elements_inside(e_, sliding_.h, line);
      each_tap({&operands_[0], 1}, image, line, tile, site, {}, true, [&](std::int64_t i, std::int64_t k, std::span<const Vec> met) {
        const std::int64_t along = tile.ahead ? row_.taps() : row_.pixels_of_window(*row_.met(tile.first + i, k));
        const Vec count(b_.CreateSIToFP(b_.CreateMul(lines, e_.number(along)), b_.getFloatTy()), DType::f32);
        llvm::AllocaInst* sum = sums[static_cast<std::size_t>(i)];
        b_.CreateStore((value_of(sum) + met[0] / splat(count, site.width)).value, sum);
      });
    });
    return values_of(sums);
  }

  /// Sums over the taps of each pixel, the next of which `part` makes. Adjoints visit windows in ascending order: late taps first.
  using Part = std::function<Vec(std::int64_t i, Value* number, std::span<const Vec> met, const Vec& sum)>;
  std::vector<Vec> sums(const std::vector<ValueId>& sources, Value* image, Value* h, const PixelTile& tile, const Site& site, const Part& part) {
    const Pixels sums = variables(static_cast<std::size_t>(tile.size), DType::f32, site, 0);
    for_each_line(h, adjoint_, [&](Value* kh, Value* line) {
      each_tap(sources, image, line, tile, site, {}, adjoint_, [&](std::int64_t i, std::int64_t k, std::span<const Vec> met) {
        llvm::AllocaInst* sum = sums[static_cast<std::size_t>(i)];
        b_.CreateStore(part(i, tap_number(kh, k, site), met, value_of(sum)).value, sum);
      });
    });
    return values_of(sums);
  }

  /// The first greatest element; a NaN wins, the first one. Or its number.
  std::vector<Vec> greatest(Value* image, Value* h, const PixelTile& tile, const Site& site) {
    constexpr bool has_place = std::is_same_v<O, ir::MaxPoolPlace>;
    constexpr double none = 255;
    const auto count = static_cast<std::size_t>(tile.size);
    const Pixels best = variables(count, DType::f32, site, -std::numeric_limits<double>::infinity());
    const Pixels where = variables(has_place ? count : 0, DType::u8, site, none);
    for_each_line(h, false, [&](Value* kh, Value* line) {
      each_tap({&operands_[0], 1}, image, line, tile, site, {}, false, [&](std::int64_t pixel, std::int64_t k, std::span<const Vec> met) {
        const auto i = static_cast<std::size_t>(pixel);
        const Vec before = value_of(best[i]);
        const VecMask better{b_.CreateAnd(b_.CreateFCmpUGT(met[0].value, before.value), b_.CreateFCmpORD(before.value, before.value))};
        b_.CreateStore(select(better, met[0], before).value, best[i]);
        if (!has_place) return;
        const Vec number(tap_number(kh, k, site), DType::u8);
        b_.CreateStore(select(better, number, value_of(where[i], DType::u8)).value, where[i]);
      });
    });
    if (!has_place) return values_of(best);
    // Where all are -infinity, the first.
    std::vector<Vec> places = values_of(where, DType::u8);
    Value* start = b_.CreateSub(e_.number(sliding_.h.before), b_.CreateMul(h, e_.number(sliding_.h.stride)));
    Value* first_line = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, e_.number(0));
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t k = 0;
      while (!row_.is_inside(*row_.met(tile.first + static_cast<std::int64_t>(i), k))) ++k;
      const Vec first(tap_number(first_line, k, site), DType::u8);
      const VecMask is_none{b_.CreateICmpEQ(places[i].value, llvm::Constant::getAllOnesValue(places[i].value->getType()))};
      places[i] = select(is_none, first, places[i]);
    }
    return places;
  }

  /// The number of a tap of a window, in all lanes.
  Value* tap_number(Value* kh, std::int64_t k, const Site& site) {
    Value* number = b_.CreateTrunc(b_.CreateAdd(b_.CreateMul(kh, e_.number(row_.taps())), e_.number(k)), b_.getInt8Ty());
    return site.width == 1 ? number : b_.CreateVectorSplat(site.width, number);
  }

  /// How many taps of a result are in the image.
  Vec count_of(Value* h, std::int64_t i, const PixelTile& tile) {
    std::int64_t along = 0;
    for (std::int64_t k = 0; k < row_.taps(); ++k) along += tile.ahead || row_.is_inside(*row_.met(i, k));
    Value* lines = elements_inside(e_, sliding_.h, h);
    return {b_.CreateSIToFP(b_.CreateMul(lines, e_.number(along)), b_.getFloatTy()), DType::f32};
  }

  std::vector<ValueId> operands_;
};

}  // namespace

bool tiles_pool(const ir::Graph& graph, const Kernel& kernel) {
  if (!kernel.is<Kernel::Group>() || !kernel.domain.samples || kernel.mask) return false;
  return std::visit(
      [&]<class O>(const O& op) {
        if constexpr (ir::IsPool<O> || ir::IsUnpool<O>) {
          return unrolls_taps(windows_of(op, graph, kernel.anchor).w, ir::IsUnpool<O>);
        } else return false;
      },
      graph.node(kernel.anchor).op);
}

void emit_pool_tiles(Emitter& e) {
  std::visit(
      [&]<class O>(const O& op) {
        if constexpr (ir::IsPool<O> || ir::IsUnpool<O>) PoolEmitter<O>(e, op).emit();
        else throw InternalError("codegen", str(O::name, " is no pool"));
      },
      e.anchor().op);
}

}  // namespace sinter::codegen
