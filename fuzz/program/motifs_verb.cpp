// Functions of the language that are several ops each: what they are made of, on values of the program.
#include <algorithm>
#include <functional>
#include <numeric>

#include "frontend/compile/bounds.h"
#include "frontend/core/ops.h"
#include "frontend/core/trace.h"
#include "frontend/nn/activation.h"
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

namespace {

/// Traces the function on tensors of the operands' types and adds its nodes to the program. Throws as the function does, and Unfit.
template <class F>
Value traced(Builder& b, const ir::Values& operands, F&& function) {
  Traced recorded = [&] {
    Trace trace("verb");
    std::vector<Tensor> in;
    for (const Value v : operands)
      in.push_back(trace.input({str("x", in.size()), v.type(), v.shape().has_batch() ? ir::InputSpec::Kind::batch : ir::InputSpec::Kind::fixed}));
    trace.output(function(in));
    return trace.finish();
  }();
  const ir::Graph& graph = recorded.graph;
  std::vector<Value> place(graph.size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    place[graph.input_node(i)] = i < operands.size() ? operands[i] : b.constant(exact(recorded.captured[i - operands.size()]).value);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (place[id]) continue;
    ir::Values in;
    for (const ir::NodeId input : node.inputs) in.push_back(place[input]);
    place[id] = b.add(node.op, in);
  }
  return place[graph.outputs()[0]];
}

Value some(Builder& b, DType dtype, std::size_t least_rank) {
  return b.operand(dtype, [=](const Shape& s) { return s.rank() >= least_rank; }, b.shape(least_rank + b.choose.below(5 - least_rank)));
}

/// An axis, counted from the front or from the end; seldom one of N, which most functions refuse.
std::int64_t some_axis(Builder& b, const Shape& shape) {
  std::size_t axis = b.axis(shape);
  if (!shape[axis].is_fixed() && exactly(b)) axis = shape.rank() - 1 - axis;
  return static_cast<std::int64_t>(axis) - (b.choose.below(2) ? static_cast<std::int64_t>(shape.rank()) : 0);
}

/// Some of `count` numbers in a random order, `least` or more.
std::vector<std::size_t> some_of(Builder& b, std::size_t count, std::size_t least) {
  std::vector<std::size_t> all(count), result;
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t more = least + b.choose.below(count - least + 1); more > 0; --more) {
    const std::size_t i = b.choose.below(all.size());
    result.push_back(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return result;
}

}  // namespace

Value ordered(Builder& b) {
  const bool long_rows = b.choose.below(2);  // which are ordered by radix
  const Value x = long_rows ? b.leaf({b.numbers(), {b.number(1, 3), b.number(250, 450)}}) : some(b, b.numbers(), 1);
  const std::int64_t axis = long_rows ? 1 : some_axis(b, x.shape()), k = long_rows ? b.number(60, 250) : b.number(1, 3);
  const bool flag = b.choose.below(2);
  const std::function<Tensor(const Arg&)> functions[] = {
      [&](const Arg& in) { return sort(in, axis, flag); },      [&](const Arg& in) { return argsort(in, axis, flag); },
      [&](const Arg& in) { return top_k(in, k, axis).values; }, [&](const Arg& in) { return argmax(in, axis, flag); },
      [&](const Arg& in) { return argmin(in, axis, flag); },    [&](const Arg& in) { return flip(in, axis); },
      [&](const Arg& in) { return cumsum(in, axis); },
  };
  const auto& function = functions[b.choose.below(long_rows ? 3 : std::size(functions))];
  return traced(b, {x}, [&](const std::vector<Tensor>& in) { return function(in[0]); });
}

Value permuted(Builder& b) {
  const Value x = some(b, b.choose.one_in(3) ? b.dtype() : DType::f32, 2);
  const std::vector<std::size_t> order = some_of(b, x.shape().rank(), x.shape().rank());
  return traced(b, {x}, [&](const std::vector<Tensor>& in) { return permute(in[0], std::vector<std::int64_t>(order.begin(), order.end())); });
}

/// Sums of products over up to five letters, of up to three operands.
Value contracted(Builder& b) {
  const std::size_t letters = 2 + b.choose.below(4);
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < letters; ++i) dims.emplace_back(b.choose.one_in(3) ? 1 : b.number(2, 5));
  if (b.choose.below(2)) dims[b.choose.below(letters)] = Dim::batch();
  const auto text_of = [](const std::vector<std::size_t>& list) {
    std::string text;
    for (const std::size_t letter : list) text += static_cast<char>('a' + letter);
    return text;
  };
  std::string subscripts;
  std::vector<std::size_t> used;
  ir::Values operands;
  for (std::size_t more = 1 + b.choose.below(3); more > 0; --more) {
    const std::vector<std::size_t> list = some_of(b, letters, 1);
    std::vector<Dim> shape;
    for (const std::size_t letter : list) {
      shape.push_back(dims[letter]);
      if (std::find(used.begin(), used.end(), letter) == used.end()) used.push_back(letter);
    }
    if (shape.size() > 4) throw Unfit{};
    operands.push_back(b.floats(Shape(std::span<const Dim>(shape))));
    subscripts += (subscripts.empty() ? "" : ",") + text_of(list);
  }
  subscripts += "->";
  for (const std::size_t i : some_of(b, used.size(), 0)) subscripts += text_of({used[i]});
  return traced(b, operands, [&](const std::vector<Tensor>& in) { return einsum(subscripts, in); });
}

