// The interpreter's kernels, one function per op or family: they cut the work into chunks whose number depends only on the shape, so that results
// have the same bytes on any number of threads, and pass the chunks to the team. Operands and results are checked by the caller.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "ir/ops.h"
#include "runtime/buffer.h"
#include "runtime/flush_to_zero.h"
#include "runtime/interpreter.h"
#include "runtime/team.h"

namespace sinter::runtime::eval {

using Views = std::span<const View>;

/// Approximate elements per chunk: 64 KB of f32.
inline constexpr std::int64_t chunk_elements = 16384;

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

/// Runs f(row) for the rows of a result, with about so many operations each.
template <class F>
void for_rows(const View& out, std::int64_t operations, const F& f) {
  const Layout layout = out.layout();
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, operations));
  const double all = static_cast<double>(operations) * static_cast<double>(layout.rows);
  for_chunks(divide_up(layout.rows, size), all, bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, size, layout.rows);
    for (std::int64_t r = range.begin; r < range.end; ++r) f(r);
  });
  zero_pads(out);
}

/// What the interpreter must know about a pointwise op besides its kernel.
struct PointwiseOp {
  std::size_t index;  ///< in ir::Op
  const void* op;     ///< its struct
  bool keeps_zero;    ///< zeros give zero: pad lanes stay 0
  double flops;       ///< per element, approximate
};
void pointwise(const PointwiseOp& op, Views in, const View& out);

// The kernels of all other ops but leaves: the results of `op`.
void run(const ir::Constant& op, Views in, const View& out);
void run(const ir::Extent& op, Views in, const View& out);
void run(const ir::Reshape& op, Views in, const View& out);
void run(const ir::Broadcast& op, Views in, const View& out);
void run(const ir::Transpose& op, Views in, const View& out);
void run(const ir::Slice& op, Views in, const View& out);
void run(const ir::Pad& op, Views in, const View& out);
void run(const ir::Shift& op, Views in, const View& out);
void run(const ir::Concat& op, Views in, const View& out);
void run(const ir::Iota& op, Views in, const View& out);
void run(const ir::Sum& op, Views in, const View& out);
void run(const ir::Max& op, Views in, const View& out);
void run(const ir::Prod& op, Views in, const View& out);
void run(const ir::Argmax& op, Views in, const View& out);
void run(const ir::Softmax& op, Views in, const View& out);
void run(const ir::LogSoftmax& op, Views in, const View& out);
void run(const ir::Matmul& op, Views in, const View& out);
void run(const ir::Dense& op, Views in, const View& out);
void run(const ir::BatchMatmul& op, Views in, const View& out);
void run(const ir::Conv2D& op, Views in, const View& out);
void run(const ir::Conv2DTranspose& op, Views in, const View& out);
void run(const ir::Conv2DWeight& op, Views in, const View& out);
void run(const ir::MaxPool& op, Views in, const View& out);
void run(const ir::MaxPoolPlace& op, Views in, const View& out);
void run(const ir::PoolTake& op, Views in, const View& out);
void run(const ir::PoolPut& op, Views in, const View& out);
void run(const ir::AveragePool& op, Views in, const View& out);
void run(const ir::AverageSpread& op, Views in, const View& out);
void run(const ir::Cumsum& op, Views in, const View& out);
void run(const ir::ExactTotal& op, Views in, const View& out);
void run(const ir::TakeAlong& op, Views in, const View& out);
void run(const ir::ScatterAddAlong& op, Views in, const View& out);
void run(const ir::TopK& op, Views in, const View& out);
void run(const ir::GatherRows& op, Views in, const View& out);
void run(const ir::ScatterAddRows& op, Views in, const View& out);
void run(const ir::OneHot& op, Views in, const View& out);

/// Elements at the places that a walk says, `fill` where it says none: what moves elements needs no kernel of its own.
void move_elements(const ir::Access& access, Views in, double fill, const View& out);
template <ir::IsMovement O>
void run(const O& op, Views in, const View& out) {
  std::vector<Type> types;
  for (const View& view : in) types.push_back(view.type);
  move_elements(op.access(types, out.type.shape), in, 0, out);
}

/// An op that the interpreter cannot run stops the build.
template <class O>
constexpr void require_kernel() {
  static_assert(
      ir::IsLeaf<O> || ir::IsScan<O> || ir::IsElementwise<O> || requires(const O& op, Views in, const View& out) { run(op, in, out); },
      "the interpreter has no kernel for this op (see O): write one in runtime/eval and declare it in runtime/eval/eval.h");
}

/// The elements in row-major order.
void copy_elements(const View& in, const View& out);
/// The tensor with rows as far apart as those of `like`, in memory of its own if its own are not; `like` has the same columns.
class WithRowsOf {
 public:
  WithRowsOf(const View& like, const View& view);
  const View& view() const { return view_; }

 private:
  View view_;
  Buffer buffer_;
};
/// Rows [begin, end) of a reshape, in rows of `out`.
void copy_rows(const std::byte* in, const Layout& from, std::byte* out, const Layout& to, std::size_t size, std::int64_t begin, std::int64_t end);

}  // namespace sinter::runtime::eval
