// Line-by-line execution: one kernel per op, vectorized for this CPU and distributed over the thread team.
#pragma once

#include <cstddef>
#include <span>

#include "ir/layout.h"
#include "ir/ops.h"

namespace sinter::runtime {

/// A tensor in memory: fixed shape, layout as in ir/layout.h, pad lanes 0. A table's rows are fixed here.
struct View {
  Type type;  ///< all dimensions fixed
  std::byte* data = nullptr;

  Layout layout() const { return sinter::layout(type.shape, 0); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// Bytes of a tensor of this type, including padding, at batch size n.
std::size_t storage_bytes(const Type& type, std::int64_t n = 0);

/// Evaluates one op (no leaf) into `out`, whose type must be the op's for these operands; writes its pad lanes too. Same bytes for any number of
/// threads. `out` may be the memory of an operand of the same type for pointwise ops. Throws UserError for an index out of range.
void evaluate(const ir::Op& op, std::span<const View> in, const View& out);

/// Copies between dense row-major memory and a view.
void copy_from_dense(const void* dense, const View& to);
void copy_to_dense(const View& from, void* dense);

}  // namespace sinter::runtime
