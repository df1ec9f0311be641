// How much a whole number may differ where an operand of its arithmetic is not certain, such as an index or a float that was cast.
#pragma once

#include <span>

#include "frontend/compile/bounds.h"

namespace sinter {

/// i32, u32 and u8.
inline bool is_whole(DType type) { return !is_float(type) && type != DType::boolean; }

/// Arithmetic on whole numbers is exact: only errors of operands reach the result. `real` is the result as it would be if nothing wrapped, with its
/// error; where that error may make it wrap, the result may be any number.
void carry_wrapped(Bounded& result, const Bounded& real);
/// Sums of whole numbers: sum and cumsum.
void carry_whole_sum(Bounded& result, const ir::Op& op, const Type& type, const Bounded& in, Sizes sizes);
/// A product of whole numbers may be any number where one of them is not certain.
void carry_whole_product(Bounded& result, const ir::Prod& op, const Type& type, const Bounded& in, Sizes sizes);
/// Random bits of a counter that is not certain may be any.
void carry_random_bits(Bounded& result, const Type& type, std::span<const Bounded* const> in, Sizes sizes);

}  // namespace sinter
