// The functions and operators of the language. Each works eagerly and in a trace alike; operands broadcast as in NumPy.
#pragma once

#include <optional>
#include <source_location>
#include <vector>

#include "frontend/core/parameter.h"
#include "frontend/core/tensor.h"

namespace sinter {

/// An operand: a tensor, a parameter (its present value) or a number, with the user's source line. Operators cannot take default arguments, so
/// this type carries the line for them. A number takes the element type of the other operand.
class Arg {
 public:
  Arg(const Tensor& tensor, std::source_location where = std::source_location::current()) : tensor_(tensor), where_(where) {}           // NOLINT
  Arg(const Parameter& parameter, std::source_location where = std::source_location::current()) : tensor_(parameter), where_(where) {}  // NOLINT
  Arg(double number, std::source_location where = std::source_location::current()) : number_(number), where_(where) {}                  // NOLINT

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

// ---- arithmetic ----
Tensor operator+(const Arg& a, const Arg& b);
Tensor operator-(const Arg& a, const Arg& b);
Tensor operator*(const Arg& a, const Arg& b);
Tensor operator/(const Arg& a, const Arg& b);
Tensor operator-(const Arg& x);
Tensor exp(const Arg& x);
Tensor log(const Arg& x);
Tensor sqrt(const Arg& x);
Tensor square(const Arg& x);
Tensor abs(const Arg& x);
/// -1, 0 or 1.
Tensor sign(const Arg& x);
Tensor floor(const Arg& x);
Tensor ceil(const Arg& x);
/// Ties to even.
Tensor round(const Arg& x);
/// NaN where either is.
Tensor minimum(const Arg& a, const Arg& b);
Tensor maximum(const Arg& a, const Arg& b);
Tensor exp2(const Arg& x);
/// exp(x) - 1, exact near 0.
Tensor expm1(const Arg& x);
/// log(1 + x), exact near 0.
Tensor log1p(const Arg& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Arg& x);
/// x^y; NaN for x below 0 unless y is whole.
Tensor pow(const Arg& x, const Arg& y);
Tensor sin(const Arg& x);
Tensor cos(const Arg& x);
/// The error function.
Tensor erf(const Arg& x);
Tensor clip(const Arg& x, float low, float high);

// ---- comparison and choice: results are bool ----
Tensor operator<(const Arg& a, const Arg& b);
Tensor operator<=(const Arg& a, const Arg& b);
Tensor operator>(const Arg& a, const Arg& b);
Tensor operator>=(const Arg& a, const Arg& b);
Tensor equal(const Arg& a, const Arg& b);
Tensor not_equal(const Arg& a, const Arg& b);
/// a where the condition holds, else b.
Tensor select(const Arg& condition, const Arg& a, const Arg& b);
Tensor cast(const Arg& x, DType dtype);
// Of bool tensors.
Tensor logical_and(const Arg& a, const Arg& b);
Tensor logical_or(const Arg& a, const Arg& b);
Tensor logical_not(const Arg& x);

// ---- activations; frontend/nn/activation.h has more ----
Tensor sigmoid(const Arg& x);
Tensor tanh(const Arg& x);
Tensor relu(const Arg& x);
/// Over the last axis.
Tensor softmax(const Arg& x);
Tensor log_softmax(const Arg& x);

// ---- shape ----
/// The same elements under another shape. One dimension may be -1: what is left.
Tensor reshape(const Arg& x, const std::vector<Dim>& dims);
Tensor broadcast_to(const Arg& x, const Shape& shape);
/// Exchanges the last two dimensions.
Tensor transpose(const Arg& x);

/// One after the other along an axis; negative axes count from the last.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis = 0, std::source_location where = std::source_location::current());
/// Along a new axis.
Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis = 0, std::source_location where = std::source_location::current());
/// Elements [begin, end) along an axis of fixed size; negative places count from its end.
Tensor slice(const Arg& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
/// Parts of these sizes along an axis. Throws UserError if they don't add up to it.
std::vector<Tensor> split(const Arg& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = -1);
/// `before` and `after` elements of `value` along an axis of fixed size.
Tensor pad(const Arg& x, std::int64_t axis, std::int64_t before, std::int64_t after, float value = 0);
/// The row-major number of each element (u32) of a shape.
Tensor iota(const Shape& shape, std::source_location where = std::source_location::current());

// ---- reductions ----
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
Tensor sum(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// The sum divided by the number of elements, of which N is known only at run time.
Tensor mean(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor max(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))), which does not overflow.
Tensor logsumexp(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// Mean squared distance from the mean.
Tensor variance(const Arg& x, const Axes& axes = {}, bool keepdims = false);
/// Running sums along an axis.
Tensor cumsum(const Arg& x, std::int64_t axis = -1);
/// i32 index of the first NaN, else of the first greatest element, along the last axis.
Tensor argmax(const Arg& x);

// ---- products ----
/// a[M,K] b[K,F]; with more dimensions, one product of matrices a place along the leading axes, [...,M,K] [...,K,F]. Either may be read transposed.
Tensor matmul(const Arg& a, const Arg& b, bool transpose_a = false, bool transpose_b = false);

// ---- index ----
/// Rows of table[R, ...] by integer index.
Tensor gather_rows(const Arg& table, const Arg& index);
/// x [..., C] and an index [..., K]: element j of a row is the row's element index[j].
Tensor take_along(const Arg& x, const Arg& index);
/// Rows of `cols` zeros to which each element of the updates' row is added at its index.
Tensor scatter_add_along(const Arg& index, const Arg& updates, std::int64_t cols);
struct TopK {
  Tensor values, indices;
};
/// The k greatest elements of each row, the greatest first, and their places (i32).
TopK top_k(const Arg& x, std::int64_t k);
/// Zeros [rows, ...] with each row of the updates added at its index.
Tensor scatter_add_rows(const Arg& index, const Arg& updates, std::int64_t rows);
/// [..., depth]
Tensor one_hot(const Arg& index, std::int64_t depth);

// ---- random numbers: functions of the element's number, of `draw` (u32 scalar) and of the stream, and of nothing else ----
/// 32 random bits an element (u32). Draw again with another number: a counter that each step adds 1 to.
Tensor random_bits(const Shape& shape, const Arg& draw, std::uint64_t stream);
/// In [0, 1).
Tensor random_uniform(const Shape& shape, const Arg& draw, std::uint64_t stream);
/// Mean 0, variance 1 (Box and Muller 1958).
Tensor random_normal(const Shape& shape, const Arg& draw, std::uint64_t stream);

}  // namespace sinter
