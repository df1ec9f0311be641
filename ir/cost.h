// What an op costs: arithmetic and memory traffic.
#pragma once

#include "ir/graph.h"
#include "ir/polynomial.h"

namespace sinter::ir {

using Cost = Polynomial<double>;

Cost elements(const Shape& shape);
/// Bytes of a dense value of this type.
Cost bytes(const Type& type);
/// Floating-point operations by the op's walk: 2 per multiply-add of products; 1 per element of pointwise ops, reductions and softmax; 0 for moves.
Cost flops(const Graph& graph, NodeId id);

}  // namespace sinter::ir
