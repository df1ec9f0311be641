#include "frontend/compile/non_finite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "frontend/compile/cell_snapshot.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/finite.h"
#include "frontend/core/interpret.h"

namespace sinter {

namespace {

Tensor state_value(const Cell& cell) { return {cell.type, cell.buffer}; }

/// "f32[32,10] from -3.5 to 2", of its finite numbers.
std::string range_text(const Tensor& value) {
  if (value.dtype() != DType::f32) return str(value.type());
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (const float x : value.to_vector<float>())
    if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  return low <= high ? str(value.type(), " from ", low, " to ", high) : str(value.type(), " without a finite number");
}

/// What a node is computed from; of a scan's result, the scan's operands.
const std::vector<ir::NodeId>& operands_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  return (std::holds_alternative<ir::ScanResult>(node.op) ? graph.node(node.inputs[0]) : node).inputs;
}

/// A node that makes a non-finite number, as the message has it.
struct Bad {
  ir::Node node;
  std::string made, from, step;  ///< "nan at [0] of f32[3]", " from f32[3] from -1 to 2", " in step 3" of a scan
};

/// Finds the first such node of each scan while they are interpreted.
class BadSteps {
 public:
  void see(ir::NodeId scan, std::int64_t step, const ir::Graph& body, const std::vector<Tensor>& values) {
    if (found_.contains(scan)) return;
    for (const ir::NodeId id : body.topological_order()) {
      if (ir::is_leaf(body.node(id).op) || !values[id].defined()) continue;
      const auto bad = first_non_finite(values[id]);
      if (!bad) continue;
      std::string from;
      for (const ir::NodeId input : operands_of(body, id)) from += (from.empty() ? " from " : " and ") + range_text(values[input]);
      const std::string made = str(bad->value, " at ", place_text(values[id].shape(), bad->place), " of ", values[id].type());
      found_.emplace(scan, Bad{body.node(id), made, from, str(" in step ", step)});
      return;
    }
  }
  const Bad* of(ir::NodeId scan) const {
    const auto found = found_.find(scan);
    return found == found_.end() ? nullptr : &found->second;
  }

 private:
  std::map<ir::NodeId, Bad> found_;
};

/// The node where a non-finite value first appears: goes back through non-finite operands, always to the earliest, until all operands are finite.
ir::NodeId first_bad(const ir::Graph& graph, const std::vector<Tensor>& values, ir::NodeId bad) {
  std::vector<std::size_t> position(graph.size());
  const auto order = graph.topological_order();
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (;;) {
    ir::NodeId cause = ir::no_node;
    for (const ir::NodeId input : operands_of(graph, bad))
      if (first_non_finite(values[input]) && (cause == ir::no_node || position[input] < position[cause])) cause = input;
    if (cause == ir::no_node) return bad;
    bad = cause;
  }
}

}  // namespace

void NonFiniteFinder::before() { kept_ = values_of(traced_.cells); }

bool NonFiniteFinder::failed(std::span<const Tensor> outputs) const {
  const auto is_bad = [](const Tensor& value) { return first_non_finite(value).has_value(); };
  if (std::any_of(outputs.begin(), outputs.end(), is_bad)) return true;
  return std::any_of(traced_.cells.begin(), traced_.cells.end(), [&](const auto& cell) { return is_bad(state_value(*cell)); });
}

void NonFiniteFinder::report(std::span<const Tensor* const> in, const std::string& when) {
  restore(traced_.cells, kept_);
  const ir::Graph& graph = traced_.graph;
  std::vector<Tensor> values = leaf_values(traced_, in);
  BadSteps steps;
  interpret(graph, values, {.sizes = sizes_of(graph, in), .keep_all = true, .step_observer = [&](auto... step) { steps.see(step...); }});
  std::vector<ir::NodeId> results(graph.outputs().begin(), graph.outputs().end());
  for (const ir::NodeId update : graph.updates())
    if (update != ir::no_node) results.push_back(update);
  const auto found = std::find_if(results.begin(), results.end(), [&](ir::NodeId id) { return first_non_finite(values[id]).has_value(); });
  if (found == results.end())
    throw UserError("non-finite", str("the compiled step gives a number that is not finite where the same step line by line does not", when,
                                      "; this is a bug in Sinter, please report it"));
  const ir::NodeId id = first_bad(graph, values, *found);
  const ir::Node& node = graph.node(id);
  const auto bad = first_non_finite(values[id]);
  const std::string made = str(bad->value, " at ", place_text(values[id].shape(), bad->place), " of ", values[id].type());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.input_node(i) == id) throw UserError(graph.inputs()[i].name, str("the input holds ", made, when));
  for (std::size_t i = 0; i < graph.states().size(); ++i)
    if (graph.state_node(i) == id) throw UserError(graph.states()[i].name, str("the state holds ", made, when));
  std::string from;
  for (const ir::NodeId input : operands_of(graph, id)) from += (from.empty() ? " from " : " and ") + range_text(values[input]);
  Bad cause{node, made, from, ""};
  if (const Bad* in_step = std::holds_alternative<ir::ScanResult>(node.op) ? steps.of(node.inputs[0]) : nullptr) cause = *in_step;
  const std::string& rule = cause.node.origin.gradient_of;
  throw UserError(cause.node.origin.text(),
                  str(rule.empty() ? "" : str("the gradient of ", rule, ": "), ir::name(cause.node.op), " makes ", cause.made, cause.from, cause.step,
                      when, ". Is the learning rate too high, or an operand outside of what the op is defined for?"));
}

}  // namespace sinter
