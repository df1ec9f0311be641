// Products of vectors, matrices and more.
#pragma once

#include <string_view>

#include "frontend/core/arg.h"

namespace sinter {

/// The sum of the products of two vectors' elements, a scalar.
Tensor dot(const Arg& a, const Arg& b);
/// a[...,M,K] b[...,K,F]: a product of matrices for each index of the leading axes, which broadcast. A vector is a row on the left, [K] [...,K,F] to
/// [...,F], and a column on the right, [...,M,K] [K] to [...,M].
/// Matrices may be read transposed.
Tensor matmul(const Arg& a, const Arg& b, bool transpose_a = false, bool transpose_b = false);
/// Sums of products in Einstein's notation: "bij,bjk->bik" names the axes of each operand and of the result; what the result does not name is summed.
/// Without an arrow the result has those named once, in the order of the alphabet. Operands are contracted from left to right. Throws UserError,
/// which names the letter, for sizes that differ and for what is not supported: a letter twice in one operand, and "...".
Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands, std::source_location where = std::source_location::current());

}  // namespace sinter
