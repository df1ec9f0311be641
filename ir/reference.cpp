#include "ir/reference.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sinter::ir {

namespace {

/// Arithmetic on i32 and u32: exact even where a product has more digits than a double; the caller wraps it.
struct Whole {
  std::int64_t value = 0;
  explicit Whole(std::int64_t x) : value(x) {}
  auto operator<=>(const Whole&) const = default;
};
Whole wrapped(std::uint64_t x) { return Whole(static_cast<std::int64_t>(x)); }
std::uint64_t bits(Whole x) { return static_cast<std::uint64_t>(x.value); }
Whole operator+(Whole a, Whole b) { return wrapped(bits(a) + bits(b)); }
Whole operator-(Whole a, Whole b) { return wrapped(bits(a) - bits(b)); }
Whole operator*(Whole a, Whole b) { return wrapped(bits(a) * bits(b)); }
Whole operator-(Whole a) { return wrapped(-bits(a)); }
Whole select(bool condition, Whole a, Whole b) { return condition ? a : b; }

}  // namespace

template <>
struct Mask<Whole> {
  using type = bool;
};

namespace {

/// Index into an operand of the element that broadcasting puts at `flat` of the output.
std::size_t operand_index(const Array& operand, const std::vector<std::int64_t>& extents, std::int64_t flat) {
  const std::size_t lead = extents.size() - operand.extents.size();
  std::int64_t from = 0, step = 1;
  for (std::size_t axis = extents.size(); axis-- > lead;) {
    const std::int64_t at = flat % extents[axis];
    flat /= extents[axis];
    if (operand.extents[axis - lead] != 1) from += at * step;
    step *= operand.extents[axis - lead];
  }
  return static_cast<std::size_t>(from);
}

template <class O>
void evaluate_elementwise(const O& op, std::span<const Array* const> in, Array& out) {
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const auto at = [&](std::size_t k) { return in[k]->data[operand_index(*in[k], out.extents, i)]; };
    double result;
    if constexpr (std::is_base_of_v<Elementwise<O::arity, Numbers>, O>)
      if (out.dtype != DType::f32) {
        const auto whole = [&](std::size_t k) { return Whole(static_cast<std::int64_t>(at(k))); };
        std::int64_t exact;
        if constexpr (O::arity == 1) exact = op.eval(whole(0)).value;
        else exact = op.eval(whole(0), whole(1)).value;
        out.data[static_cast<std::size_t>(i)] = wrap(out.dtype, static_cast<double>(exact & 0xffffffff));
        continue;
      }
    if constexpr (std::is_base_of_v<Elementwise<O::arity, Words>, O>) result = op.eval(Word(at(0)), Word(at(1))).value;
    else if constexpr (std::is_same_v<O, Select>) result = op.eval(at(0) != 0, at(1), at(2));
    else if constexpr (O::arity == 1) result = op.eval(at(0));
    else result = op.eval(at(0), at(1));
    out.data[static_cast<std::size_t>(i)] = is_float(out.dtype) ? result : wrap(out.dtype, result);
  }
}

}  // namespace

Array evaluate(const Op& op, const Type& type, std::span<const Array* const> in, Sizes sizes) {
  std::vector<std::int64_t> extents = type.shape.extents(sizes);
  Array out(type.dtype, std::move(extents));
  std::visit(
      [&]<class O>(const O& o) {
        if constexpr (IsLeaf<O> || IsScan<O>) throw InternalError(O::name, "has no value of its own");
        else if constexpr (HasReference<O>) {
          Reference r{in, out, sizes};
          o.reference(r);
        } else evaluate_elementwise(o, in, out);
      },
      op);
  return out;
}

Array step_of(const Array& sequence, std::int64_t t) {
  std::vector<std::int64_t> extents = sequence.extents;
  const std::int64_t steps = extents.at(1), size = sequence.product(2, extents.size());
  extents.erase(extents.begin() + 1);
  Array element(sequence.dtype, std::move(extents));
  for (std::int64_t n = 0; n < sequence.extents[0]; ++n)
    std::copy_n(sequence.data.begin() + (n * steps + t) * size, size, element.data.begin() + n * size);
  return element;
}

void set_step(Array& sequence, std::int64_t t, const Array& element) {
  const std::int64_t steps = sequence.extents[1], size = sequence.product(2, sequence.extents.size());
  for (std::int64_t n = 0; n < sequence.extents[0]; ++n)
    std::copy_n(element.data.begin() + n * size, size, sequence.data.begin() + (n * steps + t) * size);
}

std::vector<Array> evaluate_scan(const Scan& scan, std::span<const Array* const> in, Sizes sizes) {
  const Graph& body = scan.body.graph();
  const std::size_t carries = scan.carry_count(), sequences = carries + scan.sequence_count();
  std::vector<Array> results, inputs;
  for (std::size_t i = 0; i < scan.result_count(); ++i) {
    const Type type = scan.result(i);
    // N of the scan may be a number: then the body has that number.
    results.push_back(i < carries ? *in[i] : Array(type.dtype, type.shape.extents(sizes)));
  }
  for (const Array* operand : in) inputs.push_back(*operand);
  const std::int64_t steps = scan.length.extent(sizes);
  for (std::int64_t turn = 0; turn < steps; ++turn) {
    const std::int64_t t = scan.place(turn, steps);
    for (std::size_t i = 0; i < carries; ++i) inputs[i] = results[i];
    for (std::size_t i = carries; i < sequences; ++i) inputs[i] = step_of(*in[i], t);
    const std::vector<Array> values = evaluate(body, inputs, {}, sizes);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Array& value = values[body.outputs()[i]];
      if (i < carries) results[i] = value;
      else set_step(results[i], t, value);
    }
  }
  return results;
}

std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs, std::span<const Array> states, Sizes sizes) {
  std::vector<Array> values(graph.size());
  std::map<NodeId, std::vector<Array>> scans;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) values[graph.input_node(i)] = inputs[i];
  for (std::size_t i = 0; i < graph.states().size(); ++i) values[graph.state_node(i)] = states[i];
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_leaf(node.op)) continue;
    std::vector<const Array*> in;
    for (const NodeId input : node.inputs) in.push_back(&values[input]);
    if (const auto* result = std::get_if<ScanResult>(&node.op)) {
      values[id] = scans.at(node.inputs[0])[static_cast<std::size_t>(result->index)];
      continue;
    }
    try {
      if (const auto* scan = std::get_if<Scan>(&node.op)) scans[id] = evaluate_scan(*scan, in, sizes);
      else values[id] = evaluate(node.op, node.type, in, sizes);
    } catch (const UserError& error) {
      throw UserError(node.origin.text(), str(name(node.op), ": ", error.message()));
    }
  }
  return values;
}

}  // namespace sinter::ir
