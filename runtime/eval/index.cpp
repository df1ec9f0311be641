// Ops that read or write by index. An index out of range is found before anything is written through it, and reported by the caller's thread.
#include "ir/error.h"
#include "runtime/eval/eval.h"

namespace sinter::runtime::eval {

namespace {

/// The indices in row-major order, each checked against [0, rows).
class Indices {
 public:
  Indices(const View& view, std::int64_t rows) : view_(view), layout_(view.layout()), rows_(rows) {}

  std::int64_t count() const { return layout_.elements(); }

  std::int64_t operator[](std::int64_t i) const {
    const std::int64_t at = layout_.stride == layout_.cols ? i : i / layout_.cols * layout_.stride + i % layout_.cols;
    switch (view_.type.dtype) {
      case DType::i32:
        return view_.as<std::int32_t>()[at];
      case DType::u32:
        return view_.as<std::uint32_t>()[at];
      case DType::u8:
      case DType::boolean:
        return view_.as<std::uint8_t>()[at];
      case DType::f32:
        break;
    }
    throw InternalError("interpreter", str("an index of type ", view_.type));
  }

  bool in_range(std::int64_t index) const { return index >= 0 && index < rows_; }

  /// Throws UserError for the first one out of range.
  void require_in_range() const {
    for (std::int64_t i = 0; i < count(); ++i)
      if (const std::int64_t index = (*this)[i]; !in_range(index)) throw UserError(str("index ", index, " is outside [0, ", rows_, ")"));
  }

 private:
  const View& view_;
  Layout layout_;
  std::int64_t rows_;
};

/// Elements between one row of a table (or one row of updates) and the next.
std::int64_t slab_size(const View& view, std::int64_t rows) {
  const Layout layout = view.layout();
  return rows ? layout.rows / rows * layout.stride : 0;
}

}  // namespace

void gather_rows(const View& table, const View& index, const View& out) {
  const std::int64_t rows = table.type.shape[0].factor();
  const Indices indices(index, rows);
  indices.require_in_range();
  const std::size_t size = size_of(out.type.dtype);
  const auto bytes = static_cast<std::int64_t>(size);
  if (table.type.shape.rank() == 1) {  // elements, in the layout of the index
    const Layout to = out.layout();
    for (std::int64_t i = 0; i < indices.count(); ++i)
      std::memcpy(out.data + (i / to.cols * to.stride + i % to.cols) * bytes, table.data + indices[i] * bytes, size);
    return zero_pads(out);
  }
  const std::int64_t slab = slab_size(table, rows) * bytes, count = std::max<std::int64_t>(1, 4 * chunk_elements / std::max<std::int64_t>(1, slab));
  for_chunks(divide_up(indices.count(), count), 0, 2 * bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, count, indices.count());
    for (std::int64_t i = range.begin; i < range.end; ++i)
      std::memcpy(out.data + i * slab, table.data + indices[i] * slab, static_cast<std::size_t>(slab));
  });
}

void scatter_add_rows(const View& index, const View& updates, const View& out) {
  const std::int64_t rows = out.type.shape[0].factor();
  const Indices indices(index, rows);
  indices.require_in_range();
  const float* from = updates.as<float>();
  float* to = out.as<float>();
  std::memset(out.data, 0, static_cast<std::size_t>(bytes_of(out)));
  if (out.type.shape.rank() == 1) {
    const Layout layout = updates.layout();
    for (std::int64_t i = 0; i < indices.count(); ++i) to[indices[i]] += from[i / layout.cols * layout.stride + i % layout.cols];
    return;
  }
  // Each chunk takes its columns of all updates in their order.
  const std::int64_t slab = slab_size(out, rows), width = 256;
  for_chunks(divide_up(slab, width), static_cast<double>(indices.count() * slab), 3 * bytes_of(updates), [&](std::int64_t chunk) {
    const Range range(chunk, width, slab);
    for (std::int64_t i = 0; i < indices.count(); ++i) {
      float* row = to + indices[i] * slab;
      for (std::int64_t j = range.begin; j < range.end; ++j) row[j] += from[i * slab + j];
    }
  });
}

void one_hot(const View& index, const View& out) {
  const Layout layout = out.layout();
  const Indices indices(index, layout.cols);
  indices.require_in_range();
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / layout.stride);
  for_chunks(divide_up(layout.rows, size), 0, bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, size, layout.rows);
    float* to = out.as<float>();
    std::fill(to + range.begin * layout.stride, to + range.end * layout.stride, 0.0f);
    for (std::int64_t i = range.begin; i < range.end; ++i) to[i * layout.stride + indices[i]] = 1;
  });
}

}  // namespace sinter::runtime::eval
