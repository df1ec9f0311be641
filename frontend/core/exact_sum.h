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

/// Whether its totals fit i32 (of u32: u32), the type of the result, whatever the values: of floats, of few u8 and bool, and of bool over N or T.
bool always_fits(const IntegerSum& sum);
/// Throws UserError if a total of values that are known does not fit. (Others are checked where they are computed: ir::ExactTotal.)
void require_exact(const IntegerSum& sum, const char* function, const std::source_location& where);

}  // namespace sinter
