#include "frontend/train/row_numbers.h"

#include "ir/positions.h"

namespace sinter {

void require_row_numbers(const char* where, std::int64_t samples) {
  if (samples > ir::most_positions)
    throw UserError(where, str("rows are numbered in i32: at most ", ir::most_positions, " samples at a time, got ", samples,
                               "; pass parts of them, as a generator does to fit"));
}

}  // namespace sinter
