#include "passes/padding.h"

#include <algorithm>
#include <optional>

#include "ir/kernel.h"
#include "ir/scan.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// Whether some first dimensions have so many elements together.
bool leads_with(const Shape& shape, Dim units) {
  std::optional<Dim> all = Dim(1);
  for (const Dim dim : shape) {
    all = product(*all, dim);
    if (!all) return false;
    if (*all == units) return true;
  }
  return false;
}

using ir::is_one_of;

template <class O>
constexpr bool moves_rows = is_one_of<O, ir::Reshape, ir::Broadcast, ir::Permute, ir::Slice, ir::Pad, ir::Concat>;

/// f(0) is 0.
template <class O>
constexpr bool keeps_zero = moves_rows<O> || is_one_of<O, ir::Add, ir::Sub, ir::Neg, ir::Abs, ir::Square, ir::Sign, ir::Minimum, ir::Maximum,
                                                       ir::Relu, ir::Tanh, ir::StopGradient, ir::Sum, ir::Less, ir::NotEqual>;

/// Finite numbers, unless they are so large that sums and products of them overflow, give finite ones.
template <class O>
constexpr bool keeps_finite =
    keeps_zero<O> || is_one_of<O, ir::Mul, ir::Clip, ir::Sigmoid, ir::Sin, ir::Cos, ir::Erf, ir::Select, ir::Matmul, ir::Dense>;

/// Whether a value is greater than 0, as far as its op and those of its operands tell: sqrt(x) + 1e-8.
bool is_positive(const ir::Graph& graph, NodeId id) {
  const auto is_at_least_0 = [&](NodeId of) {
    return std::visit([]<class O>(const O&) { return is_one_of<O, ir::Sqrt, ir::Square, ir::Abs, ir::Exp, ir::Sigmoid, ir::Relu>; },
                      graph.node(of).op);
  };
  const auto is_constant = [&](NodeId of) {
    const auto* constant = std::get_if<ir::Constant>(&graph.node(ir::before_reshapes(graph, of)).op);
    return constant && constant->value > 0;
  };
  const ir::Node& node = graph.node(id);
  if (!std::holds_alternative<ir::Add>(node.op)) return is_constant(id);
  return (is_at_least_0(node.inputs[0]) && is_constant(node.inputs[1])) || (is_constant(node.inputs[0]) && is_at_least_0(node.inputs[1]));
}

}  // namespace

Padding::Padding(const ir::Graph& graph, Dim units, NodeId mask)
    : graph_(graph),
      units_(units),
      mask_(mask),
      order_(graph.topological_order()),
      stands_for_(graph.size()),
      freedom_(graph.size(), Freedom::anything),
      skips_(graph.size()) {
  for (NodeId id = 0; id < graph.size(); ++id) stands_for_[id] = id;
}

bool Padding::has_units(NodeId id) const { return leads_with(graph_.node(id).type.shape, units_); }

bool Padding::reads_own(NodeId user, std::size_t operand) const {
  const Shape& shape = graph_.node(graph_.node(user).inputs[operand]).type.shape;
  const ir::Access access = ir::access_of(graph_, user);
  return units_ == Dim::batch() ? ir::reads_own_samples(access, operand, shape) : ir::reads_own_units(access, operand, shape, units_);
}

bool Padding::is_mask(NodeId user, std::size_t operand) const {
  const NodeId condition = graph_.node(user).inputs[operand];
  return ir::before_reshapes(graph_, condition) == mask_ && graph_.node(condition).type.shape.elements() == units_ && reads_own(user, operand);
}

bool Padding::is_zero_for(NodeId user, std::size_t operand) const {
  const NodeId id = graph_.node(user).inputs[operand];
  return is_zero(id) && (!has_units(id) || reads_own(user, operand));
}

// ---- values ----

void Padding::find_values() {
  for (const NodeId id : order_)
    if (!is_zero(id)) stands_for_[id] = value_of(id);
}

NodeId Padding::value_of(NodeId id) {
  const ir::Node& node = graph_.node(id);
  if (std::holds_alternative<ir::Scan>(node.op)) {
    find_step(id);
    return id;
  }
  const auto is_zero_there = [&](std::size_t operand) { return is_zero_for(id, operand); };
  const auto all_zero = [&] {
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (!is_zero_there(k)) return false;
    return true;
  };
  // What an operand of the same shape is.
  const auto same_as = [&](std::size_t operand) {
    const NodeId input = node.inputs[operand];
    if (is_zero_there(operand)) return zero;
    return graph_.node(input).type == node.type && reads_own(id, operand) ? stands_for_[input] : id;
  };
  return std::visit(
      [&]<class O>(const O& op) -> NodeId {
        if constexpr (std::is_same_v<O, ir::Constant>) return op.value == 0 ? zero : id;
        if constexpr (std::is_same_v<O, ir::ScanResult>) {
          const Padding* step = step_of(node.inputs[0]);
          const auto& scan = std::get<ir::Scan>(graph_.node(node.inputs[0]).op);
          return step && op.index >= scan.carries && step->is_zero(scan.body.graph().outputs()[static_cast<std::size_t>(op.index)]) ? zero : id;
        }
        if constexpr (std::is_same_v<O, ir::Select>) {
          if (is_mask(id, 0) || is_zero_there(0)) return same_as(2);
          return is_zero_there(1) && is_zero_there(2) ? zero : id;
        }
        if constexpr (std::is_same_v<O, ir::Add> || std::is_same_v<O, ir::Sub>) {
          if (is_zero_there(1)) return same_as(0);
          if (std::is_same_v<O, ir::Add> && is_zero_there(0)) return same_as(1);
        }
        if constexpr (std::is_same_v<O, ir::Mul>) return is_zero_there(0) || is_zero_there(1) ? zero : id;
        if constexpr (std::is_same_v<O, ir::Div>) return is_zero_there(0) && is_positive(graph_, node.inputs[1]) ? zero : id;
        if constexpr (std::is_same_v<O, ir::Matmul>) return has_units(id) && !op.transpose_a && is_zero_there(0) ? zero : id;
        if constexpr (std::is_same_v<O, ir::Pad>)
          if (op.value != 0) return id;
        if constexpr (keeps_zero<O>) return all_zero() ? zero : id;
        return id;
      },
      node.op);
}

