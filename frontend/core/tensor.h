// Tensor: an immutable value. Outside a trace it has data; inside a trace it stands for a node of the graph being recorded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <source_location>
#include <span>
#include <vector>

#include "frontend/core/record.h"
#include "ir/graph.h"
#include "ir/type.h"
#include "runtime/buffer.h"
#include "runtime/interpreter.h"

namespace sinter {

class Trace;

class Tensor {
 public:
  /// No tensor; using it throws UserError.
  Tensor() = default;
  /// Dense row-major data, copied. Throws UserError if the counts differ or the shape is not fixed.
  Tensor(std::span<const float> data, const Shape& shape);
  Tensor(std::initializer_list<float> data, const Shape& shape) : Tensor(std::span(data.begin(), data.size()), shape) {}
  Tensor(std::span<const std::int32_t> data, const Shape& shape);
  Tensor(std::span<const std::uint8_t> data, const Shape& shape);
  /// A scalar.
  explicit Tensor(float value);
  /// Dense row-major bytes of any element type, copied.
  static Tensor from_bytes(const Type& type, const void* data);
  static Tensor zeros(const Type& type);
  static Tensor filled(const Type& type, double value);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::size_t rank() const { return type_.shape.rank(); }
  /// Axis may be negative: -1 is the last. Inside a trace this may be N.
  Dim dim(std::int64_t axis) const;
  bool is_traced() const { return trace_ != 0; }
  explicit operator bool() const;  ///< the value of a bool scalar; throws UserError on a traced tensor

  /// The one element. Throws UserError on a traced tensor or one with several elements.
  double item(std::source_location where = std::source_location::current()) const;
  /// Dense row-major copy. Throws UserError on a traced tensor or another element type.
  template <class T>
  std::vector<T> to_vector(std::source_location where = std::source_location::current()) const;
  /// Copies dense row-major data out: `elements()` elements of the tensor's type.
  void copy_to(void* dense, std::source_location where = std::source_location::current()) const;
  std::int64_t elements() const;

  /// The same value without its gradient record.
  Tensor detach() const;

  // ---- for the rest of the front end ----
  Tensor(const Type& type, runtime::Buffer buffer, RecordRef record = {}) : type_(type), buffer_(std::move(buffer)), record_(std::move(record)) {}
  Tensor(const Type& type, std::uint64_t trace, ir::NodeId node) : type_(type), trace_(trace), node_(node) {}
  bool defined() const { return buffer_ || trace_; }
  const runtime::Buffer& buffer() const { return buffer_; }
  const RecordRef& record() const { return record_; }
  runtime::View view() const { return {type_, buffer_.data()}; }
  std::uint64_t trace() const { return trace_; }
  ir::NodeId node() const { return node_; }

 private:
  void require_data(const char* what, const std::source_location& where) const;

  Type type_;
  runtime::Buffer buffer_;
  RecordRef record_;
  std::uint64_t trace_ = 0;  // serial number of the trace it belongs to; 0: it has data
  ir::NodeId node_ = ir::no_node;
};

/// Prints values (abridged), or `%4: f32[N,70]` for a traced tensor.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace sinter
