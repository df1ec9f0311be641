// Several tensors where one is usual: the inputs or outputs of a model.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// A list of tensors, to which a single one converts and from which a single one reads.
class Tensors {
 public:
  Tensors() = default;
  /// A list of one; of none if the tensor was never set.
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
  /// The only one. Throws UserError for a list of none or several.
  const Tensor& only() const {
    if (list_.size() != 1) throw UserError("Tensors", str("one tensor is wanted, but there are ", list_.size(), "; pick one by its number"));
    return list_[0];
  }
  operator const Tensor&() const { return only(); }  // NOLINT

 private:
  std::vector<Tensor> list_;
};

}  // namespace sinter
