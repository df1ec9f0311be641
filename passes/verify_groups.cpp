#include <algorithm>
#include <map>

#include "ir/kernel.h"
#include "passes/group.h"
#include "passes/partition.h"

namespace sinter::passes {

using ir::NodeId;

namespace {

[[noreturn]] void fail(const ir::Graph& graph, NodeId id, std::string_view rule) {
  throw InternalError("group", str("node %", id, " (", ir::name(graph.node(id).op), ", kernel ", graph.node(id).kernel, "): ", rule));
}

void check_node(const ir::Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  if (ir::is_leaf(node.op)) {
    if (node.kernel != ir::no_kernel) fail(graph, id, "a leaf has no kernel");
    return;
  }
  const bool inlines = ir::is_recomputable(graph, id) && !graph.is_output(id);
  if (inlines != (node.kernel == ir::inlined))
    fail(graph, id, inlines ? "a recomputable node that nobody stores is inlined" : "only recomputable nodes that nobody stores are inlined");
  if (!inlines && node.kernel < 0) fail(graph, id, "has no kernel");
  for (const NodeId input : node.inputs)
    if (!ir::is_leaf(graph.node(input).op) && !ir::is_recomputable(graph, input) && graph.node(input).kernel > node.kernel)
      fail(graph, id, str("reads %", input, " of the later kernel ", graph.node(input).kernel));
}

void check_kernel(const ir::Graph& graph, const std::vector<NodeId>& nodes) {
  NodeId anchor = ir::no_node;
  for (const NodeId id : nodes) {
    if (!ir::is_anchor(graph.node(id).op)) continue;
    if (anchor != ir::no_node) fail(graph, id, str("a second anchor beside %", anchor));
    anchor = id;
  }
  const auto shape = [&](NodeId id) -> const Shape& { return graph.node(id).type.shape; };
  for (const NodeId id : nodes) {
    if (shape(id) == shape(anchor == ir::no_node ? nodes.front() : anchor)) continue;
    if (anchor == ir::no_node) fail(graph, id, str("shape ", shape(id), " in a pointwise group of ", shape(nodes.front())));
    const ir::Op& op = graph.node(anchor).op;
    const bool reduces = std::holds_alternative<ir::Sum>(op) || std::holds_alternative<ir::Max>(op);
    if (!reduces || shape(id) != shape(graph.node(anchor).inputs[0]))
      fail(graph, id, str("shape ", shape(id), " is neither the result's nor the operand's of the reduction %", anchor));
    const auto& users = graph.node(id).users;
    if (graph.is_output(id) || std::any_of(users.begin(), users.end(), [&](NodeId user) { return graph.node(user).kernel != graph.node(id).kernel; }))
      fail(graph, id, "a prologue is needed outside its group");
  }
  if (const auto refusal = check_group(graph, nodes))
    fail(graph, nodes.front(),
         *refusal == Refusal::size ? "the group has too many nodes or buffers"
                                   : "the group's anchor or prologue reads a state that the group updates");
}

}  // namespace

void verify_groups(const ir::Graph& graph) {
  std::map<std::int32_t, std::vector<NodeId>> kernels;
  for (const NodeId id : graph.topological_order()) {
    check_node(graph, id);
    if (graph.node(id).kernel >= 0) kernels[graph.node(id).kernel].push_back(id);
  }
  std::int32_t next = 0;
  for (const auto& [kernel, nodes] : kernels) {
    if (kernel != next++) fail(graph, nodes.front(), str("kernel ", next - 1, " is missing"));
    check_kernel(graph, nodes);
  }
}

}  // namespace sinter::passes
