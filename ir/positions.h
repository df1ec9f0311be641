// Tensors hold the positions of elements along an axis, and the numbers of rows and samples, as i32.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/type.h"

namespace sinter::ir {

inline constexpr std::int64_t most_positions = std::numeric_limits<std::int32_t>::max();

/// Throws UserError if an extent of fixed size has more. `what` is its plural: "elements of a row".
inline void require_positions(Dim extent, std::string_view what) {
  if (extent.is_fixed() && extent.factor() > most_positions)
    throw UserError(str(extent, " ", what, " are more than positions in i32 reach (", most_positions, "); work on parts of them"));
}

/// The same of elements that are numbered in u32.
inline void require_numbered(Dim elements) {
  if (elements.is_fixed() && elements.factor() > std::int64_t{1} << 32)
    throw UserError(str(elements, " elements are more than numbers in u32 reach (2^32); make parts of them"));
}

/// The index of an element along each axis of a fixed shape, by its row-major number.
inline std::vector<std::int64_t> place_of(const Shape& shape, std::int64_t element) {
  std::vector<std::int64_t> place(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0; element /= shape[axis].factor()) place[axis] = element % shape[axis].factor();
  return place;
}

/// "index 7 is outside [0, 5), at [3, 1] of ": what follows is what holds the indices; a scalar has no place.
inline std::string outside_message(std::int64_t index, std::int64_t size, std::span<const std::int64_t> place) {
  std::string text = str("index ", index, " is outside [0, ", size, ")");
  for (std::size_t axis = 0; axis < place.size(); ++axis) text += str(axis ? ", " : ", at [", place[axis]);
  return text + (place.empty() ? " in " : "] of ");
}

}  // namespace sinter::ir
