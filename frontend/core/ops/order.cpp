#include "frontend/core/ops/order.h"

#include "frontend/core/operands.h"
#include "frontend/core/ops.h"

namespace sinter {

namespace {

/// An operand whose axis is moved to the end, where the ops work.
class Along {
 public:
  Along(const Arg& x, std::int64_t axis, const char* what)
      : where_(x.where()), x_(x.as(DType::f32)), axis_(resolved_axis(axis, x_.rank(), where_)), size_(fixed_size(x_, axis_, what, where_)) {}

  std::int64_t size() const { return size_; }
  const std::source_location& where() const { return where_; }
  Tensor rows() const { return permuted(x_, order(axis_, x_.rank() - 1), where_); }
  /// Moves the axis of a computed result back.
  Tensor back(const Tensor& rows) const { return permuted(rows, order(x_.rank() - 1, axis_), where_); }
  Arg arg(const Tensor& tensor) const { return {tensor, where_}; }
  /// size - 1 - x for indices: the same positions counted from the end.
  Tensor from_end(const Tensor& x) const { return Arg(static_cast<double>(size_ - 1), where_) - arg(x); }

 private:
  /// All axes in order, with axis `from` moved to position `to`.
  std::vector<std::size_t> order(std::size_t from, std::size_t to) const {
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < x_.rank(); ++axis)
      if (axis != from) axes.push_back(axis);
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(to), from);
    return axes;
  }

  std::source_location where_;
  Tensor x_;
  std::size_t axis_;
  std::int64_t size_;
};

Tensor greatest_places(const Along& along, const Tensor& rows, std::int64_t k) {
  const Tensor x = numbers(along.arg(rows));
  return apply(ir::TopK{k}, {&x}, along.where());
}

Tensor flipped(const Along& along, const Tensor& rows) {
  const Tensor last_first = along.from_end(iota({along.size()}, along.where()));
  return take_along(along.arg(rows), along.arg(broadcast_to(along.arg(last_first), rows.shape())));
}

Tensor sorting_places(const Along& along, const Tensor& rows, bool descending) {
  if (descending) return greatest_places(along, rows, along.size());
  // top_k of the reversed axis, reversed: equal elements keep their order, and NaN is last.
  const Tensor places = greatest_places(along, flipped(along, rows), along.size());
  return along.from_end(flipped(along, places));
}

Tensor first_greatest(const Arg& arg, const Tensor& key, std::int64_t axis, bool keepdims, const char* what) {
  const Along along({key, arg.where()}, axis, what);
  const Tensor rows = along.rows();
  const Tensor place = is_float(rows.dtype()) ? unary(ir::Argmax{}, along.arg(rows)) : greatest_places(along, rows, 1);
  const std::size_t at = resolved_axis(axis, key.rank(), arg.where());
  const Shape shape = keepdims ? key.shape().with(at, 1) : key.shape().erase(at, at + 1);
  return reshape(along.arg(place), {shape.begin(), shape.end()});
}

}  // namespace

Tensor argmax(const Arg& x, std::int64_t axis, bool keepdims) { return first_greatest(x, x.as(DType::f32), axis, keepdims, "argmax"); }
Tensor argmin(const Arg& x, std::int64_t axis, bool keepdims) { return first_greatest(x, backwards(x), axis, keepdims, "argmin"); }

Tensor argsort(const Arg& x, std::int64_t axis, bool descending) {
  const Along along(x, axis, "argsort");
  return along.back(sorting_places(along, along.rows(), descending));
}

Tensor sort(const Arg& x, std::int64_t axis, bool descending) {
  const Along along(x, axis, "sort");
  const Tensor rows = along.rows();
  return along.back(take_along(along.arg(rows), along.arg(sorting_places(along, rows, descending))));
}

Tensor flip(const Arg& x, std::int64_t axis) {
  const Along along(x, axis, "flip");
  return along.back(flipped(along, along.rows()));
}

TopK top_k(const Arg& x, std::int64_t k, std::int64_t axis) {
  const Along along(x, axis, "top_k");
  const Tensor rows = along.rows(), places = greatest_places(along, rows, k);
  return {along.back(take_along(along.arg(rows), along.arg(places))), along.back(places)};
}

}  // namespace sinter
