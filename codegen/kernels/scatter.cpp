// Scatter-add of rows into a table.
#include <llvm/IR/Intrinsics.h>

#include <numeric>

#include "codegen/emit/index.h"
#include "codegen/kernels/chains.h"
#include "codegen/kernels/kinds.h"
#include "ir/kernel.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Frequent rows of the table: their updates are added in chains, which the kernel counts, and those are added with their rounding errors.
class FrequentRows {
 public:
  /// Calls a body for each site of a row of the table.
  using EachSite = std::function<void(Value* row, const Emitter::SiteBody& body)>;

  FrequentRows(Emitter& e, EachSite each_site) : e_(e), b_(e.builder()), table_(e.anchor().type.shape), each_site_(std::move(each_site)) {}

  void begin(Value* first, Value* last) {
    if (are_there()) e_.loop(first, last, 1, [&](Value* row) { b_.CreateStore(b_.getInt32(0), count_at(row)); });
  }
  /// After an update of a row.
  void count(Value* row) {
    if (!are_there()) return;
    Value* count = b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), count_at(row)), b_.getInt32(1));
    b_.CreateStore(count, count_at(row));
    const std::uint32_t most = ir::chain_terms;
    e_.when(b_.CreateICmpEQ(b_.CreateURem(count, b_.getInt32(most)), b_.getInt32(0)), [&] {
      add_chain(row, b_.CreateICmpEQ(count, b_.getInt32(most)));
      b_.CreateStore(b_.CreateSelect(b_.CreateICmpUGE(count, b_.getInt32(1u << 31)), b_.getInt32(2 * most), count), count_at(row));  // no overflow
    });
  }
  void end(Value* first, Value* last) {
    if (!are_there()) return;
    e_.loop(first, last, 1, [&](Value* row) {
      e_.when(b_.CreateICmpUGE(b_.CreateLoad(b_.getInt32Ty(), count_at(row)), b_.getInt32(ir::chain_terms)), [&] {
        add_chain(row, b_.getFalse());
        each_site_(row, [&](const Site& site) { e_.store(sum_at(site).sum, e_.memory(Memory::collected), site); });
      });
    });
  }

 private:
  bool are_there() const { return e_.memory(Memory::sums) != no_value; }
  Value* count_at(Value* row) { return b_.CreateInBoundsGEP(b_.getInt32Ty(), e_.pointer(e_.memory(Memory::staging)), {row}); }
  std::pair<Value*, Value*> places(const Site& site) {
    Value* row = is_flat(table_) ? site.last : site.row;
    Value* column = is_flat(table_) ? e_.number(0) : site.last;
    const Dim stride = symbolic_layout(table_).stride;
    return {e_.address(e_.memory(Memory::sums), row, column), e_.address(e_.memory(Memory::sums), row, b_.CreateAdd(column, e_.extent(stride)))};
  }
  ir::LongSum<Vec> sum_at(const Site& site) {
    const auto [sum, error] = places(site);
    return {e_.load(sum, DType::f32, site.width), e_.load(error, DType::f32, site.width)};
  }
  /// Adds what the row has collected to its sums, and begins anew.
  void add_chain(Value* row, Value* first) {
    each_site_(row, [&](const Site& site) {
      const Vec x = e_.load(e_.address(e_.memory(Memory::collected), site.row, site.last), DType::f32, site.width),
                zero(llvm::Constant::getNullValue(x.value->getType()), DType::f32);
      const VecMask is_first{site.width == 1 ? first : b_.CreateVectorSplat(site.width, first)};
      const auto next = ir::add(sum_at(site), x);
      const auto [sum, error] = places(site);
      b_.CreateAlignedStore(select(is_first, x, next.sum).value, sum, llvm::Align(4));
      b_.CreateAlignedStore(select(is_first, zero, next.error).value, error, llvm::Align(4));
      e_.store(zero, e_.memory(Memory::collected), site);
    });
  }

  Emitter& e_;
  Builder& b_;
  const Shape& table_;
  EachSite each_site_;
};

/// Walks over the indices that are the chunk's own rows, in order. Where they come is not foreseeable, and a branch for each costs more than its
/// update: those of many vectors are listed first.
class Hits {
 public:
  explicit Hits(Emitter& e) : e_(e), b_(e.builder()) {
    auto* list = llvm::ArrayType::get(b_.getInt32Ty(), static_cast<std::uint64_t>(listed + lanes));
    rows_ = e.variable(list, "rows", 64);
    places_ = e.variable(list, "places", 64);
    count_ = e.variable(b_.getInt64Ty(), "count");
  }

