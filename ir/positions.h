// Tensors hold the positions of elements along an axis, and the numbers of rows and samples, as i32.
#pragma once

#include <limits>
#include <string_view>

#include "ir/error.h"
#include "ir/type.h"

namespace sinter::ir {

inline constexpr std::int64_t most_positions = std::numeric_limits<std::int32_t>::max();

/// Throws UserError if an extent of fixed size has more. `what` is its plural: "elements of a row".
inline void require_positions(Dim extent, std::string_view what) {
  if (extent.is_fixed() && extent.factor() > most_positions)
    throw UserError(str(extent, " ", what, " are more than positions in i32 reach (", most_positions, "); work on parts of them"));
}

}  // namespace sinter::ir
