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

void check_node(const ir::Graph& graph, const ir::NodeFacts& facts, NodeId id) {
  const ir::Node& node = graph.node(id);
  if (ir::is_leaf(node.op)) {
    if (node.kernel != ir::no_kernel) fail(graph, id, "a leaf has no kernel");
    return;
  }
  const bool inlines = facts.recomputable[id] && !graph.is_output(id);
  if (inlines != (node.kernel == ir::inlined))
    fail(graph, id, inlines ? "a recomputable node that is not stored must be inlined" : "only recomputable nodes that are not stored are inlined");
  if (!inlines && node.kernel < 0) fail(graph, id, "has no kernel");
  for (const NodeId input : node.inputs)
    if (!ir::is_leaf(graph.node(input).op) && !facts.recomputable[input] && graph.node(input).kernel > node.kernel)
      fail(graph, id, str("reads %", input, " of the later kernel ", graph.node(input).kernel));
}

void check_kernel(const ir::Graph& graph, const ir::NodeFacts& facts, const std::vector<NodeId>& nodes) {
  const NodeId anchor = ir::anchor_of(graph, nodes);
  const auto shape = [&](NodeId id) -> const Shape& { return graph.node(id).type.shape; };
  // The nodes of the group that the anchor depends on, found backwards.
  std::vector<NodeId> prologue;
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const auto& users = graph.node(*id).users;
    const auto needs = [&](NodeId user) { return user == anchor || std::find(prologue.begin(), prologue.end(), user) != prologue.end(); };
    if (*id == anchor || !std::any_of(users.begin(), users.end(), needs)) continue;
    prologue.push_back(*id);
    if (!ir::joins_prologue(graph, *id, anchor)) fail(graph, *id, str("cannot be in the prologue of %", anchor));
    if (graph.is_output(*id) || !std::all_of(users.begin(), users.end(), needs)) fail(graph, *id, "a prologue is needed elsewhere");
  }
  const bool is_loop = anchor != ir::no_node && std::holds_alternative<ir::Scan>(graph.node(anchor).op);  // with results of other shapes
  for (const NodeId id : nodes) {
    if (is_loop || std::find(prologue.begin(), prologue.end(), id) != prologue.end()) continue;
    if (id != anchor && ir::is_anchor(graph.node(id).op)) fail(graph, id, str("a second anchor beside %", anchor));
    const NodeId like = anchor == ir::no_node ? nodes.front() : anchor;
    if (shape(id) != shape(like)) fail(graph, id, str("shape ", shape(id), " in a group of ", shape(like)));
  }
  const auto refusal = check_group(graph, facts, nodes);
  if (refusal == Refusal::size) fail(graph, nodes.front(), "the group has too many nodes or buffers");
  if (refusal == Refusal::moved) fail(graph, nodes.front(), "a node of the group reads another's elements at other places");
  if (refusal) fail(graph, nodes.front(), "the group's anchor, its prologue or what moves elements reads a state that the group updates");
}

}  // namespace

void verify_groups(const ir::Graph& graph) {
  const ir::NodeFacts facts(graph);
  std::map<std::int32_t, std::vector<NodeId>> kernels;
  for (const NodeId id : graph.topological_order()) {
    check_node(graph, facts, id);
    if (graph.node(id).kernel >= 0) kernels[graph.node(id).kernel].push_back(id);
  }
  std::int32_t next = 0;
  for (const auto& [kernel, nodes] : kernels) {
    if (kernel != next++) fail(graph, nodes.front(), str("kernel ", next - 1, " is missing"));
    check_kernel(graph, facts, nodes);
  }
}

}  // namespace sinter::passes
