// Reductions of [outer, reduced, inner]. Long ones are cut into pieces, which are reduced separately, and their results are reduced in order.
#include "runtime/buffer.h"
#include "runtime/eval/eval.h"
#include "runtime/isa/kernels.h"

namespace sinter::runtime::eval {

namespace {

/// The offset of element i of a tensor.
std::int64_t place(const Layout& layout, std::int64_t i) { return i / layout.cols * layout.stride + i % layout.cols; }

/// The case without inner dimensions: each reduced part is `rows` whole rows (or, if those are contiguous, one long row).
template <class T>
void reduce_to_elements(const isa::Reduction<T>& kernels, std::int64_t outer, std::int64_t reduced, const View& in, const View& out) {
  const Layout layout = in.layout(), result = out.layout();
  const bool contiguous = layout.stride == layout.cols || reduced <= layout.cols;
  const std::int64_t cols = contiguous ? reduced : layout.cols,
                     stride = contiguous ? (layout.stride == layout.cols ? reduced : layout.stride) : layout.stride;
  const std::int64_t rows = contiguous ? 1 : reduced / layout.cols;
  const T* x = in.as<T>();
  T* y = out.as<T>();
  const double elements = static_cast<double>(outer * reduced);

  const std::int64_t rows_a_piece = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, cols)),
                     row_pieces = divide_up(rows, rows_a_piece);
  const std::int64_t column_pieces = rows == 1 ? divide_up(cols, chunk_elements) : 1;
  const std::int64_t pieces = reduced > 2 * chunk_elements ? row_pieces * column_pieces : 1;
  if (pieces == 1) {
    const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, reduced));
    for_chunks(divide_up(outer, size), elements, 4 * elements, [&](std::int64_t chunk) {
      const Range range(chunk, size, outer);
      for (std::int64_t o = range.begin; o < range.end; ++o) y[place(result, o)] = kernels.rows(x + o * rows * stride, rows, cols, stride);
    });
  } else {
    const Buffer buffer = Buffer::allocate(static_cast<std::size_t>(outer * pieces) * sizeof(T));
    T* partial = reinterpret_cast<T*>(buffer.data());
    for_chunks(outer * pieces, elements, 4 * elements, [&](std::int64_t chunk) {
      const T* part = x + chunk / pieces * rows * stride;
      const Range r(rows == 1 ? 0 : chunk % pieces, rows_a_piece, rows), c(rows == 1 ? chunk % pieces : 0, rows == 1 ? chunk_elements : cols, cols);
      partial[chunk] = kernels.rows(part + r.begin * stride + c.begin, r.end - r.begin, c.end - c.begin, stride);
    });
    for (std::int64_t o = 0; o < outer; ++o) y[place(result, o)] = kernels.rows(partial + o * pieces, 1, pieces, pieces);
  }
  zero_pads(out);
}

/// The last dimension is kept, so whole slabs of rows are combined, including pad lanes, which stay 0. The result has the operand's rows.
template <class T>
void reduce_to_slabs(const isa::Reduction<T>& kernels, std::int64_t outer, std::int64_t reduced, std::int64_t inner, const View& in,
                     const View& out) {
  const Layout layout = in.layout();
  const std::int64_t slab = inner / layout.cols * layout.stride;
  const T* x = in.as<T>();
  T* y = out.as<T>();
  const double elements = static_cast<double>(outer * reduced) * static_cast<double>(slab);
  const std::int64_t count = std::max<std::int64_t>(64, chunk_elements / slab), pieces = reduced > 2 * count ? divide_up(reduced, count) : 1;
  if (pieces == 1) {
    const std::int64_t width = std::max<std::int64_t>(256, chunk_elements / std::max<std::int64_t>(1, reduced) / 64 * 64),
                       strips = divide_up(slab, width);
    for_chunks(outer * strips, elements, 4 * elements, [&](std::int64_t chunk) {
      const std::int64_t o = chunk / strips;
      const Range range(chunk % strips, width, slab);
      kernels.columns(x + o * reduced * slab + range.begin, reduced, slab, range.end - range.begin, y + o * slab + range.begin);
    });
    return;
  }
  const Buffer buffer = Buffer::allocate(static_cast<std::size_t>(outer * pieces * slab) * sizeof(T));
  T* partial = reinterpret_cast<T*>(buffer.data());
  for_chunks(outer * pieces, elements, 4 * elements, [&](std::int64_t chunk) {
    const Range range(chunk % pieces, count, reduced);
    kernels.columns(x + (chunk / pieces * reduced + range.begin) * slab, range.end - range.begin, slab, slab, partial + chunk * slab);
  });
  for (std::int64_t o = 0; o < outer; ++o) kernels.columns(partial + o * pieces * slab, pieces, slab, slab, y + o * slab);
}

