// Runs a graph node by node with the interpreter.
#pragma once

#include <functional>
#include <vector>

#include "frontend/core/tensor.h"
#include "ir/graph.h"

namespace sinter {

struct InterpretOptions {
  Sizes sizes = {};                                                    ///< of the call
  bool keep_all = false;                                               ///< keep every node's value; else each is dropped after its last use
  std::function<void(ir::NodeId, double seconds)> observer = nullptr;  ///< called after each evaluated node
  /// Called after each step of a scan of the graph with the values of the step's body, all of them.
  std::function<void(ir::NodeId scan, std::int64_t step, const ir::Graph& body, const std::vector<Tensor>& values)> step_observer = nullptr;
};

/// Evaluates the live nodes that have no value yet; `values` is indexed by node id and holds at least the leaves. Throws UserError naming the node's
/// origin.
void interpret(const ir::Graph& graph, std::vector<Tensor>& values, const InterpretOptions& options);

}  // namespace sinter
