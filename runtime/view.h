// A tensor in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/layout.h"
#include "ir/type.h"

namespace sinter::runtime {

/// A tensor in memory: fixed shape, layout as in ir/layout.h, pad lanes 0. A table's rows are fixed here.
struct View {
  Type type;  ///< all dimensions fixed
  std::byte* data = nullptr;
  bool unpadded = false;  ///< its rows are adjacent

  Layout layout() const {
    const Layout padded = sinter::layout(type.shape, 0);
    return unpadded ? padded.unpadded() : padded;
  }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// Bytes of a tensor of this type, including padding (if it has any), in a call of these sizes. Throws UserError for more than memory has addresses.
std::size_t storage_bytes(const Type& type, Sizes sizes = {}, bool unpadded = false);

/// Copies between dense row-major memory and a view.
void copy_from_dense(const void* dense, const View& to);
void copy_to_dense(const View& from, void* dense);

}  // namespace sinter::runtime
