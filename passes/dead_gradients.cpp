// differentiate makes the gradients of everything that the loss depends on; most programs ask only for those of the parameters.
#include <algorithm>

#include "ir/cost.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

/// Nodes that were removed for one reason.
struct Removed {
  std::string of;  ///< "input x", "" for nodes that belong to no gradient
  std::size_t gradients = 0, nodes = 0;
  ir::Cost flops;
};

/// What a gradient is of, for reports: inputs and states (and their rows, other shapes and types) by name, everything else together.
std::string subject(const ir::Graph& graph, ir::NodeId value) {
  const auto shows_its_operand = [](const ir::Op& op) {
    return std::holds_alternative<ir::GatherRows>(op) || std::holds_alternative<ir::Reshape>(op) || std::holds_alternative<ir::Cast>(op);
  };
  while (shows_its_operand(graph.node(value).op)) value = graph.node(value).inputs[0];
  const ir::Op& op = graph.node(value).op;
  if (const auto* input = std::get_if<ir::Input>(&op)) return "input " + graph.inputs()[static_cast<std::size_t>(input->index)].name;
  if (const auto* state = std::get_if<ir::State>(&op)) return "state " + graph.states()[static_cast<std::size_t>(state->index)].name;
  if (std::holds_alternative<ir::Constant>(op) || std::holds_alternative<ir::Extent>(op) || std::holds_alternative<ir::Iota>(op)) return "constants";
  return "values between";
}

std::string cost_text(const ir::Cost& cost, Sizes sizes) {
  if (cost == ir::Cost{}) return "";
  if (cost.is_fixed()) return str(": ", with_separators(cost.fixed()), " flops per step");
  if (sizes.n) return str(": ", with_separators(cost.at(sizes)), " flops per step at N = ", sizes.n);
  const double per_sample = cost[Dim::batch()] + cost[Dim::batch() * Dim::length()];
  const std::string sample = with_separators(per_sample) + " flops per sample";
  return cost.fixed() == 0 ? ": " + sample : str(": ", sample, " and ", with_separators(cost.fixed()), " per step");
}

}  // namespace

bool dead_gradients(ir::Graph& graph, PassContext& context) {
  const std::vector<ir::NodeId> order = graph.topological_order();
  std::vector<std::vector<ir::NodeId>> users(graph.size());  // erasing forgets them
  for (const ir::NodeId id : order) users[id] = graph.node(id).users;
  if (graph.erase_dead().empty()) return false;

  // A removed node is attributed to the leaf's gradient that it is or was made for: that of its first user.
  std::vector<std::string> owner(graph.size());
  std::vector<Removed> removed;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ir::Node& node = graph.node(*id);
    if (!node.dead) continue;
    const bool is_gradient = node.gradient_of != ir::no_node;
    const std::string of = is_gradient ? subject(graph, node.gradient_of) : "";
    const bool of_leaf = is_gradient && of != "values between";
    owner[*id] = of_leaf || users[*id].empty() ? of : owner[users[*id].front()];
    auto entry = std::find_if(removed.begin(), removed.end(), [&](const Removed& r) { return r.of == owner[*id]; });
    if (entry == removed.end()) entry = removed.insert(removed.end(), Removed{owner[*id], 0, 0, {}});
    entry->gradients += is_gradient && of == owner[*id];
    ++entry->nodes;
    entry->flops += ir::flops(graph, *id);
  }
  const auto weight = [](const Removed& r) { return r.flops.at(1 << 10); };
  std::sort(removed.begin(), removed.end(),
            [&](const Removed& a, const Removed& b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a.of < b.of; });
  for (const Removed& r : removed) {
    const std::string what =
        r.of.empty() ? counted(r.nodes, "unused node", "unused nodes") : counted(r.gradients, "gradient", "gradients") + " of " + r.of;
    context.notes.push_back("removed " + what + cost_text(r.flops, context.options.sizes));
  }
  return true;
}

bool keep_gradients(ir::Graph& graph, PassContext& context) {
  std::size_t kept = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (node.gradient_of == ir::no_node || ir::is_leaf(node.op) || graph.use_count(id)) continue;
    graph.keep(id);
    ++kept;
  }
  if (kept) context.notes.push_back("kept " + counted(kept, "gradient", "gradients") + " that nothing needs");
  return !graph.erase_dead().empty() || kept > 0;
}

}  // namespace sinter::passes
