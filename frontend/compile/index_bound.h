// How much a result may differ where an index is not certain, such as the index of a greatest element that another nearly equals.
#pragma once

#include <span>

#include "frontend/compile/bounds.h"

namespace sinter {

/// Adds to result.error the effect of all elements that an uncertain index may mean; for gather_rows, take_along and pool_take the errors of what is
/// picked too.
void carry_index(Bounded& result, const ir::Op& op, std::span<const Bounded* const> in);

/// The index may be any whose value is within the errors of the greatest.
void carry_argmax(Bounded& result, const Bounded& in);
/// An index may be any that has a neighbour in value within the errors.
void carry_top_k(Bounded& result, const Bounded& in);
/// The position of a pool's greatest element may be that of any element within the errors of it.
void carry_pool_place(Bounded& result, const ir::MaxPoolPlace& op, const Bounded& in);
/// Where the position is not certain, every element of the window may have the value.
void carry_pool_put(Bounded& result, const ir::PoolPut& op, std::span<const Bounded* const> in);

}  // namespace sinter
