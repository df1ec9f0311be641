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

}  // namespace sinter
