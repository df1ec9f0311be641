// A dense array in host memory: what file readers return and writers take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/type.h"

namespace sinter::data {

/// Row-major, without padding. `bytes` has exactly the elements of `shape`.
struct HostArray {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::vector<std::byte> bytes;

  std::int64_t elements() const {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;  // the product of the others may overflow
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  }
  /// The elements as T, which must be the type that dtype names.
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> values() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

}  // namespace sinter::data
