// Whether sums of integers fit the type of the result.
#pragma once

#include <cstdint>
#include <source_location>

#include "frontend/core/tensor.h"

namespace sinter {

/// What is summed: the axes [first, last) of x; `running`: each partial sum in row-major order is a result too.
struct IntegerSum {
  Tensor x;
  std::size_t first, last;
  bool running = false;
};

/// Throws UserError if a total of integers or bool does not fit i32 (of u32: u32), the type of the result. Values are known outside of a trace. In
/// one, u8 and bool are taken for as great as they can be, and nothing is known of i32 and u32, whose compiled sums wrap, or of N and T elements.
void require_exact(const IntegerSum& sum, const char* function, const std::source_location& where);

}  // namespace sinter
