// Products: c = op(a) · op(b) with tiles of c in registers. Every element is a chain of multiply-adds in the order of the contracted index that
// starts at 0, or a long sum of such chains, so tile and block sizes, chunks and (with FMA) targets don't affect the result.
//
// b is read in place, rows of whole vectors, and a by scalar broadcast: nothing is packed, so that products of few rows (a chunk of a compiled step)
// run as fast as large ones. Only where b is read transposed, its rows end before the last vector does, or they are long and used many times, a
// panel of it is copied to the stack. One exception to the order: long products of two contiguous vectors use 64 lanes, as reductions do.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ir/long_sum.h"
#include "runtime/isa/block.h"
#include "runtime/isa/targets.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace sinter::runtime::isa::SINTER_TARGET {

namespace {

using V = Vector<float>;

// Tiles of rows × vectors that leave registers for a row of b and an element of a.
#if defined(__AVX512F__)
constexpr int most_vectors = 5;
constexpr std::array<int, most_vectors> tile_rows{8, 8, 8, 6, 5};
#else
constexpr int most_vectors = 3;
constexpr std::array<int, most_vectors> tile_rows{8, 6, 4};
#endif
/// Contracted indices per pass: as many as keep a panel of b in the second-level cache, or on the stack; fewer if each is another row (another page)
/// of a.
constexpr std::int64_t block_in_place = 512, block_copied = 128, block_transposed = 64;
/// Rows of b with at least this stride, in elements, are copied if at least so many rows of c share the copy.
constexpr std::int64_t long_stride = 512, sharing_rows = 64;
/// Vectors of at least this length are multiplied in lanes.
constexpr std::int64_t long_vector = 128;

/// The last vector of a row, of which only the first columns exist.
struct Tail {
#if defined(__AVX512F__)
  __mmask16 mask;
  explicit Tail(std::int64_t columns) : mask(static_cast<__mmask16>((1u << columns) - 1)) {}
  V load(const float* from) const { return (V)_mm512_maskz_loadu_ps(mask, from); }
  V load_wide(const float* from) const { return load(from); }
  void store(float* to, V v) const { _mm512_mask_storeu_ps(to, mask, (__m512)v); }
#else
  std::int64_t columns;
  explicit Tail(std::int64_t count) : columns(count) {}
  V load(const float* from) const {
    if (columns == width) return load_vector(from);
    float memory[width] = {};
    for (std::int64_t i = 0; i < columns; ++i) memory[i] = from[i];
    return load_vector(memory);
  }
  /// The case where the row continues to the end of the vector.
  V load_wide(const float* from) const { return load_vector(from); }
  void store(float* to, V v) const {
    if (columns == width) return store_vector(to, v);
    float memory[width];
    store_vector(memory, v);
    for (std::int64_t i = 0; i < columns; ++i) to[i] = memory[i];
  }
#endif
};

/// One pass over k contracted indices for a tile of c.
struct Pass {
  const float* a;
  const float* b;
  float* c;
  std::int64_t lda, ldb, ldc, k;
  bool first;  ///< c starts at 0
  Tail tail;
};

/// Calls f with 0, 1, …, Count - 1 as constants: the compiler keeps an array in registers only if it never sees it indexed by a variable.
template <int Count, class F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>)
      __attribute__((always_inline)) { (f(std::integral_constant<int, I>{}), ...); }(std::make_integer_sequence<int, Count>{});
}

