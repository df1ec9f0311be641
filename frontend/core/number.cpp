#include "frontend/core/number.h"

#include <cmath>
#include <limits>

#include "ir/attributes.h"
#include "ir/error.h"
#include "ir/op.h"

namespace sinter {

namespace {

template <class T>
std::string whole_numbers() {
  return str("whole numbers from ", +std::numeric_limits<T>::min(), " to ", +std::numeric_limits<T>::max());
}

std::string range_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      break;
    case DType::i32:
      return whole_numbers<std::int32_t>();
    case DType::u32:
      return whole_numbers<std::uint32_t>();
    case DType::u8:
      return whole_numbers<std::uint8_t>();
    case DType::boolean:
      return "0 and 1";
  }
  return str("numbers up to ", std::numeric_limits<float>::max());
}

}  // namespace

std::string misfit(double number, DType dtype) {
  if (is_float(dtype)) {
    if (!std::isfinite(number) || std::isfinite(static_cast<float>(number))) return {};
    return str("the number ", ir::number_text(number), " is beyond ", dtype, ", which holds ", range_of(dtype));
  }
  if (std::isfinite(number) && ir::wrap(dtype, number) == number) return {};
  return str("the number ", ir::number_text(number), " is not exact in ", dtype, ", which holds ", range_of(dtype));
}

std::string not_positive(double number) {
  if (!(number > 0) || !std::isfinite(number)) return "must be a positive number";
  const auto rounded = static_cast<float>(number);
  return rounded < std::numeric_limits<float>::min() || std::isinf(rounded) ? "must be a number that f32 holds, from 1.18e-38 to 3.40e38" : "";
}

}  // namespace sinter
