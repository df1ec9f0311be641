#include "frontend/core/interpret.h"

#include <chrono>

#include "runtime/interpreter.h"

namespace sinter {

namespace {

Tensor evaluate(const ir::Node& node, const std::vector<Tensor>& values, Sizes sizes) {
  std::vector<runtime::View> views;
  for (const ir::NodeId input : node.inputs) views.push_back(values[input].view());
  const Type type{node.type.dtype, node.type.shape.at(sizes)};
  try {
    Tensor result = Tensor::result(type);
    runtime::evaluate(ir::at_sizes(node.op, sizes), views, result.view());
    return result;
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
      values[id] = evaluate(node, values, options.sizes);
      if (options.observer) options.observer(id, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    if (options.keep_all) continue;
    for (const ir::NodeId input : node.inputs)
      if (--uses[input] == 0) values[input] = {};
  }
}

}  // namespace sinter
