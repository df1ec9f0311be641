// Reductions over axes, and running sums. Integers stay integers: u8 and bool are summed and multiplied as i32 (a sum of bool counts). A sum that
// does not fit its type is an error; compiled sums of i32 and u32, and all products, wrap.
#pragma once

#include <optional>
#include <vector>

#include "frontend/core/arg.h"

namespace sinter {

/// Which axes to reduce: all by default, else those listed; negative ones count from the last.
class Axes {
 public:
  Axes() = default;
  Axes(std::int64_t axis) : list_{{axis}} {}  // NOLINT: one axis
  Axes(std::initializer_list<std::int64_t> axes) : list_{{axes}} {}
  /// Ascending and checked against the rank. Throws UserError for an axis that does not exist or is listed twice.
  std::vector<std::size_t> resolve(const Shape& shape) const;

 private:
  std::optional<std::vector<std::int64_t>> list_;
};
/// Throws UserError for a sum of integers that does not fit: of values where they are known, of u8 and bool in a trace for more elements than can be
/// summed without a look at them.
Tensor sum(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// The sum divided by the number of elements (with N as at run time). For integers and bool f32, of their exact sum.
Tensor mean(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor max(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))) without overflow.
Tensor logsumexp(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// Mean squared distance from the mean.
Tensor variance(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// Running sums along an axis. Throws UserError as sum does.
Tensor cumsum(const Arg& x, std::int64_t axis = -1);

}  // namespace sinter