template <class T>
void reduce_with(const isa::Reduction<T>& kernels, const ir::ReduceExtents& extents, const View& in, const View& out) {
  const std::int64_t outer = extents.outer.factor(), reduced = extents.reduced.factor(), inner = extents.inner.factor();
  if (outer == 0 || inner == 0) return;
  if (inner == 1) return reduce_to_elements(kernels, outer, reduced, in, out);
  if (in.layout().stride == out.layout().stride) return reduce_to_slabs(kernels, outer, reduced, inner, in, out);
  const Buffer buffer = Buffer::allocate(storage_bytes(out.type, {}, in.unpadded));
  const View result{out.type, buffer.data(), in.unpadded};
  reduce_to_slabs(kernels, outer, reduced, inner, in, result);
  copy_elements(result, out);
}

enum class Reduction { sum, max, prod };

void reduce(Reduction kind, std::int64_t first, std::int64_t last, const View& in, const View& out) {
  const ir::ReduceExtents extents = ir::reduce_extents(in.type.shape, first, last);
  const isa::Kernels& k = isa::kernels();
  if (is_float(in.type.dtype)) reduce_with(kind == Reduction::sum ? k.sum : kind == Reduction::max ? k.max : k.prod, extents, in, out);
  else if (kind == Reduction::max && in.type.dtype == DType::i32) reduce_with(k.signed_max, extents, in, out);
  else reduce_with(kind == Reduction::sum ? k.whole_sum : kind == Reduction::max ? k.whole_max : k.whole_prod, extents, in, out);
}

}  // namespace

void run(const ir::Sum& op, Views in, const View& out) { reduce(Reduction::sum, op.first, op.last, in[0], out); }
void run(const ir::Max& op, Views in, const View& out) { reduce(Reduction::max, op.first, op.last, in[0], out); }
void run(const ir::Prod& op, Views in, const View& out) { reduce(Reduction::prod, op.first, op.last, in[0], out); }

void run(const ir::Argmax&, Views operands, const View& out) {
  const View& in = operands[0];
  const Layout layout = in.layout(), result = out.layout();
  std::int32_t* y = out.as<std::int32_t>();
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, layout.stride));
  const double elements = static_cast<double>(layout.padded_elements());
  for_chunks(divide_up(layout.rows, size), 2 * elements, 4 * elements, [&](std::int64_t chunk) {
    const Range range(chunk, size, layout.rows);
    for (std::int64_t r = range.begin; r < range.end; ++r)
      y[place(result, r)] = isa::kernels().argmax(in.as<float>() + r * layout.stride, layout.cols);
  });
  zero_pads(out);
}

namespace {

void softmax(isa::RowsKernel kernel, const View& in, const View& out) {
  const Layout layout = out.layout();
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / 4 / std::max<std::int64_t>(1, layout.stride));
  const double elements = static_cast<double>(layout.padded_elements());
  for_chunks(divide_up(layout.rows, size), 60 * elements, 8 * elements, [&](std::int64_t chunk) {
    const Range range(chunk, size, layout.rows);
    kernel(in.as<float>(), in.layout().stride, out.as<float>(), layout, range.begin, range.end);
  });
}

}  // namespace

void run(const ir::Softmax&, Views in, const View& out) { softmax(isa::kernels().softmax, in[0], out); }
void run(const ir::LogSoftmax&, Views in, const View& out) { softmax(isa::kernels().log_softmax, in[0], out); }

}  // namespace sinter::runtime::eval
