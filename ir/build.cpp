// The functions of ir/value.h: each appends one op, or a few.
#include "ir/graph.h"

namespace sinter::ir {

namespace {
Value number(Value like, double value) { return constant(*like.graph, value, like.type().dtype); }
}  // namespace

Value constant(Graph& graph, double value, DType type) {
  if (is_float(type)) value = static_cast<float>(value);
  return graph.add(Constant{value, type}, {});
}

Value operator+(Value a, Value b) { return a.graph->add(Add{}, {a, b}); }
Value operator-(Value a, Value b) { return a.graph->add(Sub{}, {a, b}); }
Value operator*(Value a, Value b) { return a.graph->add(Mul{}, {a, b}); }
Value operator/(Value a, Value b) { return a.graph->add(Div{}, {a, b}); }
Value operator-(Value a) { return a.graph->add(Neg{}, {a}); }
Value operator+(Value a, double b) { return a + number(a, b); }
Value operator-(Value a, double b) { return a - number(a, b); }
Value operator-(double a, Value b) { return number(b, a) - b; }
Value operator*(Value a, double b) { return a * number(a, b); }
Value operator*(double a, Value b) { return number(b, a) * b; }
Value operator/(Value a, double b) { return a / number(a, b); }
Value operator/(double a, Value b) { return number(b, a) / b; }
Value exp(Value x) { return x.graph->add(Exp{}, {x}); }
Value log(Value x) { return x.graph->add(Log{}, {x}); }
Value sqrt(Value x) { return x.graph->add(Sqrt{}, {x}); }
Value square(Value x) { return x.graph->add(Square{}, {x}); }
Value pow(Value x, Value y) { return x.graph->add(Pow{}, {x, y}); }
Value sin(Value x) { return x.graph->add(Sin{}, {x}); }
Value cos(Value x) { return x.graph->add(Cos{}, {x}); }
Value sign(Value x) { return x.graph->add(Sign{}, {x}); }
Value less(Value a, Value b) { return a.graph->add(Less{}, {a, b}); }
Value less_equal(Value a, Value b) { return a.graph->add(LessEqual{}, {a, b}); }
Value equal(Value a, Value b) { return a.graph->add(Equal{}, {a, b}); }
Value select(Value condition, Value a, Value b) { return a.graph->add(Select{}, {condition, a, b}); }

Value cast(Value x, DType type) {
  if (x.type().dtype == type) return x;
  Cast op;
  op.dtype = type;
  return x.graph->add(op, {x});
}

Value reshape(Value x, const Shape& shape) { return x.shape() == shape ? x : x.graph->add(Reshape{shape}, {x}); }
Value broadcast(Value x, const Shape& shape) { return x.shape() == shape ? x : x.graph->add(Broadcast{shape}, {x}); }
Value transpose(Value x) { return x.graph->add(Transpose{}, {x}); }

Value sum(Value x, std::size_t first, std::size_t last) {
  if (first == last) return x;
  return x.graph->add(Sum{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)}, {x});
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) { return a.graph->add(Matmul{transpose_a, transpose_b}, {a, b}); }

Value extent(Graph& graph, Dim dim) {
  if (dim.is_fixed()) return constant(graph, static_cast<double>(dim.factor()));
  return graph.add(Extent{dim}, {});
}

Value sum_to(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const std::size_t lead = x.shape().rank() - shape.rank();
  // Sums runs of adjacent repeated axes from the last to the first, so that the remaining axes keep their numbers.
  Value result = x;
  const auto repeated = [&](std::size_t axis) { return axis < lead || (shape[axis - lead] == Dim(1) && x.shape()[axis] != Dim(1)); };
  for (std::size_t last = x.shape().rank(); last > 0;) {
    std::size_t first = last;
    while (first > 0 && repeated(first - 1)) --first;
    if (first == last) {
      --last;
      continue;
    }
    result = sum(result, first, last);
    last = first;
  }
  return reshape(result, shape);
}

}  // namespace sinter::ir
