// Conversion between tensors and Eigen's matrices and vectors. Optional: sinter/sinter.h does not include it; a program that does finds Eigen itself
// (find_package(Eigen3)). Rows stay rows and columns stay columns in either storage order: nothing is ever transposed.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "frontend/core/tensor.h"
#include "ir/error.h"

namespace sinter::eigen {

/// Row-major, as tensors are. `Eigen::Ref<const eigen::Matrix<>, 0, Eigen::OuterStride<>>` takes any of the maps below without a copy.
template <class T = float>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T = float>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
// A tensor's memory. Its rows may be padded, so that the outer stride of a matrix may be more than its columns.
template <class T = float>
using MatrixMap = Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T = float>
using ConstMatrixMap = Eigen::Map<const Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T = float>
using VectorMap = Eigen::Map<Vector<T>>;
template <class T = float>
using ConstVectorMap = Eigen::Map<const Vector<T>>;

namespace detail {

template <class T>
constexpr DType dtype_of() {
  constexpr bool known = std::is_same_v<T, float> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> ||
                         std::is_same_v<T, std::uint8_t> || std::is_same_v<T, bool>;
  static_assert(known, "tensors hold float, std::int32_t, std::uint32_t, std::uint8_t or bool; convert others explicitly, as in x.cast<float>()");
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  return DType::f32;
}

/// Throws UserError for a tensor without values or of another element type.
template <class T>
void require(const Tensor& tensor, const char* what, const std::source_location& where) {
  const auto fail = [&](const std::string& message) { throw UserError(Origin::from(where).text(), str(what, message)); };
  if (tensor.is_traced()) fail(str(" needs values, but ", tensor, " has none while it is traced; return it and map what the step returns"));
  if (!tensor.defined()) fail(" of a tensor that was never set");
  if (tensor.dtype() != dtype_of<T>())
    fail(str(" of ", dtype_of<T>(), " was asked of a tensor of ", tensor.dtype(), "; name its element type, as in eigen::matrix<std::int32_t>(x)"));
}

template <class T>
T* elements(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.buffer().data());
}

/// Throws UserError for a tensor of several rows and columns.
inline void require_vector(const Tensor& tensor, const std::source_location& where) {
  const Layout at = tensor.view().layout();
  if (at.rows != 1 && at.cols != 1)
    throw UserError(Origin::from(where).text(), str("a vector has one row or one column, got ", tensor.type(), "; use matrix"));
}

}  // namespace detail

/// The tensor's own memory, read-only, as [rows, columns]: the last dimension is the columns, the product of the others the rows. A vector is one
/// row, a scalar 1 × 1. The map is valid while the tensor, or a copy of it, lives. Throws UserError for another element type and inside a trace.
template <class T = float>
ConstMatrixMap<T> matrix(const Tensor& tensor, std::source_location where = std::source_location::current()) {
  detail::require<T>(tensor, "matrix", where);
  const Layout at = tensor.view().layout();
  return {detail::elements<const T>(tensor), at.rows, at.cols, Eigen::OuterStride<>(at.stride)};
}
/// The tensor's own memory, read-only: all elements of a tensor that has one row or one column. As matrix().
template <class T = float>
ConstVectorMap<T> vector(const Tensor& tensor, std::source_location where = std::source_location::current()) {
  detail::require<T>(tensor, "vector", where);
  detail::require_vector(tensor, where);
  return {detail::elements<const T>(tensor), tensor.elements()};
}
// A map of a temporary would outlive it: name the tensor first.
template <class T = float>
ConstMatrixMap<T> matrix(const Tensor&& temporary) = delete;
template <class T = float>
ConstVectorMap<T> vector(const Tensor&& temporary) = delete;

/// Memory of a tensor for Eigen to write to: what is assigned to matrix() or vector() is evaluated in place, and tensor() returns it without a
/// copy. Tensors stay immutable: while a returned one is alive, the next matrix() or vector() writes to a copy. So a loop that fills it,
/// calls a step and drops the tensor uses the same memory each time and allocates nothing.
template <class T = float>
class Writable {
 public:
  /// Zeros of a fixed shape.
  explicit Writable(const Shape& shape) : tensor_(Tensor::zeros({detail::dtype_of<T>(), shape})) {}
  /// The elements of a tensor; reuses its memory if the tensor is moved in and not shared. Throws UserError for another element type and inside a
  /// trace.
  static Writable of(Tensor tensor, std::source_location where = std::source_location::current()) {
    detail::require<T>(tensor, "Writable", where);
    Writable result;
    result.tensor_ = tensor.detach();
    return result;
  }

  const Shape& shape() const { return tensor_.shape(); }
  /// [rows, columns] as eigen::matrix has them. Valid until the next call of tensor().
  MatrixMap<T> matrix() {
    own();
    const Layout at = tensor_.view().layout();
    return {detail::elements<T>(tensor_), at.rows, at.cols, Eigen::OuterStride<>(at.stride)};
  }
  /// All elements, if they form one row or one column. Valid until the next call of tensor(). Throws UserError for other shapes.
  VectorMap<T> vector(std::source_location where = std::source_location::current()) {
    detail::require_vector(tensor_, where);
    own();
    return {detail::elements<T>(tensor_), tensor_.elements()};
  }
  Tensor tensor() const { return tensor_; }

 private:
  Writable() = default;
  /// Copies the memory if a tensor shares it.
  void own() {
    if (tensor_.buffer().unique()) return;
    const std::size_t bytes = runtime::storage_bytes(tensor_.type(), {}, tensor_.is_unpadded());
    runtime::Buffer copy = runtime::Buffer::allocate(bytes);
    std::memcpy(copy.data(), tensor_.buffer().data(), bytes);
    tensor_ = tensor_.is_unpadded() ? Tensor::unpadded(tensor_.type(), std::move(copy)) : Tensor(tensor_.type(), std::move(copy));
  }
  Tensor tensor_;
};

/// A tensor from any dense Eigen expression, evaluated into the tensor's memory: [rows, columns], or [elements] for what is a row or a
/// column by its type (`VectorXf`, `x.row(1)`). The element type is the expression's; double and others are converted explicitly, `x.cast<float>()`.
template <class Derived>
Tensor tensor(const Eigen::DenseBase<Derived>& values) {
  using T = typename Derived::Scalar;
  constexpr bool is_array = std::is_base_of_v<Eigen::ArrayBase<Derived>, Derived>;
  // New memory cannot alias the expression, so that products need no temporary.
  const auto assign = [&](auto to) {
    if constexpr (is_array) to.array() = values.derived();
    else to.noalias() = values.derived();
  };
  if constexpr (Derived::IsVectorAtCompileTime) {
    Writable<T> memory(Shape{values.size()});
    assign(memory.vector());
    return memory.tensor();
  } else {
    Writable<T> memory(Shape{values.rows(), values.cols()});
    assign(memory.matrix());
    return memory.tensor();
  }
}

/// One sample through a Trainer or a Step: their predict_one. Allocates nothing. A strided input (a row of a column-major matrix, say) is copied by
/// Eigen.
template <class Model>
void predict_one(Model& model, const Eigen::Ref<const Eigen::VectorXf>& in, Eigen::Ref<Eigen::VectorXf> out) {
  model.predict_one(std::span<const float>(in.data(), static_cast<std::size_t>(in.size())),
                    std::span<float>(out.data(), static_cast<std::size_t>(out.size())));
}

}  // namespace sinter::eigen