  /// `vector_at(c)`: the rows that the 16 indices from c on name, and which of them count. Calls body with the place of each of these and its row.
  void for_each(Value* end, const std::function<std::pair<Value*, Value*>(Value*)>& vector_at,
                const std::function<void(Value*, Value*)>& body) const {
    e_.loop(e_.number(0), end, listed, [&](Value* first) {
      b_.CreateStore(e_.number(0), count_);
      Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, e_.number(listed)), end);
      e_.loop(first, last, lanes, [&](Value* c) {
        const auto [rows, counts] = vector_at(c);
        Value* places = lane_numbers(b_.CreateTrunc(b_.CreateSub(c, first), b_.getInt32Ty()), lanes);
        for (unsigned lane = 0; lane < lanes; lane += e_.unit().lanes) append(part(rows, lane), part(places, lane), part(counts, lane));
      });
      e_.loop(e_.number(0), count(), 1, [&](Value* i) {
        body(b_.CreateAdd(first, b_.CreateZExt(b_.CreateLoad(b_.getInt32Ty(), in(places_, i)), b_.getInt64Ty())),
             b_.CreateLoad(b_.getInt32Ty(), in(rows_, i)));
      });
    });
  }

 private:
  static constexpr std::int64_t listed = 1024;  ///< indices whose hits are listed together

  Value* count() const { return b_.CreateLoad(b_.getInt64Ty(), count_); }
  Value* in(llvm::AllocaInst* list, Value* i) const { return b_.CreateInBoundsGEP(b_.getInt32Ty(), list, {i}); }
  /// Lanes of one register, from `lane` on.
  Value* part(Value* vector, unsigned lane) const {
    std::vector<int> chosen(e_.unit().lanes);
    std::iota(chosen.begin(), chosen.end(), static_cast<int>(lane));
    return b_.CreateShuffleVector(vector, chosen);
  }
  void append(Value* rows, Value* places, Value* counts) const {
    b_.CreateAlignedStore(compressed(rows, counts), in(rows_, count()), llvm::Align(4));
    b_.CreateAlignedStore(compressed(places, counts), in(places_, count()), llvm::Align(4));
    Value* bits = b_.CreateBitCast(counts, b_.getIntNTy(e_.unit().lanes));
    Value* more = b_.CreateZExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b_.getInt64Ty());
    b_.CreateStore(b_.CreateAdd(count(), more), count_);
  }

  Emitter& e_;
  Builder& b_;
  llvm::AllocaInst *rows_, *places_, *count_;
};

}  // namespace

/// Chunks own rows of the table, if those are rows in memory.
void ScatterKernel::plan(Planner& planner, Kernel kernel) const {
  if (kernel.shape.rank() != 2 || kernel.shape.back() == Dim(1)) kernel.domain = {};
  plan_memory_in_place(planner, kernel);
  const ir::Node& anchor = planner.graph().node(kernel.anchor);
  const Dim updates = planner.graph().node(anchor.inputs[0]).type.shape.elements();
  if (!updates.is_fixed() || updates.factor() > ir::chain_terms) {
    const SymbolicLayout at = symbolic_layout(anchor.type.shape);
    kernel.memory.push_back({Memory::sums, planner.temporary(chain_sums(at.rows, at.stride), str("sums ", kernel.anchor))});
    kernel.memory.push_back(
        {Memory::staging, planner.temporary({DType::i32, {std::get<ir::ScatterAddRows>(anchor.op).rows}}, str("counts ", kernel.anchor)), true});
  }
  planner.add(std::move(kernel));
}

/// Zeros, to which each row of the updates is added in order. A chunk looks through all indices for those of its own rows.
/// Each chunk scans all indices: few chunks.
void ScatterKernel::limit(const ir::Graph&, const Kernel&, const Domain& domain, ChunkLimits& limits) const {
  limits.least = std::max(limits.least, (domain.units.factor() / 4 + 7) / 8 * 8 + 8);
  limits.most = std::max(limits.least, limits.most);
}

