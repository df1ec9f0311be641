#include "codegen/kernels/short_rows.h"

#include <numeric>

#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class ShortRows {
 public:
  ShortRows(Emitter& e, Combine how, ValueId value, Value* first)
      : e_(e), b_(e.builder()), how_(how), flat_(is_flat(e.stored(value).type.shape)), stride_(flat_ ? 1 : e.stored(value).layout().stride.factor()) {
    constexpr std::int64_t most_floats = 64;  // that registers hold beside what is added
    together_ = lanes / std::gcd<std::int64_t>(lanes, stride_);
    while (2 * together_ * stride_ <= most_floats) together_ *= 2;
    begin_ = e.address(value, first, flat_ ? first : e.number(0));
  }

  /// The sum of rows, all of whose columns are in its first lanes; others are any number.
  Vec add(Rows rows, unsigned width) {
    std::vector<Vec> vectors = combine_chains(e_, how_, DType::f32, lanes, static_cast<std::size_t>(together_ * stride_ / lanes), rows.first,
                                              rows.last, ir::chain_terms * together_, [&](Value* from, Value* to) { return add_chain(from, to); });
    if (lanes % stride_ == 0) vectors = {combine_pairwise(std::move(vectors), how_)};
    return flat_ ? horizontal(vectors[0], how_) : add_rows_of(vectors, width);
  }

 private:
  Value* float_at(Value* from, Value* offset) { return b_.CreateInBoundsGEP(e_.memory_type(DType::f32, 1), from, {offset}); }
  static std::int64_t place_of(std::size_t vector) { return static_cast<std::int64_t>(vector) * lanes; }
  /// Vector number v of the rows from `row` on.
  Value* vector_at(Value* row, std::size_t v) {
    return float_at(begin_, b_.CreateAdd(b_.CreateMul(row, e_.number(stride_)), e_.number(place_of(v))));
  }

  /// Rows [from, to), lane by lane.
  std::vector<Vec> add_chain(Value* from, Value* to) {
    std::vector<llvm::AllocaInst*> sums;
    for (std::int64_t place = 0; place < together_ * stride_; place += lanes) sums.push_back(neutral_variable(e_, how_, DType::f32, lanes, "total"));
    const auto value = [&](llvm::AllocaInst* sum) { return Vec(b_.CreateLoad(sum->getAllocatedType(), sum), DType::f32); };
    const auto add = [&](std::size_t v, const Vec& x) { b_.CreateStore(combine(value(sums[v]), x, how_).value, sums[v]); };
    Value *left = b_.CreateURem(b_.CreateSub(to, from), e_.number(together_)), *whole = b_.CreateSub(to, left);
    e_.loop(from, whole, together_, [&](Value* row) {
      for (std::size_t v = 0; v < sums.size(); ++v) add(v, e_.load(vector_at(row, v), DType::f32, lanes));
    });
    // The last rows go to the lanes that they have beside others.
    e_.when(b_.CreateICmpNE(left, e_.number(0)), [&] {
      Value* floats = b_.CreateVectorSplat(lanes, b_.CreateTrunc(b_.CreateMul(left, e_.number(stride_)), b_.getInt32Ty()));
      for (std::size_t v = 0; v < sums.size(); ++v) {
        Value* is_left = b_.CreateICmpULT(lane_numbers(b_.getInt32(static_cast<unsigned>(place_of(v))), lanes), floats);
        const Vec x = e_.load_lanes(vector_at(whole, v), DType::f32, is_left);
        add(v, {b_.CreateSelect(is_left, x.value, materialize(Vec(identity(how_, DType::f32)), x)), DType::f32});
      }
    });
    std::vector<Vec> totals;
    for (llvm::AllocaInst* sum : sums) totals.push_back(value(sum));
    return totals;
  }

  /// The rows that lie in these vectors.
  Vec add_rows_of(const std::vector<Vec>& vectors, unsigned width) {
    const std::int64_t floats = place_of(vectors.size());
    llvm::AllocaInst* as_rows = e_.variable(llvm::ArrayType::get(e_.memory_type(DType::f32, 1), static_cast<std::uint64_t>(floats)), "rows", 64);
    for (std::size_t v = 0; v < vectors.size(); ++v)
      b_.CreateAlignedStore(vectors[v].value, float_at(as_rows, e_.number(place_of(v))), llvm::Align(64));
    std::vector<Vec> rows;
    for (std::int64_t from = 0; from < floats; from += stride_)
      rows.push_back(e_.load(float_at(as_rows, e_.number(from)), DType::f32, static_cast<unsigned>(stride_)));
    std::vector<int> places;
    for (unsigned i = 0; i < width; ++i) places.push_back(static_cast<int>(std::min<std::int64_t>(i, stride_ - 1)));
    return {b_.CreateShuffleVector(combine_pairwise(std::move(rows), how_).value, places), DType::f32};
  }

  Emitter& e_;
  Builder& b_;
  const Combine how_;
  const bool flat_;
  const std::int64_t stride_;  ///< floats from one row to the next
  std::int64_t together_ = 1;  ///< rows that are whole vectors
  Value* begin_ = nullptr;     ///< of the row of number 0
};

}  // namespace

Vec add_short_rows(Emitter& e, Combine how, ValueId value, Rows rows, Value* first, const Site& site) {
  return ShortRows(e, how, value, first).add(rows, site.width);
}

}  // namespace sinter::codegen
