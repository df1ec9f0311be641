#include "runtime/view.h"

#include "ir/error.h"
#include "runtime/eval/eval.h"

namespace sinter::runtime {

std::size_t storage_bytes(const Type& type, Sizes sizes, bool unpadded) {
  const Layout padded = layout(type.shape, sizes), at = unpadded ? padded.unpadded() : padded;
  std::size_t bytes = size_of(type.dtype);
  for (const std::int64_t factor : {at.rows, at.stride})
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(factor), &bytes))
      throw UserError("tensor", str("too many elements: ", type, type.shape.is_fixed() ? "" : str(" with N = ", sizes.n, " and T = ", sizes.t)));
  return bytes;
}

void copy_from_dense(const void* dense, const View& to) {
  const Layout layout = to.layout();
  if (!layout.elements()) return;  // there may be many rows without elements
  eval::copy_rows(static_cast<const std::byte*>(dense), {layout.rows, layout.cols, layout.cols}, to.data, layout, size_of(to.type.dtype), 0,
                  layout.rows);
}

void copy_to_dense(const View& from, void* dense) {
  const Layout layout = from.layout();
  if (!layout.elements()) return;
  eval::copy_rows(from.data, layout, static_cast<std::byte*>(dense), {layout.rows, layout.cols, layout.cols}, size_of(from.type.dtype), 0,
                  layout.rows);
}

}  // namespace sinter::runtime
