#include "frontend/core/interpret.h"

#include <chrono>

#include "frontend/core/clock.h"
#include "frontend/core/reshaped.h"
#include "ir/scan.h"
#include "runtime/interpreter.h"

namespace sinter {

namespace {

Tensor run(const ir::Op& op, std::span<const Tensor> in, const Type& type) {
  if (in.size() == 1)
    if (Tensor same = reshaped_in_place(op, in[0], type); same.defined()) return same;
  std::vector<runtime::View> views;
  for (const Tensor& tensor : in) views.push_back(tensor.view());
  Tensor result = Tensor::result(type);
  runtime::evaluate(op, views, result.view());
  return result;
}

Tensor reshaped(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : run(ir::Reshape{shape}, {&x, 1}, {x.dtype(), shape}); }

/// The results of a scan, by index.
std::vector<Tensor> run_scan(const ir::Graph& graph, ir::NodeId id, std::vector<Tensor> operands, const InterpretOptions& options) {
  const auto& scan = std::get<ir::Scan>(graph.node(id).op);
  const Sizes sizes = options.sizes;
  const ir::Graph& body = scan.body.graph();
  const std::size_t carries = scan.carry_count(), sequences = carries + scan.sequence_count();
  const std::int64_t steps = scan.length.extent(sizes);
  std::vector<std::vector<Tensor>> stacks(scan.result_count() - carries, std::vector<Tensor>(static_cast<std::size_t>(steps)));
  for (std::int64_t turn = 0; turn < steps; ++turn) {
    const std::int64_t t = scan.place(turn, steps);
    std::vector<Tensor> values(body.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Tensor& value = values[body.input_node(i)];
      value = operands[i];
      if (i < carries || i >= sequences) continue;
      const Shape all = value.shape();
      value = reshaped(run(ir::Slice{1, t, 1}, {&value, 1}, {value.dtype(), all.with(1, 1)}), all.erase(1, 2));
    }
    interpret(body, values, {.sizes = sizes, .keep_all = bool(options.step_observer)});
    if (options.step_observer) options.step_observer(id, t, body, values);
    for (std::size_t i = 0; i < scan.result_count(); ++i) {
      const Tensor& value = values[body.outputs()[i]];
      if (i < carries) operands[i] = value;
      else stacks[i - carries][static_cast<std::size_t>(t)] = reshaped(value, value.shape().insert(1, 1));
    }
  }
  std::vector<Tensor> results(operands.begin(), operands.begin() + scan.carries);
  for (std::vector<Tensor>& stack : stacks) results.push_back(run(ir::Concat{1}, stack, {stack[0].dtype(), stack[0].shape().with(1, steps)}));
  return results;
}

Tensor evaluate(const ir::Node& node, const std::vector<Tensor>& values, Sizes sizes) {
  std::vector<Tensor> operands;
  for (const ir::NodeId input : node.inputs) operands.push_back(values[input]);
  try {
    return run(ir::at_sizes(node.op, sizes), operands, {node.type.dtype, node.type.shape.at(sizes)});
  } catch (const UserError&) {
    rethrow_at(node.origin.text(), str(ir::name(node.op), ": "));
  }
}

}  // namespace

void interpret(const ir::Graph& graph, std::vector<Tensor>& values, const InterpretOptions& options) {
  values.resize(graph.size());
  std::vector<std::size_t> uses(graph.size());
  for (ir::NodeId id = 0; id < graph.size(); ++id) uses[id] = graph.use_count(id);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!values[id].defined()) {
      if (ir::is_leaf(node.op)) throw InternalError(graph.name(), str("leaf %", id, " has no value"));
      const auto start = std::chrono::steady_clock::now();
      if (std::holds_alternative<ir::Scan>(node.op)) {
        std::vector<Tensor> operands;
        for (const ir::NodeId input : node.inputs) operands.push_back(values[input]);
        const std::vector<Tensor> results = run_scan(graph, id, std::move(operands), options);
        for (const ir::NodeId user : node.users) values[user] = results[ir::result_index(graph, user)];
      } else {
        values[id] = evaluate(node, values, options.sizes);
      }
      if (options.observer) options.observer(id, since(start));
    } else if (options.observer && std::holds_alternative<ir::ScanResult>(node.op)) options.observer(id, 0);  // its scan made it
    if (options.keep_all) continue;
    for (const ir::NodeId input : node.inputs)
      if (--uses[input] == 0) values[input] = {};
  }
}

}  // namespace sinter
