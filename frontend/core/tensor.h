// Tensor: an immutable value. Outside a trace it has data; inside a trace it stands for a node of the graph being recorded.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "frontend/core/record.h"
#include "ir/error.h"
#include "ir/type.h"
#include "ir/value.h"
#include "runtime/buffer.h"
#include "runtime/view.h"

namespace sinter {

class Trace;

/// The index of a row, from 0 or, if negative, from the end; carries the user's source line, which operator[] cannot take.
struct Index {
  Index(std::int64_t number, std::source_location where = std::source_location::current()) : number(number), where(where) {}  // NOLINT: a number
  std::int64_t number;
  std::source_location where;
};

class Tensor {
 public:
  /// No tensor; using it throws UserError.
  Tensor() = default;
  /// Dense row-major data, copied. Throws UserError if the counts differ or the shape is not fixed.
  Tensor(std::span<const float> data, const Shape& shape, std::source_location where = std::source_location::current());
  Tensor(std::initializer_list<float> data, const Shape& shape, std::source_location where = std::source_location::current())
      : Tensor(std::span(data.begin(), data.size()), shape, where) {}
  Tensor(std::span<const std::int32_t> data, const Shape& shape, std::source_location where = std::source_location::current());
  Tensor(std::span<const std::uint32_t> data, const Shape& shape, std::source_location where = std::source_location::current());
  Tensor(std::span<const std::uint8_t> data, const Shape& shape, std::source_location where = std::source_location::current());
  /// Doubles become f32, rounded; 64-bit integers i32. Throws UserError that names the element and its value if one does not fit.
  Tensor(std::span<const double> data, const Shape& shape, std::source_location where = std::source_location::current());
  Tensor(std::span<const std::int64_t> data, const Shape& shape, std::source_location where = std::source_location::current());
  /// bool. A template, so that no braced list of numbers converts to it.
  template <std::same_as<std::vector<bool>> Bits>
  Tensor(const Bits& data, const Shape& shape, std::source_location where = std::source_location::current())
      : Tensor(from_bits(data, shape, where)) {}
  /// A scalar.
  explicit Tensor(float value);
  /// Dense row-major bytes of any element type, copied.
  static Tensor from_bytes(const Type& type, const void* data);
  static Tensor zeros(const Type& type);
  /// Throws UserError for a number that the type does not hold: u8 300, i32 0.5, NaN but in f32.
  static Tensor filled(const Type& type, double value);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::size_t rank() const { return type_.shape.rank(); }
  /// Axis may be negative: -1 is the last. Inside a trace this may be N.
  Dim dim(std::int64_t axis) const;
  /// Row i along the first axis, which has a fixed size and leaves the shape. Throws UserError for an index outside.
  Tensor operator[](const Index& index) const;
  bool is_traced() const { return trace_ != 0; }
  /// Whether the one element is not 0, as in `if (a < b)`. Throws UserError, which names the line that made the tensor, on a traced one or one with
  /// several elements.
  explicit operator bool() const;

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
  /// A value in padded memory, as kernels write it and cells keep it.
  Tensor(const Type& type, runtime::Buffer buffer, RecordRef record = {}) : type_(type), buffer_(std::move(buffer)), record_(std::move(record)) {}
  /// The same value with this record.
  Tensor(const Tensor& value, RecordRef record)
      : type_(value.type_), buffer_(value.buffer_), record_(std::move(record)), unpadded_(value.unpadded_) {}
  Tensor(const Type& type, std::uint64_t trace, ir::NodeId node) : type_(type), trace_(trace), node_(node) {}
  /// The same value with this mask.
  Tensor(const Tensor& value, std::shared_ptr<const Tensor> mask) : Tensor(value) { mask_ = std::move(mask); }
  /// Which steps exist, boolean [N, T], of sequences [N, T, ...]; null if all do. Layers set and read it (frontend/nn/mask.h); what an op computes
  /// has none.
  const std::shared_ptr<const Tensor>& mask() const { return mask_; }
  bool defined() const { return buffer_ || trace_; }
  /// The line that made it: for errors of what cannot take a line of its own.
  const std::source_location& made() const { return made_; }
  void set_made(const std::source_location& where) { made_ = where; }
  const runtime::Buffer& buffer() const { return buffer_; }
  const RecordRef& record() const { return record_; }
  runtime::View view() const { return {type_, buffer_.data(), unpadded_}; }
  /// Memory for a value, not initialized: without padding if that would be much of it (ir/layout.h).
  static Tensor at_rest(const Type& type);
  /// Memory for what an op computes, not initialized: that of data at rest if it is large. What is small, most of which comes and goes, is as kernels
  /// are fastest with.
  static Tensor result(const Type& type);
  static bool result_is_unpadded(const Type& type);
  /// A value in memory without padding.
  static Tensor unpadded(const Type& type, runtime::Buffer buffer);
  bool is_unpadded() const { return unpadded_; }
  /// The value without its record in padded memory: its own, or a copy.
  Tensor padded() const;
  std::uint64_t trace() const { return trace_; }
  ir::NodeId node() const { return node_; }

 private:
  static Tensor from_bits(const std::vector<bool>& data, const Shape& shape, const std::source_location& where);
  void require_data(const char* what, const std::source_location& where) const;
  double only_element(const char* what, const std::source_location& where) const;

  Type type_;
  runtime::Buffer buffer_;
  RecordRef record_;
  bool unpadded_ = false;    // the buffer's rows are adjacent
  std::uint64_t trace_ = 0;  // serial number of the trace it belongs to; 0: it has data
  ir::NodeId node_ = ir::no_node;
  std::source_location made_;
  std::shared_ptr<const Tensor> mask_;
};

/// Prints values (abridged), or `%4: f32[N,70]` for a traced tensor.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace sinter
