// Many steps in one call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "frontend/core/parameter.h"

namespace sinter {

/// What Step::run does. To go through a data set in an order of your own, declare the data a table, gather its rows by an index input and pass the
/// order as that input: the index is what is cut into batches.
struct RunOptions {
  std::int64_t steps = 1;
  std::int64_t batch = 0;                       ///< samples per step: consecutive ones of the batch inputs, wrapping around after the last; 0: all
  std::optional<Parameter> learning_rate = {};  ///< a scalar f32 parameter that is set before each step, and keeps the last value
  std::span<const float> learning_rates = {};   ///< its values, one per step
};

}  // namespace sinter
