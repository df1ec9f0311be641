// Ops that move elements: reshape and transpose, and the copies between padded and dense memory.
#include "runtime/eval/eval.h"

namespace sinter::runtime::eval {

void copy_rows(const std::byte* in, const Layout& from, std::byte* out, const Layout& to, std::size_t size, std::int64_t begin, std::int64_t end) {
  const auto bytes = static_cast<std::int64_t>(size);
  if (from == to) {
    std::memcpy(out + begin * to.stride * bytes, in + begin * to.stride * bytes, static_cast<std::size_t>((end - begin) * to.stride * bytes));
    return;
  }
  const bool in_order = from.stride == from.cols || from.rows == 1;
  if (in_order && (to.stride == to.cols || to.rows == 1)) {
    std::memcpy(out + begin * to.cols * bytes, in + begin * to.cols * bytes, static_cast<std::size_t>((end - begin) * to.cols * bytes));
    return zero_pads(out, to, size, begin, end);
  }
  for (std::int64_t r = begin; r < end; ++r) {
    std::byte* row = out + r * to.stride * bytes;
    for (std::int64_t j = 0; j < to.cols;) {  // runs that are contiguous on both sides
      const std::int64_t element = r * to.cols + j, column = element % from.cols, count = std::min(to.cols - j, from.cols - column);
      std::memcpy(row + j * bytes, in + (element / from.cols * from.stride + column) * bytes, static_cast<std::size_t>(count * bytes));
      j += count;
    }
  }
  zero_pads(out, to, size, begin, end);
}

namespace {

/// Every element, pad lanes too.
void fill(double value, const View& out) {
  with_element_type(out.type.dtype, [&]<class T>(T) { std::fill_n(out.as<T>(), out.layout().padded_elements(), static_cast<T>(value)); });
}

}  // namespace

void run(const ir::Constant& op, Views, const View& out) { fill(op.value, out); }
void run(const ir::Extent& op, Views, const View& out) { fill(static_cast<double>(op.dim.extent(0)), out); }

void copy_elements(const View& in, const View& out) {
  const Layout from = in.layout(), to = out.layout();
  const std::size_t size = size_of(out.type.dtype);
  const std::int64_t rows = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, to.stride));
  for_chunks(divide_up(to.rows, rows), 0, bytes_of(in) + bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, rows, to.rows);
    copy_rows(in.data, from, out.data, to, size, range.begin, range.end);
  });
}

void run(const ir::Reshape&, Views in, const View& out) { copy_elements(in[0], out); }

namespace {

template <ir::IsWindow O>
void place(const O& op, Views in, const View& out) {
  std::vector<Type> types;
  for (const View& view : in) types.push_back(view.type);
  const ir::Window window = op.window(types);
  const Layout to = out.layout();
  const std::size_t size = size_of(out.type.dtype);
  const auto bytes = static_cast<std::int64_t>(size);
  const Shape& shape = out.type.shape;
  const std::int64_t outer = shape.product(0, window.axis).factor(), along = shape[window.axis].factor(),
                     inner = shape.product(window.axis + 1, shape.rank()).factor();
  const bool covered = std::all_of(in.begin(), in.end(), [&](const View& x) { return x.type.shape[window.axis].factor() <= along; }) && in.size() > 1;
  if (!covered) fill(window.fill, out);
  for (std::size_t k = 0; k < in.size(); ++k) {
    const Layout from = in[k].layout();
    const std::int64_t own = in[k].type.shape[window.axis].factor(), offset = window.offsets[k].factor(), first = std::max<std::int64_t>(0, -offset),
                       last = std::min(own, along - offset);
    // Runs of (last - first) · inner elements, cut at the ends of rows on both sides.
    for_chunks(outer, 0, bytes_of(out), [&](std::int64_t o) {
      std::int64_t source = (o * own + first) * inner, target = (o * along + first + offset) * inner;
      for (std::int64_t left = (last - first) * inner; left > 0;) {
        const std::int64_t in_column = source % from.cols, out_column = target % to.cols;
        const std::int64_t count = std::min({left, from.cols - in_column, to.cols - out_column});
        std::memcpy(out.data + (target / to.cols * to.stride + out_column) * bytes,
                    in[k].data + (source / from.cols * from.stride + in_column) * bytes, static_cast<std::size_t>(count * bytes));
        source += count, target += count, left -= count;
      }
    });
  }
  zero_pads(out);
}

}  // namespace

