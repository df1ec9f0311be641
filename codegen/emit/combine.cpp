#include "codegen/emit/combine.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "ir/long_sum.h"

namespace sinter::codegen {

double identity(Combine how, DType dtype) {
  if (how == Combine::sum || how == Combine::prod) return how == Combine::prod ? 1 : 0;
  if (dtype == DType::u32) return 0;
  return dtype == DType::i32 ? std::numeric_limits<std::int32_t>::min() : -std::numeric_limits<double>::infinity();
}

Vec combine(const Vec& a, const Vec& b, Combine how) {
  if (how == Combine::sum) return a + b;
  if (how == Combine::prod) return a * b;
  if (how == Combine::greatest) return select(b < a, a, b);
  return select(b != b, b, select(a < b, b, a));  // the inner one is an instruction, which gives a where either is NaN
}

Vec combine_pairwise(std::vector<Vec> all, Combine how) {
  for (; all.size() > 1; all.resize(all.size() / 2))
    for (std::size_t i = 0; i < all.size() / 2; ++i) all[i] = combine(all[2 * i], all[2 * i + 1], how);
  return all[0];
}

Vec horizontal(const Vec& x, Combine how) {
  Builder& b = *current_builder();
  Vec current = x;
  for (unsigned width = llvm::cast<llvm::FixedVectorType>(x.value->getType())->getNumElements(); width > 1; width /= 2) {
    std::vector<int> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + width / 2));
    }
    const Vec lower(b.CreateShuffleVector(current.value, low), x.dtype), upper(b.CreateShuffleVector(current.value, high), x.dtype);
    current = combine(lower, upper, how);
  }
  return {b.CreateExtractElement(current.value, std::uint64_t{0}), x.dtype};
}

llvm::AllocaInst* filled_variable(Emitter& e, DType dtype, unsigned width, double number, const char* name) {
  llvm::AllocaInst* result = e.variable(e.memory_type(dtype, width), name, 64);
  const Vec like(llvm::Constant::getNullValue(result->getAllocatedType()), dtype);
  e.builder().CreateStore(materialize(Vec(number), like), result);
  return result;
}

llvm::AllocaInst* neutral_variable(Emitter& e, Combine how, DType dtype, unsigned width, const char* name) {
  return filled_variable(e, dtype, width, identity(how, dtype), name);
}

Accumulators::Accumulators(Emitter& e, Combine how, DType dtype, std::size_t count) : e_(e), how_(how), dtype_(dtype), sums_(count) {
  for (Sums& sums : sums_) {
    for (unsigned turn = 0; turn < turns; ++turn) sums.wide.push_back(neutral_variable(e, how, dtype, lanes, "wide"));
    sums.narrow = neutral_variable(e, how, dtype, lanes / 2, "narrow");
    sums.one = neutral_variable(e, how, dtype, 1, "one");
  }
}

Vec Accumulators::value(llvm::AllocaInst* from) { return {e_.builder().CreateLoad(from->getAllocatedType(), from), dtype_}; }

void Accumulators::add(const std::vector<Vec>& x, const Site& site) {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    llvm::AllocaInst* into = site.width == lanes ? sums_[i].wide[site.turn] : site.width == 1 ? sums_[i].one : sums_[i].narrow;
    e_.builder().CreateStore(combine(value(into), only_valid(x[i], site.valid, identity(how_, dtype_)), how_).value, into);
  }
}

Vec Accumulators::total(const Sums& sums) {
  std::vector<Vec> wide;
  for (llvm::AllocaInst* each : sums.wide) wide.push_back(value(each));
  const Vec vectors = combine(horizontal(combine_pairwise(wide, how_), how_), horizontal(value(sums.narrow), how_), how_);
  return combine(vectors, value(sums.one), how_);
}

std::vector<Vec> Accumulators::totals() {
  std::vector<Vec> all;
  for (const Sums& sums : sums_) all.push_back(total(sums));
  return all;
}

