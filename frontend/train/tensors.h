// One or several tensors: the inputs or outputs of a model.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// A list of tensors that converts from and to a single one.
class Tensors {
 public:
  Tensors() = default;
  /// A list of one; empty if the tensor is undefined.
  Tensors(Tensor one) {  // NOLINT: one tensor is a list of tensors
    if (one.defined()) list_.push_back(std::move(one));
  }
  Tensors(std::vector<Tensor> list) : list_(std::move(list)) {}  // NOLINT
  Tensors(std::initializer_list<Tensor> list) : list_(list) {}

  std::size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  const Tensor& operator[](std::size_t i) const { return list_[i]; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  /// The only one. Throws UserError unless there is exactly one.
  const Tensor& only() const {
    if (list_.size() != 1) throw UserError("Tensors", str("exactly one tensor is needed, but there are ", list_.size(), "; pick one by its index"));
    return list_[0];
  }
  operator const Tensor&() const { return only(); }  // NOLINT

 private:
  std::vector<Tensor> list_;
};

}  // namespace sinter
