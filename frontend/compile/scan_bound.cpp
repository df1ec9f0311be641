#include "frontend/compile/scan_bound.h"

#include <algorithm>

#include "ir/reference.h"
#include "ir/scan.h"

namespace sinter {

namespace {

/// A sequence whose elements have bounds.
struct BoundedSteps {
  ir::Array value, error;

  explicit BoundedSteps(const Bounded& all) : value(all.value), error(DType::f32, all.value.extents) { error.data = all.error; }
  explicit BoundedSteps(const Type& type, Sizes sizes) : value(type.dtype, type.shape.extents(sizes)), error(DType::f32, type.shape.extents(sizes)) {}
  Bounded at(std::int64_t t) const { return {ir::step_of(value, t), ir::step_of(error, t).data}; }
  void set(std::int64_t t, const Bounded& element) {
    ir::set_step(value, t, element.value);
    ir::Array errors(DType::f32, element.value.extents);
    errors.data = element.error;
    ir::set_step(error, t, errors);
  }
  Bounded take() { return {std::move(value), std::move(error.data)}; }
};

/// The values of a step's body, of which those of its inputs are given.
void evaluate_body(const ir::Graph& body, std::vector<Bounded>& values, Sizes sizes) {
  for (const ir::NodeId id : body.topological_order()) {
    const ir::Node& node = body.node(id);
    if (ir::is_leaf(node.op) || std::holds_alternative<ir::ScanResult>(node.op)) continue;
    std::vector<const Bounded*> operands;
    for (const ir::NodeId input : node.inputs) operands.push_back(&values[input]);
    if (const auto* nested = std::get_if<ir::Scan>(&node.op)) {
      const std::vector<Bounded> made = evaluate_scan_bounded(*nested, operands, {}, sizes);
      for (const ir::NodeId user : node.users) values[user] = made[ir::result_index(body, user)];
    } else {
      values[id] = evaluate_bounded(node.op, node.type, operands, sizes);
    }
  }
}

}  // namespace

std::vector<Bounded> evaluate_scan_bounded(const ir::Scan& scan, std::span<const Bounded* const> in,
                                           std::span<const std::optional<ir::Array>> carries, Sizes sizes) {
  const ir::Graph& body = scan.body.graph();
  const std::size_t count = scan.carry_count(), inner = count + scan.sequence_count();
  const std::int64_t length = scan.length.extent(sizes);
  std::vector<Bounded> held;  // the carries as the step before made them
  std::vector<BoundedSteps> sequences, stacks;
  for (std::size_t i = 0; i < count; ++i) held.push_back(*in[i]);
  for (std::size_t i = count; i < inner; ++i) sequences.emplace_back(*in[i]);
  for (std::size_t i = count; i < scan.result_count(); ++i) stacks.emplace_back(scan.result(i), sizes);
  for (std::int64_t turn = 0; turn < length; ++turn) {
    const std::int64_t t = scan.place(turn, length);
    std::vector<Bounded> values(body.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      Bounded& value = values[body.input_node(i)];
      if (i >= inner) value = *in[i];
      else if (i >= count) value = sequences[i - count].at(t);
      else if (i < carries.size() && carries[i]) value.value = ir::step_of(*carries[i], t), value.error.assign(value.value.data.size(), 0.0);
      else value = held[i];
    }
    evaluate_body(body, values, sizes);
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const ir::NodeId id = body.outputs()[count + i];
      const auto* leaf = body.op_as<ir::Input>(id);
      const bool is_carry = leaf && static_cast<std::size_t>(leaf->index) < count;
      stacks[i].set(t, is_carry ? held[static_cast<std::size_t>(leaf->index)] : values[id]);
    }
    for (std::size_t i = 0; i < count; ++i) held[i] = values[body.outputs()[i]];
  }
  for (BoundedSteps& stack : stacks) held.push_back(stack.take());
  return held;
}

std::vector<std::optional<std::size_t>> kept_carries(const ir::Scan& scan) {
  const ir::Graph& body = scan.body.graph();
  std::vector<std::optional<std::size_t>> kept(scan.carry_count());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto outputs = body.outputs().subspan(scan.carry_count());
    const auto found = std::find(outputs.begin(), outputs.end(), body.input_node(i));
    if (found != outputs.end()) kept[i] = scan.carry_count() + static_cast<std::size_t>(found - outputs.begin());
  }
  return kept;
}

void keep_carries(ir::Graph& graph) {
  for (ir::NodeId id = 0, size = static_cast<ir::NodeId>(graph.size()); id < size; ++id) {
    if (graph.node(id).dead || !std::holds_alternative<ir::Scan>(graph.node(id).op)) continue;
    const ir::Scan& scan = std::get<ir::Scan>(graph.node(id).op);
    ir::Graph body = scan.body.graph();
    const std::vector<std::optional<std::size_t>> kept = kept_carries(scan);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!kept[i]) body.add_output(body.value(body.input_node(i)));
    graph.set_body(id, ir::Body(body));
    for (const std::optional<std::size_t> result : kept_carries(std::get<ir::Scan>(graph.node(id).op)))
      graph.add_output(ir::scan_result({&graph, id}, result.value()));
  }
}

std::optional<StepDifference> first_difference_of_steps(const ir::Array& got, const Bounded& wanted, const ir::Scan& scan, double& worst) {
  const BoundedSteps steps(wanted);
  const std::int64_t length = got.extents[1], size = got.product(2, got.extents.size());
  for (std::int64_t turn = 0; turn < length; ++turn) {
    const std::int64_t t = scan.place(turn, length), at = first_difference(ir::step_of(got, t), steps.at(t), worst);
    if (at >= 0) return StepDifference{(at / size * length + t) * size + at % size, t, turn};
  }
  return std::nullopt;
}

}  // namespace sinter
