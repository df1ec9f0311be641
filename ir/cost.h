// What an op costs: arithmetic and memory traffic as a + b·N.
#pragma once

#include "ir/graph.h"

namespace sinter::ir {

/// fixed + per_sample · N.
struct Cost {
  double fixed = 0, per_sample = 0;
  double at(std::int64_t n) const { return fixed + per_sample * static_cast<double>(n); }
  Cost& operator+=(const Cost& other) {
    fixed += other.fixed;
    per_sample += other.per_sample;
    return *this;
  }
};

Cost elements(const Shape& shape);
/// Bytes of a dense value of this type.
Cost bytes(const Type& type);
/// Floating-point operations by the op's walk: 2 per multiply-add of products; 1 per element of pointwise ops, reductions and softmax; 0 for moves.
Cost flops(const Graph& graph, NodeId id);

}  // namespace sinter::ir
