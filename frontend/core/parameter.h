// Parameter: a named mutable cell. Weights, optimizer slots, the learning rate and counters are all parameters; `assign` is the only mutation.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

#include "frontend/core/tensor.h"

namespace sinter {

/// What a Parameter points to. Copies of a Parameter share it.
struct Cell {
  std::string name;
  Type type;
  bool trainable = true;
  std::uint64_t version = 0;  ///< of the value: another after each assignment, those by compiled steps too, and never one that any value had before
  runtime::Buffer buffer;

  /// To be called after each change of the value.
  void changed();
};

class Parameter {
 public:
  Parameter() = default;
  /// Throws UserError for an empty name or a traced or missing initial value. Made inside a trace, it starts outside of it.
  Parameter(std::string name, const Tensor& initial, bool trainable = true);

  const std::string& name() const { return cell_->name; }
  void set_name(std::string name) { cell_->name = std::move(name); }
  const Type& type() const { return cell_->type; }
  const Shape& shape() const { return cell_->type.shape; }
  bool trainable() const { return cell_->trainable; }
  void set_trainable(bool trainable) { cell_->trainable = trainable; }
  std::uint64_t version() const { return cell_->version; }
  bool defined() const { return cell_ != nullptr; }

  /// The present value; a snapshot that later assignments don't change. Inside a trace, the value that the trace has given it so far.
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
