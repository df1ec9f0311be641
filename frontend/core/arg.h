// Arg: an operand of the functions and operators of the language.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>

#include "frontend/core/parameter.h"
#include "frontend/core/tensor.h"

namespace sinter {

/// What stands for an array: a Column of a data set.
template <class T>
concept HasArray = requires(const T& has) {
  { has.array() } -> std::same_as<const Tensor&>;
};

/// An operand: a tensor, a parameter (its present value) or a number, with the user's source line. Operators cannot take default arguments, so
/// this type carries the line for them. A number takes the element type of the other operand.
class Arg {
 public:
  Arg(const Tensor& tensor, std::source_location where = std::source_location::current()) : tensor_(tensor), where_(where) {}           // NOLINT
  Arg(const Parameter& parameter, std::source_location where = std::source_location::current()) : tensor_(parameter), where_(where) {}  // NOLINT
  Arg(double number, std::source_location where = std::source_location::current()) : number_(number), where_(where) {}                  // NOLINT

  template <HasArray T>
  Arg(const T& has, std::source_location where = std::source_location::current()) : tensor_(has.array()), where_(where) {}  // NOLINT

  const std::source_location& where() const { return where_; }
  bool is_number() const { return number_.has_value(); }
  /// The tensor; a number becomes a scalar of this type.
  Tensor as(DType dtype) const;
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
  std::optional<double> number_;
  std::source_location where_;
};

}  // namespace sinter
