// Reductions, and softmax and argmax of f32 rows.
#include <algorithm>
#include <limits>

#include "ir/long_sum.h"
#include "runtime/isa/math.h"
#include "runtime/isa/targets.h"

namespace sinter::runtime::isa::SINTER_TARGET {

namespace {

using B = Block<float>;

// On numbers, vectors of any size and blocks.
template <class T>
struct Plus {
  using Element = T;
  static constexpr T neutral = 0;
  template <class V>
  V operator()(const V& a, const V& b) const {
    return a + b;
  }
};

template <class T>
struct Times {
  using Element = T;
  static constexpr T neutral = 1;
  template <class V>
  V operator()(const V& a, const V& b) const {
    return a * b;
  }
};

/// The greater; a NaN on either side wins.
template <class T>
struct Greater {
  using Element = T;
  static constexpr T neutral = std::is_same_v<T, float> ? -std::numeric_limits<float>::infinity() : std::numeric_limits<T>::lowest();
  template <class V>
  V operator()(const V& a, const V& b) const {
    if constexpr (std::is_same_v<T, float>) return ((b > a) | (b != b)) ? b : a;
    else return b > a ? b : a;
  }
  Block<T> operator()(const Block<T>& a, const Block<T>& b) const { return each(a, b, *this); }
};

template <class F>
using BlockFor = Block<typename F::Element>;

/// Adds a row to four blocks of partial results: the lane of a column depends only on its index in the row.
template <class F>
void accumulate(BlockFor<F> (&sums)[4], const typename F::Element* row, std::int64_t cols, F f) {
  std::int64_t j = 0;
  for (; j + 4 * lanes <= cols; j += 4 * lanes)
    for (int i = 0; i < 4; ++i) sums[i] = f(sums[i], load(row + j + i * lanes));
  int i = 0;
  for (; j + lanes <= cols; j += lanes) {
    sums[i] = f(sums[i], load(row + j));
    ++i;
  }
  if (j < cols) sums[i] = f(sums[i], load(row + j, cols - j, F::neutral));
}

/// Sums of f32 are made of chains (ir/long_sum.h); what else is reduced has no rounding errors to keep, or, as products do, none that can be added.
template <class F>
constexpr bool has_chains = std::is_same_v<F, Plus<float>>;

/// What chains have added up to, or, of other reductions, have been combined to.
template <class F>
class Chains {
 public:
  void add(const BlockFor<F>& chain) {
    if constexpr (has_chains<F>) sum_ = ir::add(sum_, chain);
    else sum_.sum = F{}(sum_.sum, chain);
  }
  const BlockFor<F>& total() const { return sum_.sum; }

