#include "frontend/compile/scan_bound.h"

#include <algorithm>

#include "ir/copy.h"
#include "ir/scan.h"

namespace sinter {

namespace {

/// Rows [n][step] of a sequence, and how many elements each has.
struct Steps {
  std::int64_t samples, length, size;
  explicit Steps(const ir::Array& sequence)
      : samples(sequence.extents.at(0)), length(sequence.extents.at(1)), size(sequence.product(2, sequence.extents.size())) {}
  std::int64_t at(std::int64_t n, std::int64_t t) const { return (n * length + t) * size; }
};

ir::Array element_of(const ir::Array& sequence, std::int64_t t) {
  const Steps steps(sequence);
  std::vector<std::int64_t> extents = sequence.extents;
  extents.erase(extents.begin() + 1);
  ir::Array element(sequence.dtype, std::move(extents));
  for (std::int64_t n = 0; n < steps.samples; ++n)
    std::copy_n(sequence.data.begin() + steps.at(n, t), steps.size, element.data.begin() + n * steps.size);
  return element;
}

Bounded element_of(const Bounded& sequence, std::int64_t t) {
  const Steps steps(sequence.value);
  Bounded element{element_of(sequence.value, t), {}};
  element.error.resize(element.value.data.size());
  for (std::int64_t n = 0; n < steps.samples; ++n)
    std::copy_n(sequence.error.begin() + steps.at(n, t), steps.size, element.error.begin() + n * steps.size);
  return element;
}

void set_element(Bounded& sequence, std::int64_t t, const Bounded& element) {
  const Steps steps(sequence.value);
  for (std::int64_t n = 0; n < steps.samples; ++n) {
    std::copy_n(element.value.data.begin() + n * steps.size, steps.size, sequence.value.data.begin() + steps.at(n, t));
    std::copy_n(element.error.begin() + n * steps.size, steps.size, sequence.error.begin() + steps.at(n, t));
  }
}

}  // namespace

std::vector<Bounded> evaluate_scan_bounded(const ir::Scan& scan, std::span<const Bounded* const> in,
                                           std::span<const std::optional<ir::Array>> carries, Sizes sizes) {
  const ir::Graph& body = scan.body.graph();
  const std::size_t count = scan.carry_count(), inner = count + static_cast<std::size_t>(scan.sequences);
  const std::int64_t length = scan.length.extent(sizes);
  std::vector<Bounded> results(scan.result_count());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i < count) {
      results[i] = *in[i];
      continue;
    }
    const Type type = scan.result(i);
    results[i].value = ir::Array(type.dtype, type.shape.extents(sizes));
    results[i].error.assign(results[i].value.data.size(), 0.0);
  }
  const std::vector<ir::NodeId> order = body.topological_order();
  for (std::int64_t step = 0; step < length; ++step) {
    const std::int64_t t = scan.reverse ? length - 1 - step : step;
    std::vector<Bounded> values(body.size());
    std::vector<Bounded> before(results.begin(), results.begin() + scan.carries);  // as the step before made them
    for (std::size_t i = 0; i < in.size(); ++i) {
      Bounded& value = values[body.input_node(i)];
      if (i >= inner) value = *in[i];
      else if (i >= count) value = element_of(*in[i], t);
      else if (i < carries.size() && carries[i]) value.value = element_of(*carries[i], t), value.error.assign(value.value.data.size(), 0.0);
      else value = before[i];
    }
    for (const ir::NodeId id : order) {
      const ir::Node& node = body.node(id);
      if (ir::is_leaf(node.op)) continue;
      std::vector<const Bounded*> operands;
      for (const ir::NodeId input : node.inputs) operands.push_back(&values[input]);
      if (const auto* nested = std::get_if<ir::Scan>(&node.op)) {
        const std::vector<Bounded> made = evaluate_scan_bounded(*nested, operands, {}, sizes);
        for (const ir::NodeId user : node.users) values[user] = made[static_cast<std::size_t>(std::get<ir::ScanResult>(body.node(user).op).index)];
      } else if (!std::holds_alternative<ir::ScanResult>(node.op)) {
        values[id] = evaluate_bounded(node.op, node.type, operands, sizes);
      }
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ir::NodeId id = body.outputs()[i];
      if (i < count) {
        results[i] = values[id];
        continue;
      }
      const auto* leaf = std::get_if<ir::Input>(&body.node(id).op);
      const bool is_carry = leaf && static_cast<std::size_t>(leaf->index) < count;
      set_element(results[i], t, is_carry ? before[static_cast<std::size_t>(leaf->index)] : values[id]);
    }
  }
  return results;
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

std::optional<StepDifference> first_difference_of_steps(const ir::Array& got, const Bounded& wanted, bool reverse, double& worst) {
  const Steps steps(got);
  for (std::int64_t step = 0; step < steps.length; ++step) {
    const std::int64_t t = reverse ? steps.length - 1 - step : step;
    const std::int64_t at = first_difference(element_of(got, t), element_of(wanted, t), worst);
    if (at >= 0) return StepDifference{steps.at(at / steps.size, t) + at % steps.size, t};
  }
  return std::nullopt;
}

}  // namespace sinter
