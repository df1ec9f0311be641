// Counts and sizes in messages.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "ir/size_text.h"

namespace sinter {

/// "1 row", "2 rows".
template <class Count>
std::string counted(Count count, std::string_view noun) {
  return str(count, " ", noun, count == 1 ? "" : "s");
}
/// "1 carry", "2 carries".
template <class Count>
std::string counted(Count count, std::string_view one, std::string_view many) {
  return str(count, " ", count == 1 ? one : many);
}

}  // namespace sinter
