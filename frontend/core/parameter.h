// Parameter: a named mutable cell. Weights, optimizer slots, the learning rate and counters are all parameters; `assign` is the only mutation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "frontend/core/tensor.h"

namespace sinter {

/// A value of a Cell.
struct CellValue {
  runtime::Buffer buffer;
  std::uint64_t version = 0;
};

/// What a Parameter points to. Copies of a Parameter share it.
struct Cell {
  std::string name;
  std::string qualified_name{};  ///< with the kind of its root in front, `residual.dense_1.weight`; empty if no module has it
  Type type;
  bool trainable = true;
  std::uint64_t version = 0;  ///< of the value: a new one after each assignment, also by a compiled step; never reused
  runtime::Buffer buffer;
  mutable bool assigning = false;        ///< a compiled step that assigns it is running; atomic
  std::optional<CellValue> published{};  ///< what clones of steps read; guarded by the lock of publish()
  std::shared_ptr<Cell> original{};      ///< of a clone's cell: the one that it stands for

  /// Must be called after each change of the value.
  void changed();
  CellValue value() const { return {buffer, version}; }
  /// Sets a value that it, or the cell that it stands for, had before.
  void set(CellValue value) {
    buffer = std::move(value.buffer);
    version = value.version;
  }
  bool is_assigning() const { return std::atomic_ref(assigning).load(std::memory_order_acquire); }
  /// Throws UserError, which ends with what to do, if a running step assigns it.
  void require_unassigned(const char* advice) const;
};

class Parameter {
 public:
  Parameter() = default;
  Parameter(const Parameter&) = default;  // also serves as the move: a module that was moved from stays usable
  Parameter& operator=(const Parameter&) = default;
  /// Throws UserError for a name that is empty, no UTF-8, too long or has control characters, and for a traced or missing initial value. Created
  /// inside a trace, it starts with this value too.
  Parameter(std::string name, const Tensor& initial, bool trainable = true);

  const std::string& name() const { return cell_->name; }
  /// Throws UserError for a name that the constructor would refuse.
  void set_name(std::string name);
  /// The name under which a file has it, where `has(name)` tells whether the file has one: name(), or the one that older versions of Sinter gave it
  /// (`residual.dense_1.weight`, with the kind of the root in front).
  template <class Has>
  const std::string& name_in_file(const Has& has) const {
    return !has(cell_->name) && has(cell_->qualified_name) ? cell_->qualified_name : cell_->name;
  }
  const Type& type() const { return cell_->type; }
  const Shape& shape() const { return cell_->type.shape; }
  /// Whether it is not frozen. A compiled step may depend on it: the step is traced again after it has changed.
  bool trainable() const;
  /// Freezes it (false) or unfreezes it. A frozen parameter is a constant: its gradient is 0, and optimizers leave it as it is.
  void set_trainable(bool trainable) { cell_->trainable = trainable; }
  std::uint64_t version() const { return cell_->version; }
  bool defined() const { return cell_ != nullptr; }

  /// The present value; a snapshot that later assignments don't change. Inside a trace, the value last assigned in the trace.
  Tensor read() const;
  operator Tensor() const { return read(); }  // NOLINT: a parameter reads as its value
  /// Throws UserError if the type differs.
  void assign(const Tensor& value, std::source_location where = std::source_location::current()) const;

  const std::shared_ptr<Cell>& cell() const { return cell_; }
  bool operator==(const Parameter&) const = default;

 private:
  std::shared_ptr<Cell> cell_;
};

}  // namespace sinter
