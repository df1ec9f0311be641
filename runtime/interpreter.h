// Line-by-line execution: one kernel per op, vectorized for this CPU and distributed over the thread team.
#pragma once

#include <cstddef>
#include <span>

#include "ir/ops.h"
#include "runtime/view.h"

namespace sinter::runtime {

/// Evaluates one op (no leaf) into `out`, whose type must be the op's for these operands; writes its pad lanes too. Same bytes for any number of
/// threads. `out` may be the memory of an operand of the same type for pointwise ops. Throws UserError for an index out of range.
void evaluate(const ir::Op& op, std::span<const View> in, const View& out);

}  // namespace sinter::runtime
