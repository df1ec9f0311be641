// Checks of the operands of linalg's functions, and their errors.
#pragma once

#include <source_location>
#include <string>

#include "frontend/core/tensor.h"

namespace sinter::linalg {

/// What errors name: the function or gradient, and the user's line.
struct Call {
  std::string name;
  std::source_location where;

  /// Throws UserError.
  [[noreturn]] void fail(const std::string& message) const;
};

/// Throws UserError inside a trace, and unless it is an f32 matrix of finite numbers with at least one element.
void require_matrix(const Call& call, const Tensor& a);
/// The same for [n, n]. `otherwise` ends the error: the function to use for other shapes.
void require_square(const Call& call, const Tensor& a, const char* otherwise = "");
/// The same for a matrix that equals its transpose up to rounding.
void require_symmetric(const Call& call, const Tensor& a);
/// Throws UserError unless a is an f32 matrix and b [rows of a] or [rows of a, k], both of finite numbers.
void require_right_side(const Call& call, const Tensor& a, const Tensor& b);

}  // namespace sinter::linalg