void Padding::find_step(NodeId id) {
  const auto& scan = std::get<ir::Scan>(graph_.node(id).op);
  const ir::Graph& body = scan.body.graph();
  const std::vector<NodeId>& operands = graph_.node(id).inputs;
  const std::size_t first = scan.carry_count(), last = first + scan.sequence_count();
  if (ir::samples_of(body, first, scan.sequence_count()) != Dim::batch()) return;
  for (std::size_t i = first; i < last; ++i) {
    if (ir::before_reshapes(graph_, operands[i]) != mask_ || graph_.node(operands[i]).type.shape.elements() != units_) continue;
    auto step = std::make_shared<Padding>(body, Dim::batch(), body.input_node(i));
    for (std::size_t k = first; k < last; ++k)
      if (is_zero(operands[k])) step->set_zero(body.input_node(k));
    step->find_values();
    steps_.emplace(id, std::move(step));
    return;
  }
}

Padding* Padding::step_of(NodeId scan) const {
  const auto found = steps_.find(scan);
  return found == steps_.end() ? nullptr : found->second.get();
}

// ---- freedom ----

void Padding::limit(NodeId id, Freedom freedom) { freedom_[id] = std::min(freedom_[id], freedom); }

void Padding::find_freedom() {
  for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
    for (const NodeId user : graph_.node(*id).users)
      for (std::size_t k = 0; k < graph_.node(user).inputs.size(); ++k)
        if (graph_.node(user).inputs[k] == *id) limit(*id, of_use(user, k));
    if (Padding* step = step_of(*id)) find_freedom_of_step(*id, *step);
  }
}

void Padding::find_freedom_of_step(NodeId id, Padding& step) {
  const auto& scan = std::get<ir::Scan>(graph_.node(id).op);
  const ir::Graph& body = scan.body.graph();
  bool skips = true;
  for (std::size_t i = 0; i < scan.carry_count(); ++i) {
    step.limit(body.outputs()[i], Freedom::none);
    skips = skips && step.is_that_of(body.outputs()[i], body.input_node(i));
  }
  for (const NodeId result : graph_.node(id).users) {
    const std::size_t index = ir::result_index(graph_, result);
    if (index < scan.carry_count()) continue;
    step.limit(body.outputs()[index], freedom(result));
    skips = skips && may_be_zero(result);
  }
  step.find_freedom();
  skips_[id] = skips;
}

Freedom Padding::of_use(NodeId user, std::size_t operand) const {
  const ir::Node& node = graph_.node(user);
  if (const auto* scan = std::get_if<ir::Scan>(&node.op)) {
    const Padding* step = step_of(user);
    const bool is_sequence = operand >= scan->carry_count() && operand < scan->carry_count() + scan->sequence_count();
    return step && is_sequence ? step->freedom(scan->body.graph().input_node(operand)) : Freedom::none;
  }
  if (const auto* product = std::get_if<ir::Matmul>(&node.op); product && product->transpose_a && !product->transpose_b && !has_units(user)) {
    // A sum over the units, each of which adds a product of a row of each operand.
    const auto rows = [&](std::size_t k) { return graph_.node(node.inputs[k]).type.shape[0]; };
    if (rows(0) != units_ || rows(1) != units_) return Freedom::none;
    return is_zero(node.inputs[1 - operand]) ? Freedom::finite_numbers : Freedom::zero;
  }
  // What zeros of either sign are added to is what it was: sums begin with 0.
  const bool adds = (std::holds_alternative<ir::Sum>(node.op) && !has_units(user)) || std::holds_alternative<ir::ScatterAddRows>(node.op);
  if (adds && is_float(graph_.node(node.inputs[operand]).type.dtype)) return Freedom::zero;
  if (!has_units(user) || !reads_own(user, operand)) return Freedom::none;
  if (is_index(node.type.dtype)) return Freedom::none;  // what is picked by it must exist
  const Freedom of_result = freedom(user);
  return std::visit(
      [&]<class O>(const O& op) {
        if constexpr (std::is_same_v<O, ir::Select>)
          if (is_mask(user, 0)) return operand == 0 ? Freedom::none : operand == 1 ? Freedom::anything : of_result;
        if constexpr (std::is_same_v<O, ir::Mul>)  // the sign of the zero is the other factor's
          if (is_zero_for(user, 1 - operand) && of_result != Freedom::exact) return std::max(of_result, Freedom::finite_numbers);
        if (of_result == Freedom::zero) return is_zero_for(user, operand) && is_zero(user) ? of_result : Freedom::none;
        if (of_result != Freedom::finite_numbers) return of_result;
        if constexpr (std::is_same_v<O, ir::Matmul>) return operand == 0 && !op.transpose_a ? of_result : Freedom::none;
        if constexpr (std::is_same_v<O, ir::Dense>) return operand == 0 ? of_result : Freedom::none;
        return keeps_finite<O> ? of_result : Freedom::none;
      },
      node.op);
}

}  // namespace sinter::passes