template <int Rows, int Vectors, bool TransposeA>
void tile(const Pass& p) {
  constexpr int last = Vectors - 1;
  const Tail tail = p.tail;
  V acc[Rows][Vectors];
  unroll<Rows>([&](auto i) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto j) __attribute__((always_inline)) {
      const float* from = p.c + i * p.ldc + j * width;
      acc[i][j] = p.first ? V{} : j < last ? load_vector(from) : tail.load(from);
    });
  });
  const float *a = p.a, *b = p.b;
  const std::int64_t lda = p.lda, ldb = p.ldb;
  for (std::int64_t k = p.k; k > 0; --k) {
    V row[Vectors];
    unroll<Vectors>([&](auto j) __attribute__((always_inline)) { row[j] = j < last ? load_vector(b + j * width) : tail.load_wide(b + j * width); });
    unroll<Rows>([&](auto i) __attribute__((always_inline)) {
      const V x = splat(TransposeA ? a[i] : a[i * lda]);
      unroll<Vectors>([&](auto j) __attribute__((always_inline)) { acc[i][j] = multiply_add(x, row[j], acc[i][j]); });
    });
    a += TransposeA ? lda : 1;
    b += ldb;
  }
  unroll<Rows>([&](auto i) __attribute__((always_inline)) {
    unroll<Vectors>([&](auto j) __attribute__((always_inline)) {
      float* to = p.c + i * p.ldc + j * width;
      if constexpr (j < last) store_vector(to, acc[i][j]);
      else tail.store(to, acc[i][j]);
    });
  });
}

using Tile = void (*)(const Pass&);

/// Tiles by number of vectors - 1 and rows - 1.
template <bool TransposeA>
constexpr auto tiles = [] {
  std::array<std::array<Tile, 8>, most_vectors> result{};
  const auto fill = [&]<std::size_t... J>(std::index_sequence<J...>) {
    const auto fill_rows = [&]<std::size_t Column, std::size_t... I>(std::integral_constant<std::size_t, Column>, std::index_sequence<I...>) {
      ((result[Column][I] = &tile<static_cast<int>(I) + 1, static_cast<int>(Column) + 1, TransposeA>), ...);
    };
    (fill_rows(std::integral_constant<std::size_t, J>{}, std::make_index_sequence<static_cast<std::size_t>(tile_rows[J])>{}), ...);
  };
  fill(std::make_index_sequence<most_vectors>{});
  return result;
}();

/// Rows [from, from + count) of the contraction and columns [column, column + columns) of op(b), as rows of whole vectors.
void copy_panel(const GemmCall& g, std::int64_t from, std::int64_t count, std::int64_t column, std::int64_t columns, float* panel,
                std::int64_t stride) {
  if (g.transpose_b) {
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t k = 0; k < count; ++k) panel[k * stride + j] = g.b[(column + j) * g.ldb + from + k];
    for (std::int64_t k = 0; k < count; ++k) std::fill(panel + k * stride + columns, panel + (k + 1) * stride, 0.0f);
  } else {
    for (std::int64_t k = 0; k < count; ++k) {
      const float* row = g.b + (from + k) * g.ldb + column;
      std::fill(std::copy(row, row + columns, panel + k * stride), panel + (k + 1) * stride, 0.0f);
    }
  }
}

/// The contracted indices [first, last), as one chain.
template <bool TransposeA>
void chain(const GemmCall& g, std::int64_t first, std::int64_t last) {
  const std::int64_t vectors = (g.f + width - 1) / width;
#if defined(__AVX512F__)
  const bool short_rows = false;
#else
  const bool short_rows = g.ldb < vectors * width;
#endif
  const bool copied = g.transpose_b || short_rows || (g.ldb >= long_stride && g.m >= sharing_rows);
  const std::int64_t block = TransposeA ? block_transposed : copied ? block_copied : block_in_place;
  alignas(64) float panel[block_copied * most_vectors * width];
  const std::int64_t pieces = (vectors + most_vectors - 1) / most_vectors;
  for (std::int64_t from = first; from < std::max(last, first + 1); from += block) {
    const std::int64_t count = std::min(block, last - from);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t begin = vectors * piece / pieces, wide = vectors * (piece + 1) / pieces - begin;
      const std::int64_t column = begin * width, columns = std::min(g.f - column, wide * width);
      Pass pass{nullptr, g.b + from * g.ldb + column, nullptr, g.lda, g.ldb, g.ldc, count, from == first, Tail(columns - (wide - 1) * width)};
      if (copied) {
        copy_panel(g, from, count, column, columns, panel, wide * width);
        pass.b = panel;
        pass.ldb = wide * width;
      }
      const auto& by_rows = tiles<TransposeA>[static_cast<std::size_t>(wide - 1)];
      const std::int64_t most_rows = tile_rows[static_cast<std::size_t>(wide - 1)], strips = (g.m + most_rows - 1) / most_rows;
      for (std::int64_t strip = 0; strip < strips; ++strip) {
        const std::int64_t row = g.m * strip / strips, rows = g.m * (strip + 1) / strips - row;
        pass.a = g.a + (TransposeA ? from * g.lda + row : row * g.lda + from);
        pass.c = g.c + row * g.ldc + column;
        by_rows[static_cast<std::size_t>(rows - 1)](pass);
      }
    }
  }
}

