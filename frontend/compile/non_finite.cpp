#include "frontend/compile/non_finite.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// The node where a non-finite value first appears: goes back through non-finite operands, always to the earliest, until all operands are finite.
ir::NodeId first_bad(const ir::Graph& graph, const std::vector<Tensor>& values, ir::NodeId bad) {
  std::vector<std::size_t> position(graph.size());
  const auto order = graph.topological_order();
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (;;) {
    ir::NodeId cause = ir::no_node;
    for (const ir::NodeId input : graph.node(bad).inputs)
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
  interpret(graph, values, {.sizes = sizes_of(graph, in), .keep_all = true});
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
  for (const ir::NodeId input : node.inputs) from += (from.empty() ? " from " : " and ") + range_text(values[input]);
  const std::string of_gradient = node.origin.gradient_of.empty() ? "" : str("the gradient of ", node.origin.gradient_of, ": ");
  throw UserError(node.origin.text(), str(of_gradient, ir::name(node.op), " makes ", made, from, when,
                                          ". Is the learning rate too high, or an operand outside of what the op is defined for?"));
}

}  // namespace sinter
