// Checks and conversions of operands that the functions of the language (frontend/core/ops) share.
#pragma once

#include "frontend/core/apply.h"
#include "frontend/core/arg.h"
#include "frontend/core/origin.h"

namespace sinter {

Tensor unary(const ir::Op& op, const Arg& x);
/// A number takes the element type of the other operand.
Tensor binary(const ir::Op& op, const Arg& a, const Arg& b);
/// The common element type of two operands, either of which may be a number.
DType common_dtype(const Arg& a, const Arg& b);
/// f32, i32 and u32 unchanged; u8 and bool, which have no arithmetic, as i32.
Tensor numbers(const Arg& x);
/// Numbers in the opposite order, exactly: -x for floats, -1 - x for i32, the greatest u32 minus x for u32.
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
