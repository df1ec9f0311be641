// Ops that read or write by index. An index out of range is found before anything is written through it, and reported by the caller's thread.
#include <atomic>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/long_sum.h"
#include "ir/positions.h"
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
      if (const std::int64_t index = (*this)[i]; !in_range(index))
        throw UserError(ir::outside_message(index, rows_, ir::place_of(view_.type.shape, i)) + "the indices");
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

void run(const ir::GatherRows&, Views operands, const View& out) {
  const View &table = operands[0], &index = operands[1];
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
  const Layout from = table.layout(), to = out.layout();
  const Layout row{rows ? from.rows / rows : 0, from.cols, from.stride}, own{row.rows, row.cols, to.stride};  // of the table, of the result
  const std::int64_t from_bytes = row.padded_elements() * bytes, to_bytes = own.padded_elements() * bytes,
                     count = std::max<std::int64_t>(1, 4 * chunk_elements / std::max<std::int64_t>(1, to_bytes));
  for_chunks(divide_up(indices.count(), count), 0, 2 * bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, count, indices.count());
    for (std::int64_t i = range.begin; i < range.end; ++i)
      copy_rows(table.data + indices[i] * from_bytes, row, out.data + i * to_bytes, own, size, 0, own.rows);
  });
}

namespace {

/// Adds updates to rows of `width` numbers: in chains, which are added with their rounding errors (ir/long_sum.h) where a row has several.
class RowSums {
 public:
  /// The rows of the table are `stride` numbers apart from `first` on, where updates are collected, from zeros.
  RowSums(float* first, std::int64_t stride, std::int64_t rows, std::int64_t width)
      : first_(first), stride_(stride), width_(static_cast<std::size_t>(width)) {
    memory().chains.assign(static_cast<std::size_t>(rows), {});
    memory().sums.clear();
  }

  void add(std::int64_t i, const float* update) {
    float* to = first_ + i * stride_;
    for (std::size_t j = 0; j < width_; ++j) to[j] += update[j];
    if (Chain& chain = memory().chains[static_cast<std::size_t>(i)]; ++chain.terms == ir::chain_terms) end_chain(chain, to);
  }
  void finish() {
    float* row = first_;
    for (Chain& chain : memory().chains) {
      if (chain.sums >= 0) {
        end_chain(chain, row);
        for (std::size_t j = 0; j < width_; ++j) row[j] = memory().sums[static_cast<std::size_t>(chain.sums) + j].sum;
      }
      row += stride_;
    }
  }

 private:
  struct Chain {
    std::int32_t terms = 0;
    std::int64_t sums = -1;  ///< where the row's are; none: it has had one chain so far
  };
  /// Of a thread, reused.
  struct Memory {
    std::vector<Chain> chains;  ///< by row
    std::vector<ir::LongSum<float>> sums;
  };
  static Memory& memory() {
    thread_local Memory memory;
    return memory;
  }

  void end_chain(Chain& chain, float* row) {
    std::vector<ir::LongSum<float>>& sums = memory().sums;
    if (chain.sums < 0) {
      chain.sums = static_cast<std::int64_t>(sums.size());
      sums.resize(sums.size() + width_);
    }
    for (std::size_t j = 0; j < width_; ++j) {
      ir::LongSum<float>& sum = sums[static_cast<std::size_t>(chain.sums) + j];
      sum = ir::add(sum, std::exchange(row[j], 0.0f));
    }
    chain.terms = 0;
  }

  float* first_;
  std::int64_t stride_;
  std::size_t width_;
};

}  // namespace

