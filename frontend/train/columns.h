// What a data set has for the inputs and targets of a model.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "frontend/train/sequences.h"

namespace sinter {

/// One input or target of all samples: an array [samples, ...], which it converts from and to, or sequences.
class Column {
 public:
  Column() = default;
  Column(Tensor array) : array_(std::move(array)) {}                                       // NOLINT: an array is one
  Column(Sequences sequences) : sequences_(std::move(sequences)), has_sequences_(true) {}  // NOLINT: so are sequences

  bool has_sequences() const { return has_sequences_; }
  /// None of an array.
  const Sequences& sequences() const { return sequences_; }
  /// Throws UserError for sequences.
  const Tensor& array() const;
  operator const Tensor&() const { return array(); }  // NOLINT: an array is one
  /// The elements of the array.
  template <class T>
  std::vector<T> to_vector() const {
    return array().to_vector<T>();
  }

  bool defined() const { return values().defined(); }
  /// The array, or the steps of all sequences.
  const Tensor& values() const { return has_sequences_ ? sequences_.values() : array_; }
  /// Samples first; then, of sequences, T for their lengths.
  Type type() const { return has_sequences_ ? sequences_.type() : array_.type(); }
  Shape shape() const { return type().shape; }
  DType dtype() const { return values().dtype(); }
  std::size_t rank() const { return shape().rank(); }
  /// Samples; 0 of a scalar and of what was never set.
  std::int64_t size() const;
  /// As those of Sequences.
  Column slice(std::int64_t begin, std::int64_t end) const;
  Column select(std::span<const std::int32_t> numbers) const;

 private:
  Tensor array_;
  Sequences sequences_;
  bool has_sequences_ = false;
};

/// The samples of all of them, which are of one type.
Column joined(std::span<const Column> columns);

/// The columns of several inputs or targets; a single one converts to it.
class Columns {
 public:
  Columns() = default;
  /// A list of one; empty if the tensor is undefined.
  Columns(Tensor one) {  // NOLINT: one column is a list of columns
    if (one.defined()) list_.emplace_back(std::move(one));
  }
  Columns(Sequences one) : list_{std::move(one)} {}                              // NOLINT
  Columns(Column one) : list_{std::move(one)} {}                                 // NOLINT
  Columns(const std::vector<Tensor>& list) : list_(list.begin(), list.end()) {}  // NOLINT
  Columns(std::vector<Column> list) : list_(std::move(list)) {}                  // NOLINT
  Columns(std::initializer_list<Column> list) : list_(list) {}

  std::size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  const Column& operator[](std::size_t i) const { return list_[i]; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  /// The only one. Throws UserError unless there is exactly one, an array.
  const Tensor& only() const;
  operator const Tensor&() const { return only(); }  // NOLINT
  /// All of them. Throws UserError for sequences.
  std::vector<Tensor> arrays() const;

 private:
  std::vector<Column> list_;
};

}  // namespace sinter
