// What the functions of the language (frontend/core/ops) do with their operands.
#pragma once

#include "frontend/core/apply.h"
#include "frontend/core/arg.h"
#include "frontend/core/origin.h"

namespace sinter {

Tensor unary(const ir::Op& op, const Arg& x);
/// A number takes the element type of the other operand.
Tensor binary(const ir::Op& op, const Arg& a, const Arg& b);
/// What two operands of which either may be a number are of.
DType common_dtype(const Arg& a, const Arg& b);
/// f32, i32 and u32 as they are; u8 and bool, which have no arithmetic, as i32.
Tensor numbers(const Arg& x);
/// Numbers in the opposite order, exactly: -x of floats, what is left to -1 or to the greatest u32 of integers.
Tensor backwards(const Arg& x);

/// Throws UserError that names layer and line.
[[noreturn]] void fail(const std::source_location& where, const std::string& rule);
/// `axis` from 0, of `rank` dimensions. Throws UserError.
std::size_t resolved_axis(std::int64_t axis, std::size_t rank, const std::source_location& where);
/// The size of an axis, which must be fixed. Throws UserError that says so of `what`.
std::int64_t fixed_size(const Tensor& x, std::size_t axis, const char* what, const std::source_location& where);
/// The axes in this order, each once.
Tensor permuted(const Tensor& x, const std::vector<std::size_t>& order, const std::source_location& where);

}  // namespace sinter
