// How much a result may differ where an index is not certain, such as the index of a greatest element that another nearly equals.
#pragma once

#include <span>

#include "frontend/compile/bounds.h"

namespace sinter {

/// Ops with an index among their operands, or a position in a window.
template <class O>
concept ReadsIndex = std::is_same_v<O, ir::GatherRows> || std::is_same_v<O, ir::TakeAlong> || std::is_same_v<O, ir::OneHot> ||
                     std::is_same_v<O, ir::ScatterAddRows> || std::is_same_v<O, ir::ScatterAddAlong> || std::is_same_v<O, ir::PoolTake>;

/// Adds to result.error the effect of all elements that an uncertain index may mean; for gather_rows, take_along and pool_take the errors of what is
/// picked too.
void carry_index(Bounded& result, const ir::Op& op, std::span<const Bounded* const> in);

}  // namespace sinter
