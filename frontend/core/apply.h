// The single entry point for all ops of the front end: evaluated immediately, or recorded.
#pragma once

#include <initializer_list>
#include <source_location>
#include <span>

#include "frontend/core/tensor.h"
#include "ir/ops.h"

namespace sinter {

/// Inside a trace: appends a node. Outside: evaluates immediately, and keeps a record if the result depends on a trainable parameter or a watched
/// tensor. Throws UserError naming layer and line.
Tensor apply(const ir::Op& op, std::span<const Tensor* const> in, const std::source_location& where);
inline Tensor apply(const ir::Op& op, std::initializer_list<const Tensor*> in, const std::source_location& where) {
  return apply(op, std::span(in.begin(), in.size()), where);
}

}  // namespace sinter
