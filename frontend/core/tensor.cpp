#include "frontend/core/tensor.h"

#include <algorithm>
#include <ostream>

#include "frontend/core/number.h"
#include "frontend/core/trace.h"
#include "frontend/data/narrow.h"

namespace sinter {

namespace {

void require_elements(const Shape& shape, std::size_t count, const std::source_location& where) {
  const auto fail = [&](const std::string& rule) { throw UserError(Origin::from(where, current_layer()).text(), rule); };
  if (!shape.is_fixed()) fail(str("data needs a fixed shape, got ", shape));
  const auto wanted = static_cast<std::size_t>(shape.elements().factor());
  if (wanted != count) fail(str("shape ", shape, " has ", wanted, " elements, got ", count));
}

Tensor from_elements(DType dtype, const Shape& shape, std::size_t count, const void* data, const std::source_location& where) {
  require_elements(shape, count, where);
  Tensor result = Tensor::from_bytes({dtype, shape}, data);
  result.set_made(where);
  return result;
}

}  // namespace

Tensor::Tensor(std::span<const float> data, const Shape& shape, std::source_location where)
    : Tensor(from_elements(DType::f32, shape, data.size(), data.data(), where)) {}
Tensor::Tensor(std::span<const std::int32_t> data, const Shape& shape, std::source_location where)
    : Tensor(from_elements(DType::i32, shape, data.size(), data.data(), where)) {}
Tensor::Tensor(std::span<const std::uint32_t> data, const Shape& shape, std::source_location where)
    : Tensor(from_elements(DType::u32, shape, data.size(), data.data(), where)) {}
Tensor::Tensor(std::span<const std::uint8_t> data, const Shape& shape, std::source_location where)
    : Tensor(from_elements(DType::u8, shape, data.size(), data.data(), where)) {}

Tensor::Tensor(std::span<const double> data, const Shape& shape, std::source_location where) {
  std::vector<float> narrowed(data.size());
  data::narrow_f64(Origin::from(where, current_layer()).text(), 0, std::as_bytes(data), std::as_writable_bytes(std::span(narrowed)));
  *this = from_elements(DType::f32, shape, data.size(), narrowed.data(), where);
}
Tensor::Tensor(std::span<const std::int64_t> data, const Shape& shape, std::source_location where) {
  std::vector<std::int32_t> narrowed(data.size());
  data::narrow_i64(Origin::from(where, current_layer()).text(), 0, std::as_bytes(data), std::as_writable_bytes(std::span(narrowed)));
  *this = from_elements(DType::i32, shape, data.size(), narrowed.data(), where);
}

Tensor Tensor::from_bits(const std::vector<bool>& data, const Shape& shape, const std::source_location& where) {
  const std::vector<std::uint8_t> bytes(data.begin(), data.end());
  return from_elements(DType::boolean, shape, bytes.size(), bytes.data(), where);
}

Tensor::Tensor(float value) : Tensor(filled({}, value)) {}

Tensor Tensor::from_bytes(const Type& type, const void* data) {
  Tensor result = at_rest(type);
  runtime::copy_from_dense(data, result.view());
  return result;
}

Tensor Tensor::unpadded(const Type& type, runtime::Buffer buffer) {
  Tensor result(type, std::move(buffer));
  result.unpadded_ = true;
  return result;
}

Tensor Tensor::at_rest(const Type& type) {
  const bool unpadded = rests_unpadded(type.shape);
  Tensor result(type, runtime::Buffer::allocate(runtime::storage_bytes(type, {}, unpadded)));
  result.unpadded_ = unpadded;
  return result;
}

bool Tensor::result_is_unpadded(const Type& type) {
  constexpr std::size_t large = 256 << 10;  // bytes
  return rests_unpadded(type.shape) && runtime::storage_bytes(type) >= large;
}

Tensor Tensor::result(const Type& type) {
  return result_is_unpadded(type) ? at_rest(type) : Tensor(type, runtime::Buffer::allocate(runtime::storage_bytes(type)));
}

Tensor Tensor::padded() const {
  if (!unpadded_) return {type_, buffer_};
  Tensor result(type_, runtime::Buffer::allocate(runtime::storage_bytes(type_)));
  runtime::copy_from_dense(buffer_.data(), result.view());
  return result;
}

Tensor Tensor::zeros(const Type& type) {
  if (!type.shape.is_fixed()) throw UserError("Tensor", str("data needs a fixed shape, got ", type.shape));
  const bool unpadded = rests_unpadded(type.shape);
  Tensor result(type, runtime::Buffer::zeroed(runtime::storage_bytes(type, {}, unpadded)));
  result.unpadded_ = unpadded;
  return result;
}

Tensor Tensor::filled(const Type& type, double value) {
  if (const std::string wrong = misfit(value, type.dtype); !wrong.empty()) throw UserError("Tensor::filled", wrong);
  Tensor result = zeros(type);
  const Layout at = result.view().layout();
  with_element_type(type.dtype, [&]<class T>(T) {
    T* data = result.view().as<T>();
    for (std::int64_t r = 0; r < at.rows; ++r) std::fill_n(data + r * at.stride, at.cols, static_cast<T>(value));
  });
  return result;
}

Dim Tensor::dim(std::int64_t axis) const {
  const auto rank = static_cast<std::int64_t>(shape().rank());
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) throw UserError("Tensor::dim", str("axis ", axis, " does not exist in ", shape(), ", which has ", rank, " dimensions"));
  return shape()[static_cast<std::size_t>(at)];
}

