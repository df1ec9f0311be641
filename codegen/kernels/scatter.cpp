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

/// The number of updates of each row of the table. Those of a frequent one are added in chains, and these with their rounding errors.
class Counts {
 public:
  /// Calls a body for each site of a row of the table.
  using EachSite = std::function<void(Value* row, const Emitter::SiteBody& body)>;

  Counts(Emitter& e, EachSite each_site) : e_(e), b_(e.builder()), table_(e.anchor().type.shape), each_site_(std::move(each_site)) {}

  /// Before the first update of a row.
  void begin(Value* row) const {
    if (are_there()) b_.CreateStore(b_.getInt32(0), place(row));
  }
  /// The updates so far; at most so many that their number modulo those of a chain is right.
  Value* of(Value* row) const { return b_.CreateLoad(b_.getInt32Ty(), place(row)); }
  /// After an update of a row.
  void add(Value* row) const {
    if (!are_there()) return;
    Value* count = b_.CreateAdd(of(row), b_.getInt32(1));
    b_.CreateStore(count, place(row));
    if (!have_chains()) return;
    const std::uint32_t most = ir::chain_terms;
    e_.when(b_.CreateICmpEQ(b_.CreateURem(count, b_.getInt32(most)), b_.getInt32(0)), [&] {
      add_chain(row, b_.CreateICmpEQ(count, b_.getInt32(most)));
      b_.CreateStore(b_.CreateSelect(b_.CreateICmpUGE(count, b_.getInt32(1u << 31)), b_.getInt32(2 * most), count), place(row));  // no overflow
    });
  }
  /// After the last update of a row.
  void end(Value* row) const {
    if (!have_chains()) return;
    e_.when(b_.CreateICmpUGE(of(row), b_.getInt32(ir::chain_terms)), [&] {
      add_chain(row, b_.getFalse());
      each_site_(row, [&](const Site& site) { e_.store(sum_at(site).sum, e_.memory(Memory::collected), site); });
    });
  }

