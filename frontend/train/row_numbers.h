// Steps read samples of a data set by their row numbers, which are i32.
#pragma once

#include <cstdint>

namespace sinter {

/// Throws UserError for more samples than that numbers, 2^31 - 1. `where` is the function that was given them.
void require_row_numbers(const char* where, std::int64_t samples);

}  // namespace sinter