void run(const ir::ScatterAddRows&, Views operands, const View& out) {
  const View& index = operands[0];
  const std::int64_t rows = out.type.shape[0].factor();
  const Indices indices(index, rows);
  indices.require_in_range();
  const WithRowsOf updates_as_out(out.type.shape.rank() == 1 ? operands[1] : out, operands[1]);
  const View& updates = updates_as_out.view();
  const float* from = updates.as<float>();
  float* to = out.as<float>();
  std::memset(out.data, 0, static_cast<std::size_t>(bytes_of(out)));
  if (out.type.shape.rank() == 1) {
    const Layout layout = updates.layout();
    RowSums sums(to, 1, rows, 1);
    for (std::int64_t i = 0; i < indices.count(); ++i) sums.add(indices[i], from + i / layout.cols * layout.stride + i % layout.cols);
    return sums.finish();
  }
  // Each chunk adds its columns of all updates in order.
  const std::int64_t slab = slab_size(out, rows), width = 256;
  for_chunks(divide_up(slab, width), static_cast<double>(indices.count() * slab), 3 * bytes_of(updates), [&](std::int64_t chunk) {
    const Range range(chunk, width, slab);
    RowSums sums(to + range.begin, slab, rows, range.end - range.begin);
    for (std::int64_t i = 0; i < indices.count(); ++i) sums.add(indices[i], from + i * slab + range.begin);
    sums.finish();
  });
}

void run(const ir::OneHot&, Views operands, const View& out) {
  const Layout layout = out.layout();
  const Indices indices(operands[0], layout.cols);
  indices.require_in_range();
  const std::int64_t size = std::max<std::int64_t>(1, chunk_elements / layout.stride);
  for_chunks(divide_up(layout.rows, size), 0, bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, size, layout.rows);
    float* to = out.as<float>();
    std::fill(to + range.begin * layout.stride, to + range.end * layout.stride, 0.0f);
    for (std::int64_t i = range.begin; i < range.end; ++i) to[i * layout.stride + indices[i]] = 1;
  });
}

namespace {

template <class T>
void take_elements(const View& x, const Indices& indices, const View& out) {
  const std::int64_t count = out.layout().cols, stride = out.layout().stride, from = x.layout().stride;
  for_rows(out, count, [&](std::int64_t r) {
    for (std::int64_t j = 0; j < count; ++j) out.as<T>()[r * stride + j] = x.as<T>()[r * from + indices[r * count + j]];
  });
}

}  // namespace

void run(const ir::TakeAlong&, Views operands, const View& out) {
  const View &x = operands[0], &index = operands[1];
  const Indices indices(index, x.layout().cols);
  indices.require_in_range();
  if (size_of(out.type.dtype) == 1) take_elements<std::uint8_t>(x, indices, out);
  else take_elements<std::uint32_t>(x, indices, out);
}

void run(const ir::ScatterAddAlong&, Views operands, const View& out) {
  const View &index = operands[0], &updates = operands[1];
  const Layout layout = out.layout(), from = updates.layout();
  const Indices indices(index, layout.cols);
  indices.require_in_range();
  for_rows(out, layout.cols, [&](std::int64_t r) {
    float* row = out.as<float>() + r * layout.stride;
    std::fill_n(row, layout.cols, 0.0f);
    for (std::int64_t j = 0; j < from.cols; ++j) row[indices[r * from.cols + j]] += updates.as<float>()[r * from.stride + j];
  });
}

namespace {

template <class T>
void copy_totals(const View& total, const View& rough, const View& out) {
  const Layout from = total.layout(), other = rough.layout(), to = out.layout();
  std::atomic<bool> wrong{false};
  for_rows(out, to.cols, [&](std::int64_t r) {
    for (std::int64_t j = 0; j < to.cols; ++j) {
      const T x = out.as<T>()[r * to.stride + j] = total.as<T>()[r * from.stride + j];
      if (!(std::abs(static_cast<double>(rough.as<float>()[r * other.stride + j]) - static_cast<double>(x)) < 0x1p31))
        wrong.store(true, std::memory_order_relaxed);
    }
  });
  if (wrong) throw UserError(ir::total_message(out.type.dtype));
}

}  // namespace

void run(const ir::ExactTotal&, Views operands, const View& out) {
  if (out.type.dtype == DType::i32) copy_totals<std::int32_t>(operands[0], operands[1], out);
  else copy_totals<std::uint32_t>(operands[0], operands[1], out);
}

}  // namespace sinter::runtime::eval
