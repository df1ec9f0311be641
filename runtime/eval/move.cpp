// Ops that move elements: reshape and transpose, and the copies between padded and dense memory.
#include <optional>
#include <type_traits>

#include "runtime/eval/eval.h"

namespace sinter::runtime::eval {

namespace {

/// Rows in memory, so many bytes apart.
template <class T>
struct RowsAt {
  T* first;
  std::int64_t step;
};

/// Copies rows of `bytes` bytes. Short ones in blocks, which a compiler knows the size of: what a block writes behind its row, the next rows
/// overwrite.
void copy_whole_rows(RowsAt<const std::byte> from, RowsAt<std::byte> to, std::int64_t bytes, std::int64_t begin, std::int64_t end) {
  std::int64_t r = begin;
  const auto blocks = [&]<std::int64_t block>(std::integral_constant<std::int64_t, block>) {
    const std::int64_t last = end - divide_up(block, std::min(from.step, to.step));  // its block, and those before, end where rows do
    for (; r < last; ++r) std::memcpy(to.first + r * to.step, from.first + r * from.step, block);
  };
  if (bytes <= 64) blocks(std::integral_constant<std::int64_t, 64>());
  else if (bytes <= 128) blocks(std::integral_constant<std::int64_t, 128>());
  for (; r < end; ++r) std::memcpy(to.first + r * to.step, from.first + r * from.step, static_cast<std::size_t>(bytes));
}

}  // namespace

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
  if (from.cols == to.cols) {
    copy_whole_rows({in, from.stride * bytes}, {out, to.stride * bytes}, to.cols * bytes, begin, end);
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

WithRowsOf::WithRowsOf(const View& like, const View& view) : view_(view) {
  if (view.layout().stride == like.layout().stride) return;
  buffer_ = Buffer::allocate(storage_bytes(view.type, {}, like.unpadded));
  view_ = {view.type, buffer_.data(), like.unpadded};
  copy_elements(view, view_);
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
void run(const ir::Shift& op, Views in, const View& out) { place(op, in, out); }
void run(const ir::Concat& op, Views in, const View& out) { place(op, in, out); }

namespace {

/// T: f32, or u32 for all integers, which wrap.
template <class T>
void running_sums(std::size_t axis, bool reverse, const View& in, const View& out) {
  const Layout from = in.layout(), to = out.layout();
  const Shape& shape = out.type.shape;
  const std::int64_t outer = shape.product(0, axis).factor(), along = shape[axis].factor(), inner = shape.product(axis + 1, shape.rank()).factor();
  const auto place = [&](const Layout& at, std::int64_t e) { return e / at.cols * at.stride + e % at.cols; };
  const double elements = static_cast<double>(to.elements());
  for_chunks(outer, elements, 8 * elements, [&](std::int64_t o) {
    const T* x = in.as<T>();
    T* y = out.as<T>();
    for (std::int64_t k = 0; k < along; ++k)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t e = (o * along + (reverse ? along - 1 - k : k)) * inner + i;
        const T term = x[place(from, e)];
        y[place(to, e)] = k ? y[place(to, reverse ? e + inner : e - inner)] + term : term;
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

namespace {

/// Where a walk reads an operand.
class Reader {
 public:
  Reader(const ir::Map& map, const View& view) : map_(map), view_(view), layout_(view.layout()) {}

  /// In elements from the operand's first, at a point of the walk; nothing outside of the operand.
  std::optional<std::int64_t> at(std::span<const std::int64_t> point) const {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < map_.size(); ++d) {
      const std::int64_t extent = view_.type.shape[d].factor(), position = *ir::position(map_[d], point, 0);
      if (position < 0 || position >= extent) return std::nullopt;
      element = element * extent + position;
    }
    return element / layout_.cols * layout_.stride + element % layout_.cols;
  }

  /// Elements from one place to the next along an axis, if these are as far apart everywhere and all inside.
  std::optional<std::int64_t> step(std::size_t axis) const {
    std::int64_t step = 0;
    for (std::size_t d = 0; d < map_.size(); ++d) {
      const ir::Index& index = map_[d];
      const auto moves = [&](const ir::Index::Term& term) { return term.axis == axis; };
      if (std::none_of(index.terms.begin(), index.terms.end(), moves)) continue;
      if (!ir::is_along(index, axis)) return std::nullopt;
      const std::int64_t inner = view_.type.shape.product(d + 1, map_.size()).factor();
      if (inner != 1 && inner % layout_.cols != 0) return std::nullopt;
      step += inner == 1 && layout_.cols != 1 ? 1 : inner / layout_.cols * layout_.stride;
    }
    return step;
  }

 private:
  const ir::Map& map_;
  const View& view_;
  Layout layout_;
};

template <class T>
void move(const ir::Access& access, Views in, double fill, const View& out) {
  const Layout to = out.layout();
  const Shape& shape = out.type.shape;
  const std::size_t last = shape.rank() ? shape.rank() - 1 : 0;
  const std::int64_t columns = shape.rank() ? shape.back().factor() : 1, rows = columns ? to.elements() / columns : 0;
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, columns));
  for_chunks(divide_up(rows, size), 0, bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, size, rows);
    std::vector<std::int64_t> point(std::max<std::size_t>(1, access.axes.size()));
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      std::int64_t rest = row;
      for (std::size_t axis = last; axis-- > 0;) {
        point[axis] = rest % shape[axis].factor();
        rest /= shape[axis].factor();
      }
      // A single column's rows are adjacent.
      T* result = out.as<T>() + (to.cols == columns ? row * to.stride : row);
      for (const View& view : in) {
        const Reader reader(access.operands[static_cast<std::size_t>(&view - in.data())], view);
        const std::optional<std::int64_t> step = reader.step(last);
        point[last] = 0;
        const T* from = view.as<T>();
        if (const std::optional<std::int64_t> first = reader.at(point); first && step) {
          for (std::int64_t j = 0; j < columns; ++j) result[j] = from[*first + j * *step];
          continue;
        }
        for (std::int64_t j = 0; j < columns; ++j) {
          point[last] = j;
          const std::optional<std::int64_t> place = reader.at(point);
          if (place) result[j] = from[*place];
          else if (&view == in.data()) result[j] = static_cast<T>(fill);
        }
      }
    }
  });
  zero_pads(out);
}

}  // namespace

void move_elements(const ir::Access& access, Views in, double fill, const View& out) {
  for (const ir::Map& map : access.operands)
    if (std::any_of(map.begin(), map.end(), [](const ir::Index& index) { return index.through.has_value(); }))
      throw InternalError("interpreter", "an op that reads through an index needs a kernel of its own");
  with_element_type(out.type.dtype, [&]<class T>(T) { move<T>(access, in, fill, out); });
}

}  // namespace sinter::runtime::eval