void run(const ir::Slice& op, Views in, const View& out) { place(op, in, out); }
void run(const ir::Pad& op, Views in, const View& out) { place(op, in, out); }
void run(const ir::Concat& op, Views in, const View& out) { place(op, in, out); }

namespace {

/// T: f32, or u32 for all integers, which wrap.
template <class T>
void running_sums(std::size_t axis, bool reverse, const View& in, const View& out) {
  const Layout layout = out.layout();
  const Shape& shape = out.type.shape;
  const std::int64_t outer = shape.product(0, axis).factor(), along = shape[axis].factor(), inner = shape.product(axis + 1, shape.rank()).factor();
  const auto place = [&](std::int64_t e) { return e / layout.cols * layout.stride + e % layout.cols; };
  const double elements = static_cast<double>(layout.elements());
  for_chunks(outer, elements, 8 * elements, [&](std::int64_t o) {
    const T* x = in.as<T>();
    T* y = out.as<T>();
    for (std::int64_t k = 0; k < along; ++k)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t e = (o * along + (reverse ? along - 1 - k : k)) * inner + i, at = place(e);
        y[at] = k ? y[place(reverse ? e + inner : e - inner)] + x[at] : x[at];
      }
  });
  zero_pads(out);
}

}  // namespace

void run(const ir::Cumsum& op, Views in, const View& out) {
  if (is_float(out.type.dtype)) running_sums<float>(static_cast<std::size_t>(op.axis), op.reverse, in[0], out);
  else running_sums<std::uint32_t>(static_cast<std::size_t>(op.axis), op.reverse, in[0], out);
}

void run(const ir::Iota&, Views, const View& out) {
  const Layout layout = out.layout();
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, layout.stride));
  for_chunks(divide_up(layout.rows, size), 0, bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, size, layout.rows);
    for (std::int64_t r = range.begin; r < range.end; ++r)
      for (std::int64_t c = 0; c < layout.cols; ++c) out.as<std::uint32_t>()[r * layout.stride + c] = static_cast<std::uint32_t>(r * layout.cols + c);
  });
  zero_pads(out);
}

namespace {

/// Rows [begin, end) of out, which are columns of in, in squares that fit the first-level cache.
template <class T>
void transpose_rows(const T* in, std::int64_t in_stride, T* out, const Layout& layout, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t square = 16;
  for (std::int64_t j = begin; j < end; j += square)
    for (std::int64_t i = 0; i < layout.cols; i += square) {
      const std::int64_t last_j = std::min(end, j + square), last_i = std::min(layout.cols, i + square);
      for (std::int64_t y = j; y < last_j; ++y)
        for (std::int64_t x = i; x < last_i; ++x) out[y * layout.stride + x] = in[x * in_stride + y];
    }
}

}  // namespace

void run(const ir::Transpose&, Views operands, const View& out) {
  const View& in = operands[0];
  const Layout from = in.layout();
  Layout to = out.layout();
  const Shape& shape = out.type.shape;
  const std::int64_t matrix_rows = shape[shape.rank() - 2].factor(), matrices = matrix_rows ? to.rows / matrix_rows : 0;
  to.rows = matrix_rows;
  const std::int64_t rows = std::max<std::int64_t>(16, chunk_elements / std::max<std::int64_t>(1, to.stride) / 16 * 16),
                     pieces = divide_up(matrix_rows, rows);
  const std::size_t size = size_of(out.type.dtype);
  for_chunks(matrices * pieces, 0, bytes_of(in) + bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk % pieces, rows, matrix_rows);
    const auto from_bytes = static_cast<std::size_t>(chunk / pieces * to.cols * from.stride) * size;
    const auto to_bytes = static_cast<std::size_t>(chunk / pieces * matrix_rows * to.stride) * size;
    const std::byte* a = in.data + from_bytes;
    std::byte* b = out.data + to_bytes;
    if (size == 1)
      transpose_rows(reinterpret_cast<const std::uint8_t*>(a), from.stride, reinterpret_cast<std::uint8_t*>(b), to, range.begin, range.end);
    else transpose_rows(reinterpret_cast<const std::uint32_t*>(a), from.stride, reinterpret_cast<std::uint32_t*>(b), to, range.begin, range.end);
    zero_pads(b, to, size, range.begin, range.end);
  });
}

}  // namespace sinter::runtime::eval
