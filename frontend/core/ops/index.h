// Reading and writing by index.
#pragma once

#include "frontend/core/arg.h"

namespace sinter {

/// Rows of table[R, ...] by integer index.
Tensor gather_rows(const Arg& table, const Arg& index);
/// x [..., C] and an index [..., K]: element j of a row is the row's element index[j].
Tensor take_along(const Arg& x, const Arg& index);
/// Rows of `cols` zeros, to which each element of the row of updates is added at its index.
Tensor scatter_add_along(const Arg& index, const Arg& updates, std::int64_t cols);
/// Zeros [rows, ...] with each row of the updates added at its index.
Tensor scatter_add_rows(const Arg& index, const Arg& updates, std::int64_t rows);
/// The one-hot encoding of an index, [..., depth].
Tensor one_hot(const Arg& index, std::int64_t depth);

}  // namespace sinter
