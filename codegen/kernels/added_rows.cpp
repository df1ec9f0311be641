#include "codegen/kernels/added_rows.h"

#include <llvm/IR/Intrinsics.h>

#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {
/// Rows of a chain of sums, which are kept with their errors.
constexpr std::int64_t chain_rows = ir::chain_terms * turns;
}  // namespace

const Shape& AddedRows::in() const { return e_.type_of(operands_[0]).shape; }

std::vector<Vec> AddedRows::evaluate(const Site& site) {
  Memo memo;
  std::vector<Vec> all;
  for (const ir::NodeId operand : operands_) all.push_back(e_.evaluate(operand, in(), site, memo));
  return all;
}

void AddedRows::add(const Chains& chains, Value* from, Value* to, const Site& site, const RowOf& row_of) {
  const auto add_row = [&](Value* k, unsigned turn) {
    const std::vector<Vec> x = evaluate(is_flat(in()) ? Site{e_.number(0), row_of(k)} : Site{row_of(k), site.last, site.width, site.valid});
    for (std::size_t i = 0; i < count(); ++i) b_.CreateStore(combine(value(chains[i][turn]), x[i], how_).value, chains[i][turn]);
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
  std::vector<Vec> chains;
  for (unsigned turn = 0; turn < turns; ++turn) chains.push_back(chain(turn));
  return combine_pairwise(std::move(chains), how_);
}

std::vector<Vec> AddedRows::at(Rows rows, const Site& site, const RowOf& row_of) {
  return combine_chains(e_, how_, dtype(), site.width, count(), rows.first, rows.last, chain_rows, [&](Value* from, Value* to) {
    Chains chains(count());
    for (auto& of_operand : chains)
      for (unsigned turn = 0; turn < turns; ++turn) of_operand.push_back(neutral_variable(e_, how_, dtype(), site.width, "total"));
    add(chains, from, to, site, row_of);
    std::vector<Vec> totals;
    for (const auto& of_operand : chains) totals.push_back(total([&](unsigned turn) { return value(of_operand[turn]); }));
    return totals;
  });
}

llvm::AllocaInst* AddedRows::columns_of(const char* name, std::size_t rows) {
  const auto elements = rows * static_cast<std::size_t>(symbolic_layout(in()).stride.factor());
  return e_.variable(llvm::ArrayType::get(e_.memory_type(dtype(), 1), elements), name, 64);
}

Value* AddedRows::place(llvm::AllocaInst* columns, const Site& site, Value* row) {
  Value* first = b_.CreateMul(row, e_.number(symbolic_layout(in()).stride.factor()));
  return b_.CreateInBoundsGEP(e_.memory_type(dtype(), 1), columns, {b_.CreateAdd(first, site.last)});
}

void AddedRows::keep(const Vec& x, llvm::AllocaInst* columns, const Site& site, Value* row) {
  b_.CreateAlignedStore(x.value, place(columns, site, row), llvm::Align(size_of(x.dtype)));
}

void AddedRows::for_each_sum(const std::function<void(const Site&, Value*)>& body) {
  for (std::size_t i = 0; i < count(); ++i) for_each_site([&](const Site& site) { body(site, e_.number(static_cast<std::int64_t>(i))); });
}

std::vector<Vec> AddedRows::made(const Site& site) {
  std::vector<Vec> all;
  for (std::size_t i = 0; i < count(); ++i) all.push_back(kept(made_, site, e_.number(static_cast<std::int64_t>(i))));
  return all;
}

/// Adds as many whole times `together` rows as there are, and returns the first one that is left: rows of a turn are added to its chain while it is
/// in registers. The code for one row is written so many times: it must be short.
Value* AddedRows::add_together(llvm::AllocaInst* chains, Value* from, Value* to, const RowOf& row_of) {
  constexpr std::int64_t together = 2 * turns;
  constexpr std::size_t most_nodes = 4;
  if (count() > 1 || e_.kernel().nodes.size() > most_nodes) return from;
  Value* whole = b_.CreateAdd(from, b_.CreateAnd(b_.CreateSub(to, from), e_.number(-together)));
  e_.loop(from, whole, together, [&](Value* k) {
    std::vector<Value*> rows;
    for (std::int64_t i = 0; i < together; ++i) rows.push_back(row_of(b_.CreateAdd(k, e_.number(i))));
    for_each_site([&](const Site& site) {
      for (std::size_t turn = 0; turn < turns; ++turn) {
        Value* chain = e_.number(static_cast<std::int64_t>(turn));
        Vec sum = kept(chains, site, chain);
        for (std::size_t i = turn; i < rows.size(); i += turns) sum = combine(sum, evaluate({rows[i], site.last, site.width, site.valid})[0], how_);
        keep(sum, chains, site, chain);
      }
    });
  });
  return whole;
}

void AddedRows::make_all(Rows rows, const RowOf& row_of) {
  llvm::AllocaInst* chains = columns_of("totals", turns * count());
  const auto chain_of = [&](Value* operand, Value* turn) { return b_.CreateAdd(b_.CreateMul(operand, e_.number(turns)), turn); };
  const auto constant = [&](double number, const Site& site) {
    const Vec like(llvm::Constant::getNullValue(e_.memory_type(dtype(), site.width)), dtype());
    return Vec(materialize(Vec(number), like), dtype());
  };
  const auto make_chain = [&](Value* from, Value* to) {
    for (unsigned turn = 0; turn < turns; ++turn)
      for_each_sum(
          [&](const Site& site, Value* operand) { keep(constant(identity(how_, dtype()), site), chains, site, chain_of(operand, e_.number(turn))); });
    Value* whole = add_together(chains, from, to, row_of);
    e_.loop(whole, to, 1, [&](Value* k) {
      Value *turn = b_.CreateAnd(b_.CreateSub(k, from), e_.number(turns - 1)), *row = row_of(k);
      for_each_site([&](const Site& site) {
        const std::vector<Vec> x = evaluate({row, site.last, site.width, site.valid});
        for (std::size_t i = 0; i < count(); ++i) {
          Value* chain = chain_of(e_.number(static_cast<std::int64_t>(i)), turn);
          keep(combine(kept(chains, site, chain), x[i], how_), chains, site, chain);
        }
      });
    });
  };
  const auto total_of = [&](const Site& site, Value* operand) {
    return total([&](unsigned turn) { return kept(chains, site, chain_of(operand, e_.number(turn))); });
  };
  made_ = columns_of("sums", count());
  // What is no sum of numbers has no rounding errors to keep; nor have rows of which it is known here that they make one chain.
  const bool is_long_sum = how_ == Combine::sum && dtype() == DType::f32;
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(b_.CreateSub(rows.last, rows.first));
  if (!is_long_sum || (known && known->getSExtValue() <= chain_rows)) {
    make_chain(rows.first, rows.last);
    return for_each_sum([&](const Site& site, Value* operand) {
      const Vec total = total_of(site, operand);
      keep(is_long_sum ? constant(0, site) + total : total, made_, site, operand);  // long sums begin with 0
    });
  }
  llvm::AllocaInst* errors = columns_of("errors", count());
  for_each_sum([&](const Site& site, Value* operand) {
    keep(constant(0, site), made_, site, operand);
    keep(constant(0, site), errors, site, operand);
  });
  e_.loop(rows.first, rows.last, chain_rows, [&](Value* from) {
    make_chain(from, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(from, e_.number(chain_rows)), rows.last));
    for_each_sum([&](const Site& site, Value* operand) {
      const auto next = ir::add(ir::LongSum<Vec>{kept(made_, site, operand), kept(errors, site, operand)}, total_of(site, operand));
      keep(next.sum, made_, site, operand);
      keep(next.error, errors, site, operand);
    });
  });
}

}  // namespace sinter::codegen
