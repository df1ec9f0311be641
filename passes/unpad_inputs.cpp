#include <algorithm>

#include "ir/kernel.h"
#include "ir/layout.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

/// Whatever reads padding reads the copy instead. Returns whether anything does.
bool copy_where_padding_is_read(ir::Graph& graph, ir::NodeId leaf) {
  const auto needs_copy = [&](ir::NodeId user) {
    const ir::Node& node = graph.node(user);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] == leaf && !ir::takes_unpadded(node.op, k)) return true;
    return false;
  };
  std::vector<ir::NodeId> readers;
  for (const ir::NodeId user : graph.node(leaf).users)
    if (needs_copy(user) && std::find(readers.begin(), readers.end(), user) == readers.end()) readers.push_back(user);
  if (readers.empty()) return false;
  const ir::OriginScope origin(graph, graph.node(readers.front()).origin);
  const ir::NodeId copy = graph.add(ir::Reshape{graph.node(leaf).type.shape}, {graph.value(leaf)}).id;
  for (const ir::NodeId reader : readers)
    for (std::size_t k = 0; k < graph.node(reader).inputs.size(); ++k)
      if (graph.node(reader).inputs[k] == leaf && !ir::takes_unpadded(graph.node(reader).op, k)) graph.replace_input(reader, k, copy);
  return true;
}

}  // namespace

bool unpad_inputs(ir::Graph& graph, PassContext& context) {
  std::size_t inputs = 0, copies = 0;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.inputs()[i].unpadded || !rests_unpadded(graph.inputs()[i].type.shape)) continue;
    graph.set_unpadded(i);
    ++inputs;
    copies += copy_where_padding_is_read(graph, graph.input_node(i));
  }
  if (copies) context.notes.push_back(str(counted(copies, "input is", "inputs are"), " copied to padded rows"));
  return inputs > 0;
}

}  // namespace sinter::passes