void Tensor::require_data(const char* what, const std::source_location& where) const {
  if (trace_)
    throw NoTracedValue(Origin::from(where, current_layer()).text(),
                        str(what, " needs a value, but ", *this,
                            " has none while it is traced; use where() for choices, or return the tensor and read it after the step"));
  if (!buffer_) throw UserError(Origin::from(where, current_layer()).text(), str(what, " of a tensor that was never set"));
}

Tensor::operator bool() const {
  const char* what = "if (tensor)";
  require_data(what, made_);
  return only_element(what, made_) != 0;
}

std::int64_t Tensor::elements() const { return shape().elements().factor(); }

double Tensor::item(std::source_location where) const {
  require_data("item()", where);
  return only_element("item()", where);
}

double Tensor::only_element(const char* what, const std::source_location& where) const {
  if (elements() != 1)
    throw UserError(
        Origin::from(where, current_layer()).text(),
        str(what, " needs one element, got ", type(), "; reduce it, as min (are all true?) and max (is any?) do, or read it with to_vector"));
  return with_element_type(dtype(), [&]<class T>(T) -> double { return *view().as<T>(); });
}

void Tensor::copy_to(void* dense, std::source_location where) const {
  require_data("reading data", where);
  runtime::copy_to_dense(view(), dense);
}

template <class T>
std::vector<T> Tensor::to_vector(std::source_location where) const {
  require_data("to_vector()", where);
  const bool fits = (std::is_same_v<T, float> && dtype() == DType::f32) || (std::is_same_v<T, std::int32_t> && dtype() == DType::i32) ||
                    (std::is_same_v<T, std::uint32_t> && dtype() == DType::u32) || (std::is_same_v<T, std::uint8_t> && size_of(dtype()) == 1);
  if (!fits) throw UserError(Origin::from(where).text(), str("to_vector of another element type than the tensor's, which is ", type()));
  std::vector<T> result(static_cast<std::size_t>(elements()));
  runtime::copy_to_dense(view(), result.data());
  return result;
}
template std::vector<float> Tensor::to_vector(std::source_location) const;
template std::vector<std::int32_t> Tensor::to_vector(std::source_location) const;
template std::vector<std::uint32_t> Tensor::to_vector(std::source_location) const;
template std::vector<std::uint8_t> Tensor::to_vector(std::source_location) const;

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (tensor.is_traced()) return out << "%" << tensor.node() << ": " << tensor.type();
  if (!tensor.defined()) return out << "(no tensor)";
  out << tensor.type() << " {";
  const Layout at = tensor.view().layout();
  constexpr std::int64_t most = 12;
  const std::int64_t count = std::min(at.elements(), most);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t offset = i / at.cols * at.stride + i % at.cols;
    out << (i ? ", " : "");
    switch (tensor.dtype()) {
      case DType::f32:
        out << tensor.view().as<float>()[offset];
        break;
      case DType::i32:
        out << tensor.view().as<std::int32_t>()[offset];
        break;
      case DType::u32:
        out << tensor.view().as<std::uint32_t>()[offset];
        break;
      case DType::u8:
        out << static_cast<int>(tensor.view().as<std::uint8_t>()[offset]);
        break;
      case DType::boolean:
        out << (tensor.view().as<std::uint8_t>()[offset] ? "true" : "false");
        break;
    }
  }
  return out << (at.elements() > most ? ", …}" : "}");
}

}  // namespace sinter