/// Chains, and their results added (ir/long_sum.h).
template <bool TransposeA>
void product(const GemmCall& g) {
  if (g.k <= ir::chain_products) return chain<TransposeA>(g, 0, g.k);
  thread_local std::vector<float> memory;  // reused
  memory.assign(static_cast<std::size_t>(2 * g.m * g.f), 0.0f);
  const auto each_row = [&](auto&& f) {
    for (std::int64_t i = 0; i < g.m; ++i) f(g.c + i * g.ldc, memory.data() + i * g.f, memory.data() + (g.m + i) * g.f);
  };
  for (std::int64_t begin = 0; begin < g.k; begin += ir::chain_products) {
    chain<TransposeA>(g, begin, std::min(g.k, begin + ir::chain_products));
    each_row([&](const float* c, float* sum, float* error) {
      for (std::int64_t j = 0; j < g.f; ++j) {
        const auto next = ir::add(ir::LongSum<float>{sum[j], error[j]}, c[j]);
        sum[j] = next.sum;
        error[j] = next.error;
      }
    });
  }
  each_row([&](float* c, const float* sum, const float*) { std::copy_n(sum, g.f, c); });
}

float dot(const float* a, const float* b, std::int64_t k) {
  using B = Block<float>;
  const B zero(0.0f);
  ir::LongSum<B> chains{zero, zero};
  B sums[4] = {zero, zero, zero, zero};
  const auto end_chain = [&] {
    chains = ir::add(chains, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (B& sum : sums) sum = zero;
  };
  std::int64_t i = 0;
  const auto add = [](B& sum, const B& x, const B& y) {
    for (int part = 0; part < parts; ++part) sum.v[part] = multiply_add(x.v[part], y.v[part], sum.v[part]);
  };
  for (; i + 4 * lanes <= k; i += 4 * lanes) {
    if (i && i % (ir::chain_products * lanes) == 0) end_chain();
    for (int s = 0; s < 4; ++s) add(sums[s], load(a + i + s * lanes), load(b + i + s * lanes));
  }
  for (; i + lanes <= k; i += lanes) add(sums[0], load(a + i), load(b + i));
  if (i < k) add(sums[0], load(a + i, k - i), load(b + i, k - i));
  end_chain();
  return reduce_lanes(chains.sum, [](auto x, auto y) { return x + y; });
}

/// c is one column.
void product_column(const GemmCall& g) {
  // A matrix of one column and its transpose of one row are the same memory.
  const bool a_is_column = g.lda == 1 && (g.transpose_a ? g.m : g.k) == 1, contiguous_a = !g.transpose_a || a_is_column;
  const bool contiguous_b = g.transpose_b || g.ldb == 1;
  if (g.k >= long_vector && contiguous_a && contiguous_b) {
    for (std::int64_t i = 0; i < g.m; ++i) g.c[i * g.ldc] = dot(g.a + i * g.lda, g.b, g.k);
  } else if (g.ldc == 1 && (g.transpose_a || (a_is_column && g.k == 1))) {
    // The column as a row: c^T = b^T a.
    product<true>({g.b, g.a, g.c, 1, g.k, g.m, g.transpose_b ? 1 : g.ldb, a_is_column ? g.m : g.lda, g.m, 1, 0});
  } else if (g.transpose_a) {
    product<true>(g);
  } else {
    product<false>(g);
  }
}

void gemm(const GemmCall* call) {
  if (call->m <= 0 || call->f <= 0) return;
  if (call->f == 1) product_column(*call);
  else if (call->transpose_a) product<true>(*call);
  else product<false>(*call);
}

}  // namespace

void add_product(Kernels& table) { table.gemm = &gemm; }

}  // namespace sinter::runtime::isa::SINTER_TARGET
