// Where a tensor has NaN or infinite numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "frontend/core/tensor.h"

namespace sinter {

struct NonFinite {
  std::int64_t place = 0;  ///< row-major
  float value = 0;
};
/// The first element that is NaN or infinite; tensors of other element types than f32 have none.
std::optional<NonFinite> first_non_finite(const Tensor& tensor);

/// "[3, 0]": the indices of a row-major position in a fixed shape.
std::string place_text(const Shape& shape, std::int64_t place);

}  // namespace sinter