 private:
  ir::LongSum<BlockFor<F>> sum_{BlockFor<F>(F::neutral), BlockFor<F>(F::neutral)};
};

template <class F>
typename F::Element reduce_rows(const typename F::Element* in, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  constexpr std::int64_t piece = ir::chain_terms / 2 * 4 * lanes;  // of a row: as many columns as half a chain has
  const F f;
  const BlockFor<F> start(F::neutral);
  BlockFor<F> sums[4] = {start, start, start, start};
  Chains<F> chains;
  std::int64_t length = 0;  // the most terms that a lane of the chain has
  const auto end_chain = [&] {
    chains.add(f(f(sums[0], sums[1]), f(sums[2], sums[3])));
    for (BlockFor<F>& sum : sums) sum = start;
    length = 0;
  };
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < cols; j += piece) {
      const std::int64_t count = std::min(piece, cols - j), more = count / (4 * lanes) + 1;
      if (length + more > ir::chain_terms) end_chain();
      accumulate(sums, in + r * stride + j, count, f);
      length += more;
    }
  end_chain();
  return reduce_lanes(chains.total(), f);
}

/// A strip of `Count` blocks of columns stays in registers over all rows.
template <class F, int Count>
void reduce_strip(const typename F::Element* in, std::int64_t count, std::int64_t stride, typename F::Element* out) {
  const F f;
  Chains<F> chains[Count];
  for (std::int64_t begin = 0; begin < count; begin += ir::chain_terms) {
    BlockFor<F> sums[Count];
    for (BlockFor<F>& sum : sums) sum = BlockFor<F>(F::neutral);
    for (std::int64_t k = begin; k < std::min(count, begin + ir::chain_terms); ++k)
      for (int i = 0; i < Count; ++i) sums[i] = f(sums[i], load(in + k * stride + i * lanes));
    for (int i = 0; i < Count; ++i) chains[i].add(sums[i]);
  }
  for (int i = 0; i < Count; ++i) store(out + i * lanes, chains[i].total());
}

template <class F>
void reduce_columns(const typename F::Element* in, std::int64_t count, std::int64_t stride, std::int64_t width, typename F::Element* out) {
  constexpr int strip = parts == 4 ? 1 : 4;
  std::int64_t j = 0;
  for (; j + strip * lanes <= width; j += strip * lanes) reduce_strip<F, strip>(in + j, count, stride, out + j);
  for (; j + lanes <= width; j += lanes) reduce_strip<F, 1>(in + j, count, stride, out + j);
  if (j == width) return;
  Chains<F> chains;
  for (std::int64_t begin = 0; begin < count; begin += ir::chain_terms) {
    BlockFor<F> sum(F::neutral);
    for (std::int64_t k = begin; k < std::min(count, begin + ir::chain_terms); ++k) sum = F{}(sum, load(in + k * stride + j, width - j));
    chains.add(sum);
  }
  store(out + j, chains.total(), width - j);
}

template <class F>
constexpr Reduction<typename F::Element> reduction() {
  return {&reduce_rows<F>, &reduce_columns<F>};
}

/// Writes f of each block of a row and zeros after the row.
template <class F>
void map_row(const float* in, float* out, const Layout& layout, F&& f) {
  std::int64_t j = 0;
  for (; j + lanes <= layout.cols; j += lanes) store(out + j, f(load(in + j)));
  if (j < layout.cols) store(out + j, f(load(in + j, layout.cols - j)), layout.cols - j);
  for (j = layout.cols; j < layout.stride; ++j) out[j] = 0;
}

float greatest(const float* row, std::int64_t cols) { return reduce_rows<Greater<float>>(row, 1, cols, cols); }

/// The sum of exp(x - greatest) over a row; the terms go to `terms` if that is not null.
template <bool Keep>
float sum_exp(const float* row, std::int64_t cols, float greatest, float* terms) {
  const B top(greatest);
  Chains<Plus<float>> chains;
  B sum(0.0f);
  std::int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) {
    const B term = exp(load(row + j) - top);
    if constexpr (Keep) store(terms + j, term);
    sum = sum + term;
    if ((j + lanes) % (ir::chain_terms * lanes) == 0) {
      chains.add(sum);
      sum = B(0.0f);
    }
  }
  if (j < cols) {
    const B term = exp(load(row + j, cols - j, -std::numeric_limits<float>::infinity()) - top);
    if constexpr (Keep) store(terms + j, term, cols - j);
    sum = sum + term;
  }
  chains.add(sum);
  return reduce_lanes(chains.total(), Plus<float>{});
}

void softmax(const float* in, std::int64_t stride, float* out, const Layout& layout, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = in + r * stride;
    float* to = out + r * layout.stride;
    const B total(sum_exp<true>(row, layout.cols, greatest(row, layout.cols), to));
    map_row(to, to, layout, [&](const B& term) { return term / total; });
  }
}

void log_softmax(const float* in, std::int64_t stride, float* out, const Layout& layout, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = in + r * stride;
    const float top = greatest(row, layout.cols);
    const B shift(top), log_total = log(B(sum_exp<false>(row, layout.cols, top, nullptr)));
    map_row(row, out + r * layout.stride, layout, [&](const B& x) { return x - shift - log_total; });
  }
}

std::int32_t argmax(const float* row, std::int64_t cols) {
  const float top = greatest(row, cols);
  std::int64_t i = 0;
  if (top != top)
    while (i < cols && row[i] == row[i]) ++i;
  else
    while (i < cols && row[i] != top) ++i;
  return static_cast<std::int32_t>(i);
}

}  // namespace

void add_reductions(Kernels& table) {
  table.sum = reduction<Plus<float>>();
  table.max = reduction<Greater<float>>();
  table.prod = reduction<Times<float>>();
  table.whole_sum = reduction<Plus<std::uint32_t>>();
  table.whole_max = reduction<Greater<std::uint32_t>>();
  table.whole_prod = reduction<Times<std::uint32_t>>();
  table.signed_max = reduction<Greater<std::int32_t>>();
  table.softmax = &softmax;
  table.log_softmax = &log_softmax;
  table.argmax = &argmax;
}

}  // namespace sinter::runtime::isa::SINTER_TARGET