 private:
  bool are_there() const { return e_.memory(Memory::staging) != no_value; }
  bool have_chains() const { return e_.memory(Memory::sums) != no_value; }
  Value* place(Value* row) const { return b_.CreateInBoundsGEP(b_.getInt32Ty(), e_.pointer(e_.memory(Memory::staging)), {row}); }
  std::pair<Value*, Value*> places(const Site& site) const {
    Value* row = is_flat(table_) ? site.last : site.row;
    Value* column = is_flat(table_) ? e_.number(0) : site.last;
    const Dim stride = symbolic_layout(table_).stride;
    return {e_.address(e_.memory(Memory::sums), row, column), e_.address(e_.memory(Memory::sums), row, b_.CreateAdd(column, e_.extent(stride)))};
  }
  ir::LongSum<Vec> sum_at(const Site& site) const {
    const auto [sum, error] = places(site);
    return {e_.load(sum, DType::f32, site.width), e_.load(error, DType::f32, site.width)};
  }
  /// Adds what the row has collected to its sums, and begins anew.
  void add_chain(Value* row, Value* first) const {
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

/// The sums of the chunk's rows of the table.
class RowSums {
 public:
  explicit RowSums(Emitter& e)
      : e_(e),
        b_(e.builder()),
        index_(e.anchor().inputs[0]),
        table_(e.anchor().type.shape),
        updates_(e.type_of(e.anchor().inputs[1]).shape),
        inner_(table_.product(1, table_.rank())),
        // Where the last axis is a single column, or N is in a row of the table, rows are not runs of vectors.
        by_element_(!inner_.is_fixed() || table_.back() == Dim(1) || table_.rank() == 1),
        parts_(by_element_ ? 1 : inner_.factor() / table_.back().factor()),
        counts_(e, [this](Value* row, const Emitter::SiteBody& body) { each_site(row, body); }),
        hits_(e) {
    rows_ = e.number(std::get<ir::ScatterAddRows>(e.anchor().op).rows);
    const bool whole = e.kernel().domain.units == Dim(1);
    begin_ = whole ? e.number(0) : e.begin();
    end_ = whole ? rows_ : e.end();
  }

  /// Of all rows.
  void collect() {
    e_.for_each_site(table_, e_.rows(), table_.rank() == 1, [&](const Site& site) { clear(site); });
    e_.loop(begin_, end_, 1, [&](Value* row) { counts_.begin(row); });
    for_each_update(true, [&](Value* update, Value* row) { add(update, row); });
    e_.loop(begin_, end_, 1, [&](Value* row) { counts_.end(row); });
  }
  /// Of rows that have an update, each of which is then finished: the others are not touched.
  void collect_touched(const std::function<void(Rows)>& finish) {
    for_each_update(true, [&](Value*, Value* row) { counts_.begin(row); });
    for_each_update(false, [&](Value* update, Value* row) { add(update, row); });
    for_each_update(false, [&](Value*, Value* row) {
      e_.when(b_.CreateICmpNE(counts_.of(row), b_.getInt32(0)), [&] {
        counts_.end(row);
        Value* first = b_.CreateMul(row, e_.number(parts_));
        finish({first, b_.CreateAdd(first, e_.number(parts_))});
        counts_.begin(row);
      });
    });
  }

 private:
  /// Of a row of the table.
  void each_site(Value* row, const Emitter::SiteBody& body) const {
    if (by_element_)
      return e_.loop(e_.number(0), e_.extent(inner_), 1,
                     [&](Value* i) { body(site_of_element(e_, table_, b_.CreateAdd(b_.CreateMul(row, e_.extent(inner_)), i))); });
    e_.loop(e_.number(0), e_.number(parts_), 1,
            [&](Value* part) { e_.for_each_block(table_, b_.CreateAdd(b_.CreateMul(row, e_.number(parts_)), part), false, body); });
  }

  void add(Value* update, Value* row) {
    if (e_.kernel().touched_rows)
      e_.when(b_.CreateICmpEQ(counts_.of(row), b_.getInt32(0)), [&] { each_site(row, [&](const Site& at) { clear(at); }); });
    if (!e_.kernel().mask) {
      add_row(update, row);
    } else {
      Value* exists = b_.CreateLoad(b_.getInt8Ty(), e_.element_address(e_.kernel().mask->value, update));
      e_.when(b_.CreateICmpNE(exists, b_.getInt8(0)), [&] { add_row(update, row); });
    }
    counts_.add(row);  // what a mask leaves out counts too: chains end where they do without it
  }
  void clear(const Site& site) {
    e_.store(splat(Vec(llvm::ConstantFP::get(b_.getFloatTy(), 0), DType::f32), site.width), e_.memory(Memory::collected), site);
  }
  void add_row(Value* update, Value* row) {
    const auto one = [&](const Site& from, const Site& to) {
      Memo memo;
      const Vec x = e_.evaluate(e_.anchor().inputs[1], updates_, from, memo);
      Value* place = e_.address(e_.memory(Memory::collected), to.row, to.last);
      e_.store(e_.load(place, DType::f32, to.width) + x, e_.memory(Memory::collected), to);
    };
    if (by_element_) {
      Value* elements = e_.extent(inner_);
      return e_.loop(e_.number(0), elements, 1, [&](Value* i) {
        const auto in = [&](Value* r) { return b_.CreateAdd(b_.CreateMul(r, elements), i); };
        one(site_of_element(e_, updates_, in(update)), site_of_element(e_, table_, in(row)));
      });
    }
    e_.loop(e_.number(0), e_.number(parts_), 1, [&](Value* part) {
      const auto in = [&](Value* r) { return b_.CreateAdd(b_.CreateMul(r, e_.number(parts_)), part); };
      Value* target = in(row);
      e_.for_each_block(updates_, in(update), false, [&](const Site& from) {
        Site to = from;
        to.row = target;
        one(from, to);
      });
    });
  }

  /// Calls body for each update of a row of the chunk, in order. `reports`: indices out of range.
  void for_each_update(bool reports, const std::function<void(Value* update, Value* row)>& body) {
    const auto report = [&](Value* bad) {
      if (reports) e_.when(bad, [&] { e_.fault(e_.kernel().anchor); });
    };
    if (e_.recomputable(index_)) {  // a scalar that no kernel stores
      Value* row = index_value(e_, e_.evaluate_scalar(index_));
      Value* bad = b_.CreateICmpUGE(row, rows_);
      report(bad);
      return e_.when(b_.CreateNot(bad), [&] { body(e_.number(0), row); });
    }
    const ValueId index = e_.value_of(index_);
    const Type& type = e_.stored(index).type;
    const SymbolicLayout at = symbolic_layout(type.shape);
    const bool line = is_flat(type.shape) || at.rows == Dim(1);
    Value* columns = line ? e_.extent(type.shape.elements()) : e_.extent(at.cols);
    llvm::Type* vector = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
    // Sixteen indices, and which of them are the chunk's own rows.
    const auto indices_at = [&](Value* r, Value* c) {
      // As u32: a negative index is a large one. A table has fewer than 2^31 rows.
      Value* rows = b_.CreateZExt(e_.load(e_.address(index, r, c), type.dtype, lanes).value, vector);
      const auto all = [&](Value* x) { return b_.CreateVectorSplat(lanes, b_.CreateTrunc(x, b_.getInt32Ty())); };
      if (reports) report(b_.CreateOrReduce(b_.CreateICmpUGE(rows, all(rows_))));
      return std::pair(rows, b_.CreateICmpULT(b_.CreateSub(rows, all(begin_)), all(b_.CreateSub(end_, begin_))));
    };
    e_.loop(e_.number(0), line ? e_.number(1) : e_.extent(at.rows), 1, [&](Value* r) {
      const auto number = [&](Value* c) { return line ? c : b_.CreateAdd(b_.CreateMul(r, columns), c); };
      Value* stop = b_.CreateAnd(columns, e_.number(-static_cast<std::int64_t>(lanes)));
      hits_.for_each(
          stop, [&](Value* c) { return indices_at(r, c); }, [&](Value* c, Value* row) { body(number(c), b_.CreateZExt(row, b_.getInt64Ty())); });
      e_.loop(stop, columns, 1, [&](Value* c) {
        Value* row = b_.CreateZExt(e_.load(e_.address(index, r, c), type.dtype, 1).value, b_.getInt64Ty());
        report(b_.CreateICmpUGE(row, rows_));
        e_.when(b_.CreateICmpULT(b_.CreateSub(row, begin_), b_.CreateSub(end_, begin_)), [&] { body(number(c), row); });
      });
    });
  }

  Emitter& e_;
  Builder& b_;
  const ir::NodeId index_;
  const Shape &table_, &updates_;
  const Dim inner_;  ///< elements of a row of the table
  const bool by_element_;
  const std::int64_t parts_;  ///< rows in memory of a row of the table
  const Counts counts_;
  const Hits hits_;
  Value *rows_, *begin_, *end_;  ///< of the table; of the chunk
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
    plan_counts(planner, kernel);
  }
  planner.add(std::move(kernel));
}

void ScatterKernel::plan_counts(Planner& planner, Kernel& kernel) {
  if (kernel.memory_for(Memory::staging) != no_value) return;
  const std::int64_t rows = std::get<ir::ScatterAddRows>(planner.graph().node(kernel.anchor).op).rows;
  kernel.memory.push_back({Memory::staging, planner.temporary({DType::i32, {rows}}, str("counts ", kernel.anchor)), true});
}

/// A chunk looks through all indices for those of its own rows: few chunks.
void ScatterKernel::limit(const ir::Graph&, const Kernel&, const Domain& domain, ChunkLimits& limits) const {
  limits.least = std::max(limits.least, (domain.units.factor() / 4 + 7) / 8 * 8 + 8);
  limits.most = std::max(limits.least, limits.most);
}

/// Each row of the updates is added in order.
void ScatterKernel::collect(Emitter& e) const { RowSums(e).collect(); }

void ScatterKernel::emit(Emitter& e) const {
  if (!e.kernel().touched_rows) return CollectedFirstKernel::emit(e);
  RowSums(e).collect_touched([&](Rows rows) { e.store_results(rows); });
}

}  // namespace sinter::codegen