std::vector<Vec> combine_chains(Emitter& e, Combine how, DType dtype, unsigned width, std::size_t count, llvm::Value* begin, llvm::Value* end,
                                std::int64_t most, const std::function<std::vector<Vec>(llvm::Value*, llvm::Value*)>& chain) {
  Builder& b = e.builder();
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool exact = how != Combine::sum || dtype != DType::f32;
  if (exact || (first && last && last->getSExtValue() - first->getSExtValue() <= most)) return chain(begin, end);
  std::vector<llvm::AllocaInst*> sums, errors;
  for (std::size_t i = 0; i < count; ++i) {
    sums.push_back(neutral_variable(e, how, dtype, width, "sum"));
    errors.push_back(neutral_variable(e, how, dtype, width, "error"));
  }
  const auto value = [&](llvm::AllocaInst* from) { return Vec(b.CreateLoad(from->getAllocatedType(), from), dtype); };
  e.loop(begin, end, most, [&](llvm::Value* k) {
    const std::vector<Vec> x = chain(k, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(k, e.number(most)), end));
    for (std::size_t i = 0; i < count; ++i) {
      const auto next = ir::add(ir::LongSum<Vec>{value(sums[i]), value(errors[i])}, x[i]);
      b.CreateStore(next.sum.value, sums[i]);
      b.CreateStore(next.error.value, errors[i]);
    }
  });
  std::vector<Vec> totals;
  for (llvm::AllocaInst* sum : sums) totals.push_back(value(sum));
  return totals;
}

Vec combine_chains(Emitter& e, Combine how, DType dtype, unsigned width, llvm::Value* begin, llvm::Value* end, std::int64_t most,
                   const std::function<Vec(llvm::Value*, llvm::Value*)>& chain) {
  return combine_chains(e, how, dtype, width, 1, begin, end, most,
                        [&](llvm::Value* first, llvm::Value* last) { return std::vector{chain(first, last)}; })[0];
}

Vec combine_row(Emitter& e, Combine how, DType dtype, const Shape& shape, llvm::Value* row, const std::function<Vec(const Site&)>& term) {
  return combine_row(e, how, dtype, 1, shape, row, [&](const Site& site) { return std::vector{term(site)}; })[0];
}

std::vector<Vec> combine_row(Emitter& e, Combine how, DType dtype, std::size_t count, const Shape& shape, llvm::Value* row,
                             const std::function<std::vector<Vec>(const Site&)>& terms) {
  return combine_chains(e, how, dtype, 1, count, e.number(0), e.extent(symbolic_layout(shape).cols), ir::chain_terms * lanes * turns,
                        [&](llvm::Value* first, llvm::Value* last) {
                          Accumulators parts(e, how, dtype, count);
                          e.for_each_block_of(shape, row, {first, last}, [&](const Site& site) { parts.add(terms(site), site); }, turns);
                          return parts.totals();
                        });
}

namespace {

/// Chunks of the loop that filled this kernel's slots.
llvm::Value* slot_count(Emitter& e) {
  const Schedule& schedule = e.context().schedule;
  const Kernel& maker = schedule.kernels[std::get<Kernel::Combine>(e.kernel().role).parts];
  const Loop& loop = schedule.phases[maker.phase].loops[maker.loop];
  llvm::Value *units = e.extent(loop.domain.units), *size = e.chunk_units(loop);
  return e.builder().CreateUDiv(e.builder().CreateAdd(units, e.builder().CreateSub(size, e.number(1))), size);
}

}  // namespace

void emit_combined(Emitter& e, Combine how) {
  Builder& b = e.builder();
  const Shape& shape = e.kernel().shape;
  const DType dtype = e.anchor().type.dtype;
  const ValueId slots = e.memory(Memory::slots);
  const bool flat = is_flat(shape), adjacent = flat || shape.elements() == Dim(1);
  llvm::Value *count = slot_count(e), *rows = e.extent(symbolic_layout(shape).rows);
  e.store_results(e.rows(), false, [&](const Site& site) {
    const auto chain = [&](llvm::Value* first, llvm::Value* last) {
      llvm::AllocaInst* total = neutral_variable(e, how, dtype, site.width, "total");
      const auto so_far = [&] { return Vec(b.CreateLoad(total->getAllocatedType(), total), dtype); };
      e.loop(first, last, 1, [&](llvm::Value* slot) {
        llvm::Value* row = b.CreateAdd(flat ? site.last : site.row, b.CreateMul(slot, rows));
        // One number per row of the slots: these are adjacent.
        llvm::Value* from = adjacent ? b.CreateInBoundsGEP(e.memory_type(dtype, 1), e.pointer(slots), {row}) : e.address(slots, row, site.last);
        b.CreateStore(combine(so_far(), e.load(from, dtype, site.width), how).value, total);
      });
      return so_far();
    };
    return combine_chains(e, how, dtype, site.width, e.number(0), count, ir::chain_terms, chain);
  });
}

}  // namespace sinter::codegen
