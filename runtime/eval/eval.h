// The interpreter's kernels, one function per op or family: they cut the work into chunks whose number depends only on the shape, so that results
// have the same bytes on any number of threads, and pass the chunks to the team. Operands and results are checked by the caller.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/flush_to_zero.h"
#include "runtime/interpreter.h"
#include "runtime/team.h"

namespace sinter::runtime::eval {

using Views = std::span<const View>;

/// Approximate elements per chunk: 64 KB of f32.
inline constexpr std::int64_t chunk_elements = 16384;

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Chunk c of [0, count) cut into pieces of `size`.
struct Range {
  std::int64_t begin, end;
  Range(std::int64_t chunk, std::int64_t size, std::int64_t count) : begin(chunk * size), end(std::min(count, begin + size)) {}
};

/// Runs f(chunk) on as many threads as pay for the work (of all chunks together).
template <class F>
void for_chunks(std::int64_t chunks, double flops, double bytes, const F& f) {
  parallel_for(chunks, chunks > 1 ? threads_for(flops, bytes) : 1, [&](std::int64_t chunk) {
    const FlushToZero flush;
    f(chunk);
  });
}

/// Zeros the pad lanes of rows [begin, end).
inline void zero_pads(std::byte* data, const Layout& layout, std::size_t size, std::int64_t begin, std::int64_t end) {
  const auto bytes = static_cast<std::int64_t>(size);
  if (layout.stride > layout.cols)
    for (std::int64_t r = begin; r < end; ++r)
      std::memset(data + (r * layout.stride + layout.cols) * bytes, 0, static_cast<std::size_t>((layout.stride - layout.cols) * bytes));
}
inline void zero_pads(const View& view) {
  const Layout layout = view.layout();
  zero_pads(view.data, layout, size_of(view.type.dtype), 0, layout.rows);
}

inline double bytes_of(const View& view) {
  return static_cast<double>(view.layout().padded_elements()) * static_cast<double>(size_of(view.type.dtype));
}

/// What the interpreter must know about a pointwise op besides its kernel.
struct PointwiseOp {
  std::size_t index;  ///< in ir::Op
  const void* op;     ///< its struct
  bool keeps_zero;    ///< zeros give zero: pad lanes stay 0
  double flops;       ///< per element, approximate
};
void pointwise(const PointwiseOp& op, Views in, const View& out);

/// Every element, pad lanes too.
void fill(double value, const View& out);
void reshape(const View& in, const View& out);
void broadcast(const View& in, const View& out);
void transpose(const View& in, const View& out);
void window(const ir::Window& window, Views in, const View& out);
void iota(const View& out);

enum class Reduction { sum, max, prod };
void reduce(Reduction kind, std::int64_t first, std::int64_t last, const View& in, const View& out);
void argmax(const View& in, const View& out);
void softmax(bool logarithm, const View& in, const View& out);

/// `bias` may be null.
void product(bool transpose_a, bool transpose_b, const View& a, const View& b, const View* bias, const View& out);

/// One product per pair of matrices.
void batch_product(bool transpose_a, bool transpose_b, const View& a, const View& b, const View& out);

void conv2d(const ir::Convolution& c, const View& x, const View& w, const View& y);
void conv2d_transpose(const ir::Convolution& c, const View& y, const View& w, const View& x);
void conv2d_weight(const ir::Convolution& c, const View& x, const View& y, const View& w);

void max_pool(const ir::Sliding& s, const View& in, const View& out);
void max_pool_place(const ir::Sliding& s, const View& in, const View& out);
void pool_take(const ir::Sliding& s, const View& in, const View& place_of, const View& out);
void pool_put(const ir::Sliding& s, const View& place_of, const View& in, const View& out);
void average_pool(const ir::Sliding& s, const View& in, const View& out);
void average_spread(const ir::Sliding& s, const View& in, const View& out);

void cumsum(std::size_t axis, bool reverse, const View& in, const View& out);
void take_along(const View& x, const View& index, const View& out);
void scatter_add_along(const View& index, const View& updates, const View& out);
void top_k(const View& x, const View& out);

void gather_rows(const View& table, const View& index, const View& out);
void scatter_add_rows(const View& index, const View& updates, const View& out);
void one_hot(const View& index, const View& out);

/// Rows [begin, end) of a reshape, in rows of `out`.
void copy_rows(const std::byte* in, const Layout& from, std::byte* out, const Layout& to, std::size_t size, std::int64_t begin, std::int64_t end);

}  // namespace sinter::runtime::eval
