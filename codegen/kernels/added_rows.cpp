#include "codegen/kernels/added_rows.h"

#include <llvm/IR/Intrinsics.h>

#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {
/// Rows of a chain of sums, which are kept with their errors.
constexpr std::int64_t chain_rows = ir::chain_terms * turns;
}  // namespace

const Shape& AddedRows::in() const { return e_.type_of(e_.anchor().inputs[0]).shape; }

void AddedRows::add(const Chains& chains, Value* from, Value* to, const Site& site, const RowOf& row_of) {
  const auto add_row = [&](Value* k, unsigned turn) {
    Memo memo;
    const Site at = is_flat(in()) ? Site{e_.number(0), row_of(k)} : Site{row_of(k), site.last, site.width, site.valid};
    const Vec x = e_.evaluate(e_.anchor().inputs[0], in(), at, memo);
    b_.CreateStore(combine(value(chains[turn]), x, how_).value, chains[turn]);
  };
  const auto add_turns = [&](Value* k) {
    for (unsigned turn = 0; turn < turns; ++turn) add_row(b_.CreateAdd(k, e_.number(turn)), turn);
  };
  if (e_.kernel().mask) return add_masked(from, to, add_row, add_turns);
  Value* whole = b_.CreateAdd(from, b_.CreateAnd(b_.CreateSub(to, from), e_.number(-static_cast<std::int64_t>(turns))));
  e_.loop(from, whole, turns, add_turns);
  for (unsigned turn = 0; turn + 1 < turns; ++turn) {
    Value* k = b_.CreateAdd(whole, e_.number(turn));
    e_.when(b_.CreateICmpSLT(k, to), [&] { add_row(k, turn); });
  }
}

/// Adds the rows that the kernel's mask has, each to the chain that it belongs to without a mask.
void AddedRows::add_masked(Value* from, Value* to, const std::function<void(Value*, unsigned)>& add, const std::function<void(Value*)>& add_turns) {
  e_.for_each_masked_sample({from, to}, [&](Rows, Rows masked) {
    Value *first = masked.first, *last = masked.last;
    Value* begin = b_.CreateAdd(from, b_.CreateAnd(b_.CreateSub(first, from), e_.number(-static_cast<std::int64_t>(turns))));
    e_.loop(begin, last, turns, [&](Value* row) {
      Value* all = b_.CreateAnd(b_.CreateICmpSGE(row, first), b_.CreateICmpSLE(b_.CreateAdd(row, e_.number(turns)), last));
      e_.when(all, [&] { add_turns(row); });
      e_.when(b_.CreateNot(all), [&] {
        for (unsigned turn = 0; turn < turns; ++turn) {
          Value* one = b_.CreateAdd(row, e_.number(turn));
          e_.when(b_.CreateAnd(b_.CreateICmpSGE(one, first), b_.CreateICmpSLT(one, last)), [&] { add(one, turn); });
        }
      });
    });
  });
}

Vec AddedRows::total(const std::function<Vec(unsigned)>& chain) {
  return combine(combine(chain(0), chain(1), how_), combine(chain(2), chain(3), how_), how_);
}

Vec AddedRows::at(Rows rows, const Site& site, const RowOf& row_of) {
  return combine_chains(e_, how_, dtype(), site.width, rows.first, rows.last, chain_rows, [&](Value* from, Value* to) {
    Chains chains;
    for (unsigned turn = 0; turn < turns; ++turn) chains.push_back(neutral_variable(e_, how_, dtype(), site.width, "total"));
    add(chains, from, to, site, row_of);
    return total([&](unsigned turn) { return value(chains[turn]); });
  });
}

llvm::AllocaInst* AddedRows::columns_of(const char* name, std::int64_t count) {
  const auto elements = static_cast<std::uint64_t>(count * symbolic_layout(in()).stride.factor());
  return e_.variable(llvm::ArrayType::get(e_.memory_type(dtype(), 1), elements), name, 64);
}

Value* AddedRows::place(llvm::AllocaInst* columns, const Site& site, Value* row) {
  Value* first = row ? b_.CreateMul(row, e_.number(symbolic_layout(in()).stride.factor())) : e_.number(0);
  return b_.CreateInBoundsGEP(e_.memory_type(dtype(), 1), columns, {b_.CreateAdd(first, site.last)});
}

void AddedRows::keep(const Vec& x, llvm::AllocaInst* columns, const Site& site, Value* row) {
  b_.CreateAlignedStore(x.value, place(columns, site, row), llvm::Align(size_of(x.dtype)));
}

Vec AddedRows::made(const Site& site) { return kept(made_, site); }

void AddedRows::make_all(Rows rows, const RowOf& row_of) {
  llvm::AllocaInst* chains = columns_of("totals", turns);
  const auto constant = [&](double number, const Site& site) {
    const Vec like(llvm::Constant::getNullValue(e_.memory_type(dtype(), site.width)), dtype());
    return Vec(materialize(Vec(number), like), dtype());
  };
  const auto make_chain = [&](Value* from, Value* to) {
    for (unsigned turn = 0; turn < turns; ++turn)
      for_each_site([&](const Site& site) { keep(constant(identity(how_, dtype()), site), chains, site, e_.number(turn)); });
    e_.loop(from, to, 1, [&](Value* k) {
      Value *turn = b_.CreateAnd(b_.CreateSub(k, from), e_.number(turns - 1)), *row = row_of(k);
      for_each_site([&](const Site& site) {
        Memo memo;
        const Vec x = e_.evaluate(e_.anchor().inputs[0], in(), {row, site.last, site.width, site.valid}, memo);
        keep(combine(kept(chains, site, turn), x, how_), chains, site, turn);
      });
    });
  };
  const auto total_of = [&](const Site& site) { return total([&](unsigned turn) { return kept(chains, site, e_.number(turn)); }); };
  made_ = columns_of("sums");
  if (how_ != Combine::sum || dtype() != DType::f32) {
    make_chain(rows.first, rows.last);
    return for_each_site([&](const Site& site) { keep(total_of(site), made_, site); });
  }
  llvm::AllocaInst* errors = columns_of("errors");
  for_each_site([&](const Site& site) {
    keep(constant(0, site), made_, site);
    keep(constant(0, site), errors, site);
  });
  e_.loop(rows.first, rows.last, chain_rows, [&](Value* from) {
    make_chain(from, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(from, e_.number(chain_rows)), rows.last));
    for_each_site([&](const Site& site) {
      const auto next = ir::add(ir::LongSum<Vec>{kept(made_, site), kept(errors, site)}, total_of(site));
      keep(next.sum, made_, site);
      keep(next.error, errors, site);
    });
  });
}

}  // namespace sinter::codegen