/// Vectors, matrices and stacks of them, whose leading axes broadcast.
Value multiplied(Builder& b) {
  const Dim rows = b.choose.below(2) ? Dim(b.extent()) : Dim::batch(), inner = b.extent(), columns = b.extent();
  const bool transpose_a = b.choose.one_in(4), transpose_b = b.choose.one_in(4);
  const std::size_t vector = b.choose.below(4);  // of the left, of the right, of both or of none
  std::vector<Dim> left{transpose_a ? inner : rows, transpose_a ? rows : inner}, right{transpose_b ? columns : inner, transpose_b ? inner : columns};
  if (vector == 0 || vector == 2) left = {inner};
  if (vector == 1 || vector == 2) right = {inner};
  for (std::vector<Dim>* side : {&left, &right})
    for (std::size_t more = side->size() < 2 ? 0 : b.choose.below(3); more > 0; --more)
      side->insert(side->begin(), b.choose.below(2) ? Dim(1) : more == 1 && rows.is_fixed() && b.choose.below(2) ? Dim::batch() : Dim(2));
  const ir::Values operands{b.floats(Shape(std::span<const Dim>(left))), b.floats(Shape(std::span<const Dim>(right)))};
  return traced(b, operands,
                [&](const std::vector<Tensor>& in) { return matmul(in[0], in[1], transpose_a && left.size() > 1, transpose_b && right.size() > 1); });
}

Value reduced(Builder& b) {
  constexpr Tensor (*functions[])(const Arg&, const Axes&, bool) = {variance, logsumexp, mean, min, max, sum, prod};
  const std::size_t which = b.choose.below(std::size(functions));
  const Value x = some(b, which < 2 ? DType::f32 : b.dtype(), 1);
  const Axes axes = b.choose.one_in(4) ? Axes() : Axes(some_axis(b, x.shape()));
  const bool keepdims = b.choose.below(2);
  return traced(b, {x}, [&](const std::vector<Tensor>& in) { return functions[which](in[0], axes, keepdims); });
}

/// Slices with steps, rows by number, and parts put together in another order.
Value sliced(Builder& b) {
  const Value x = some(b, b.choose.one_in(3) ? b.dtype() : DType::f32, 1);
  const std::size_t which = b.choose.below(3);
  const std::int64_t axis = some_axis(b, x.shape()), number = b.number(0, 3) - 2;
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < x.shape().rank(); ++i)
    if (x.shape()[i].is_fixed() && b.choose.below(2))
      slices.push_back({b.number(0, 3) - 2, b.choose.below(2) ? Slice::to_end : b.number(0, 6) - 1, b.number(1, 3)});
    else slices.emplace_back();
  return traced(b, {x}, [&](const std::vector<Tensor>& in) {
    if (which == 0) return slice(in[0], slices);
    if (which == 1) return in[0][number];
    const Dim extent = in[0].dim(axis);
    if (!extent.is_fixed() || extent.factor() < 2) throw Unfit{};
    const std::vector<Tensor> parts = split(in[0], {1, extent.factor() - 1}, axis);
    return concat({parts[1], parts[0], parts[1]}, axis);
  });
}

/// An activation, or a choice between two values.
Value activated(Builder& b) {
  const Value x = some(b, DType::f32, 1);
  const auto activation = static_cast<Activation>(b.choose.below(static_cast<std::size_t>(Activation::exponential) + 1));
  if (b.choose.below(2)) return traced(b, {x}, [&](const std::vector<Tensor>& in) { return nn::activate(activation, in[0]); });
  const Value y = b.beside(DType::f32, x.shape());
  return traced(b, {x, y}, [&](const std::vector<Tensor>& in) {
    return where(logical_or(in[0] < in[1], logical_not(in[1] >= 0)), nn::activate(activation, in[0]), in[1]);
  });
}

}  // namespace sinter::fuzz::motif
