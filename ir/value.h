// A node of a graph as a value: gradient rules and passes write arithmetic on these and the graph grows.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/type.h"

namespace sinter::ir {

class Graph;
using NodeId = std::uint32_t;
inline constexpr NodeId no_node = ~NodeId{0};

struct Value {
  Graph* graph = nullptr;
  NodeId id = no_node;

  explicit operator bool() const { return graph != nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
};
using Values = std::vector<Value>;

/// A scalar constant of the type.
Value constant(Graph& graph, double value, DType type = DType::f32);

// Pointwise arithmetic with NumPy broadcasting; see ir/ops for each op's meaning. A number stands for a scalar constant.
Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator-(Value a);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator-(double a, Value b);
Value operator*(Value a, double b);
Value operator*(double a, Value b);
Value operator/(Value a, double b);
Value operator/(double a, Value b);
Value exp(Value x);
Value log(Value x);
Value sqrt(Value x);
Value square(Value x);
Value pow(Value x, Value y);
Value sin(Value x);
Value cos(Value x);
Value sign(Value x);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value equal(Value a, Value b);
Value select(Value condition, Value a, Value b);
Value cast(Value x, DType type);

// Shape, reductions and products.
Value reshape(Value x, const Shape& shape);
Value broadcast(Value x, const Shape& shape);
Value transpose(Value x);
/// Sums the axes in [first, last).
Value sum(Value x, std::size_t first, std::size_t last);
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);
/// The number of elements along a dimension, as an f32 scalar: known only at run time if the dimension has N.
Value extent(Graph& graph, Dim dim);
/// Sums over the dimensions that broadcasting repeated, so that the result has this shape: the gradient of broadcasting.
Value sum_to(Value x, const Shape& shape);

}  // namespace sinter::ir