void ScatterKernel::collect(Emitter& e) const {
  Builder& b = e.builder();
  const ir::Node& anchor = e.anchor();
  const std::int64_t count = std::get<ir::ScatterAddRows>(anchor.op).rows;
  const Shape &table = anchor.type.shape, &updates = e.type_of(anchor.inputs[1]).shape;
  const bool whole = e.kernel().domain.units == Dim(1);
  Value *begin = whole ? e.number(0) : e.begin(), *end = whole ? e.number(count) : e.end();
  const Dim inner = table.product(1, table.rank());  // elements of a row of the table
  // Where the last axis is a single column, or N is in a row of the table, rows are not runs of vectors.
  const bool by_element = !inner.is_fixed() || table.back() == Dim(1) || table.rank() == 1;
  e.for_each_site(table, e.rows(), table.rank() == 1, [&](const Site& site) {
    e.store(splat(Vec(llvm::ConstantFP::get(b.getFloatTy(), 0), DType::f32), site.width), e.memory(Memory::collected), site);
  });
  const std::int64_t parts = by_element ? 1 : inner.factor() / table.back().factor();  // rows in memory of a row of the table
  FrequentRows frequent(e, [&](Value* row, const Emitter::SiteBody& body) {
    if (by_element)
      return e.loop(e.number(0), e.extent(inner), 1,
                    [&](Value* i) { body(site_of_element(e, table, b.CreateAdd(b.CreateMul(row, e.extent(inner)), i))); });
    e.loop(e.number(0), e.number(parts), 1,
           [&](Value* part) { e.for_each_block(table, b.CreateAdd(b.CreateMul(row, e.number(parts)), part), false, body); });
  });
  frequent.begin(begin, end);
  // Adds an update to a row of the table.
  const auto add_update = [&](Value* update, Value* row) {
    const auto one = [&](const Site& from, const Site& to) {
      Memo memo;
      const Vec x = e.evaluate(anchor.inputs[1], updates, from, memo);
      Value* place = e.address(e.memory(Memory::collected), to.row, to.last);
      e.store(e.load(place, DType::f32, to.width) + x, e.memory(Memory::collected), to);
    };
    if (by_element) {
      Value* elements = e.extent(inner);
      return e.loop(e.number(0), elements, 1, [&](Value* i) {
        const auto in = [&](Value* r) { return b.CreateAdd(b.CreateMul(r, elements), i); };
        one(site_of_element(e, updates, in(update)), site_of_element(e, table, in(row)));
      });
    }
    e.loop(e.number(0), e.number(parts), 1, [&](Value* part) {
      Value *source = b.CreateAdd(b.CreateMul(update, e.number(parts)), part), *target = b.CreateAdd(b.CreateMul(row, e.number(parts)), part);
      e.for_each_block(updates, source, false, [&](const Site& from) {
        Site to = from;
        to.row = target;
        one(from, to);
      });
    });
  };
  const auto add = [&](Value* update, Value* row) {
    if (!e.kernel().mask) add_update(update, row);
    else
      e.when(b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), e.element_address(e.kernel().mask->value, update)), b.getInt8(0)),
             [&] { add_update(update, row); });
    frequent.count(row);
  };

  if (e.recomputable(anchor.inputs[0])) {  // a scalar that no kernel stores
    Value* row = index_value(e, e.evaluate_scalar(anchor.inputs[0]));
    Value* bad = b.CreateICmpUGE(row, e.number(count));
    e.when(bad, [&] { e.fault(e.kernel().anchor); });
    return e.when(b.CreateNot(bad), [&] { add(e.number(0), row); });
  }
  const ValueId index = e.value_of(anchor.inputs[0]);
  const Type& type = e.stored(index).type;
  const SymbolicLayout at = symbolic_layout(type.shape);
  const bool line = is_flat(type.shape) || at.rows == Dim(1);
  Value* columns = line ? e.extent(type.shape.elements()) : e.extent(at.cols);
  llvm::Type* vector = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  const auto report = [&](Value* bad) { e.when(bad, [&] { e.fault(e.kernel().anchor); }); };
  // Sixteen indices, and which of them are the chunk's own rows.
  const auto indices_at = [&](Value* r, Value* c) {
    // As u32: a negative index is a large one. A table has fewer than 2^31 rows.
    Value* rows = b.CreateZExt(e.load(e.address(index, r, c), type.dtype, lanes).value, vector);
    const auto all = [&](Value* x) { return b.CreateVectorSplat(lanes, b.CreateTrunc(x, b.getInt32Ty())); };
    report(b.CreateOrReduce(b.CreateICmpUGE(rows, all(e.number(count)))));
    return std::pair(rows, b.CreateICmpULT(b.CreateSub(rows, all(begin)), all(b.CreateSub(end, begin))));
  };
  const Hits hits(e);
  e.loop(e.number(0), line ? e.number(1) : e.extent(at.rows), 1, [&](Value* r) {
    const auto number = [&](Value* c) { return line ? c : b.CreateAdd(b.CreateMul(r, columns), c); };
    Value* stop = b.CreateAnd(columns, e.number(-static_cast<std::int64_t>(lanes)));
    hits.for_each(stop, [&](Value* c) { return indices_at(r, c); }, [&](Value* c, Value* row) { add(number(c), b.CreateZExt(row, b.getInt64Ty())); });
    e.loop(stop, columns, 1, [&](Value* c) {
      Value* row = b.CreateZExt(e.load(e.address(index, r, c), type.dtype, 1).value, b.getInt64Ty());
      report(b.CreateICmpUGE(row, e.number(count)));
      e.when(b.CreateICmpULT(b.CreateSub(row, begin), b.CreateSub(end, begin)), [&] { add(number(c), row); });
    });
  });
  frequent.end(begin, end);
}

}  // namespace sinter::codegen
