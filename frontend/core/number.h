// Which numbers an element type holds.
#pragma once

#include <string>

#include "ir/type.h"

namespace sinter {

/// Why a number cannot be an element of this type, for an error; empty if it can. Integers and bool hold numbers exactly or not at all; f32 rounds
/// them, but holds no finite number beyond its greatest.
std::string misfit(double number, DType dtype);
/// Why a number is not positive once it is f32, which takes less than 1.18e-38 for 0: the rule that it breaks; empty if it is.
std::string not_positive(double number);

}  // namespace sinter
