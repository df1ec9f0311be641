// Reductions: of values at sites, of lanes, of slots.
#pragma once

#include <functional>

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// Values that a loop combines independently, to hide the latency of an addition.
inline constexpr unsigned turns = 4;

/// NaN passes, but may be lost in `greatest`, which is a maximum that takes less.
enum class Combine : std::uint8_t { sum, max, greatest, prod };
/// The neutral element.
double identity(Combine how, DType dtype);
Vec combine(const Vec& a, const Vec& b, Combine how);
/// A power of two of vectors, neighbours first.
Vec combine_pairwise(std::vector<Vec> all, Combine how);
/// The lanes, combined as a fixed tree: 16, 8, 4, 2, 1.
Vec horizontal(const Vec& x, Combine how);
/// A variable that holds a number in all lanes.
llvm::AllocaInst* filled_variable(Emitter& e, DType dtype, unsigned width, double number, const char* name);
/// The same, of the neutral element.
llvm::AllocaInst* neutral_variable(Emitter& e, Combine how, DType dtype, unsigned width, const char* name);

/// Combines so many values at each site: those of vectors lane by lane, the turns of an unrolled loop apart.
class Accumulators {
 public:
  Accumulators(Emitter& e, Combine how, DType dtype, std::size_t count);
  void add(const std::vector<Vec>& x, const Site& site);
  std::vector<Vec> totals();

 private:
  /// Of one value: of whole vectors by turn, of half a vector, of single elements.
  struct Sums {
    std::vector<llvm::AllocaInst*> wide;
    llvm::AllocaInst *narrow, *one;
  };
  Vec value(llvm::AllocaInst* from);
  Vec total(const Sums& sums);

  Emitter& e_;
  Combine how_;
  DType dtype_;
  std::vector<Sums> sums_;
};

/// What `chain(first, last)` makes of at most `most` of [begin, end), combined: f32 sums with their rounding errors kept (ir/long_sum.h), others in
/// order.
Vec combine_chains(Emitter& e, Combine how, DType dtype, unsigned width, llvm::Value* begin, llvm::Value* end, std::int64_t most,
                   const std::function<Vec(llvm::Value* first, llvm::Value* last)>& chain);

/// The same for `count` values together.
std::vector<Vec> combine_chains(Emitter& e, Combine how, DType dtype, unsigned width, std::size_t count, llvm::Value* begin, llvm::Value* end,
                                std::int64_t most, const std::function<std::vector<Vec>(llvm::Value* first, llvm::Value* last)>& chain);

/// The values of a row's elements, combined.
Vec combine_row(Emitter& e, Combine how, DType dtype, const Shape& shape, llvm::Value* row, const std::function<Vec(const Site&)>& term);

/// The same for `count` values together.
std::vector<Vec> combine_row(Emitter& e, Combine how, DType dtype, std::size_t count, const Shape& shape, llvm::Value* row,
                             const std::function<std::vector<Vec>(const Site&)>& terms);

/// The slots of the kernel that made the parts, in order, then what follows.
void emit_combined(Emitter& e, Combine how);

}  // namespace sinter::codegen
