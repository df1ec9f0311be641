// How groups are formed, largest gain first:
//   1. Each anchor, the last first, takes the pointwise nodes of its result's shape that follow from it. The last first, because a node that
//      follows from two anchors can only run with the later.
//   2. Remaining pointwise nodes that feed each other become groups, then those that read the same operand.
//   3. Each group takes in the operands that only it reads, unless that would store a value that is not stored otherwise: 1 - y of a sigmoid moves
//      from the forward kernel, which stores y for the next layer, to the backward kernel, and is not stored.
#include "passes/group.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

#include "ir/kernel.h"
#include "ir/print.h"
#include "passes/partition.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// The most nodes that are looked at for one group: more than it can hold, so that a graph's depth costs nothing.
constexpr std::size_t most_operands = 4 * max_group_nodes;

class Grouping {
 public:
  explicit Grouping(const ir::Graph& graph) : graph_(graph), partition_(graph), obstacles_(graph.size()) {}

  void form() {
    const std::vector<NodeId> order(partition_.order().begin(), partition_.order().end());
    for (auto id = order.rbegin(); id != order.rend(); ++id)
      if (ir::is_anchor(graph_.node(*id).op) && partition_.group(*id) != no_group) take_epilogue(*id);
    for (const NodeId id : order) join_operands(id);
    join_siblings();
    for (auto id = order.rbegin(); id != order.rend(); ++id)
      if (const GroupId group = partition_.group(*id); group != no_group && partition_.members(group).back() == *id) draw_in(group);
  }

  const Partition& partition() const { return partition_; }
  /// Why the node did not join the group of an anchor that it follows from, if there was one.
  const std::optional<Obstacle>& obstacle(NodeId id) const { return obstacles_[id]; }

 private:
  const Shape& shape(NodeId id) const { return graph_.node(id).type.shape; }
  bool is_free_pointwise(NodeId id) const {
    const GroupId group = partition_.group(id);
    return group != no_group && !partition_.recomputable(id) && partition_.anchor(group) == ir::no_node && !ir::is_view(graph_, id);
  }

  void take_epilogue(NodeId anchor) {
    const GroupId group = partition_.group(anchor);
    const auto later = [&](NodeId a, NodeId b) { return partition_.position(a) > partition_.position(b); };
    std::vector<NodeId> next(graph_.node(anchor).users);  // a heap, the first in order on top
    std::make_heap(next.begin(), next.end(), later);
    NodeId last = anchor;
    while (!next.empty()) {
      std::pop_heap(next.begin(), next.end(), later);
      const NodeId id = next.back();
      next.pop_back();
      if (id == last || !is_free_pointwise(id) || shape(id) != shape(anchor)) continue;
      last = id;
      if (const auto obstacle = partition_.merge(group, partition_.group(id))) {
        if (!obstacles_[id]) obstacles_[id] = obstacle;
        continue;
      }
      obstacles_[id].reset();
      for (const NodeId user : graph_.node(id).users) {
        next.push_back(user);
        std::push_heap(next.begin(), next.end(), later);
      }
    }
  }

  void join_operands(NodeId id) {
    if (!is_free_pointwise(id)) return;
    for (const NodeId input : graph_.node(id).inputs)
      if (is_free_pointwise(input) && partition_.group(input) != partition_.group(id) && shape(input) == shape(id))
        (void)partition_.merge(partition_.group(input), partition_.group(id));
  }

  /// Merges groups of one shape that read the same operand, and scalars that are only stored, if neither waits for more than the other: a group that
  /// had to wait for the other's operands would delay its own readers.
  void join_siblings() {
    std::vector<std::size_t> depth(partition_.size());
    for (const GroupId group : partition_.topological_groups())
      for (const NodeId id : partition_.members(group))
        for (const NodeId input : graph_.node(id).inputs)
          if (const GroupId from = partition_.producer(input); from != no_group && from != group)
            depth[static_cast<std::size_t>(group)] = std::max(depth[static_cast<std::size_t>(group)], depth[static_cast<std::size_t>(from)] + 1);
    const auto join = [&](NodeId a, NodeId b) {
      const GroupId x = partition_.group(a), y = partition_.group(b);
      if (x != y && shape(a) == shape(b) && depth[static_cast<std::size_t>(x)] == depth[static_cast<std::size_t>(y)]) (void)partition_.merge(x, y);
    };
    NodeId stored = ir::no_node;
    for (const NodeId id : partition_.order()) {
      if (partition_.recomputable(id) && partition_.group(id) != no_group) {
        if (stored != ir::no_node) join(stored, id);
        stored = id;
      }
      if (partition_.recomputable(id) || shape(id).is_scalar()) continue;
      NodeId first = ir::no_node;
      for (const NodeId user : graph_.node(id).users) {
        if (!is_free_pointwise(user)) continue;
        if (first != ir::no_node) join(first, user);
        else first = user;
      }
    }
  }

  /// Whether the value is stored even without these readers.
  bool is_in_memory_without(NodeId id, const std::unordered_set<NodeId>& readers) const {
    while (ir::is_view(graph_, id)) id = graph_.node(id).inputs[0];
    if (partition_.producer(id) == no_group || graph_.is_output(id)) return true;
    const auto& users = graph_.node(id).users;
    return std::any_of(users.begin(), users.end(),
                       [&](NodeId user) { return partition_.group(user) != partition_.group(id) && !readers.contains(user); });
  }

  /// Nodes outside the group that `may_join` and that only the readers read, directly or through each other; readers first, and as many as a few
  /// groups hold: of what lies behind those, none can join.
  template <class F>
  std::vector<NodeId> exclusive_operands(GroupId group, const std::vector<NodeId>& readers, F&& may_join) const {
    std::unordered_set<NodeId> inside(readers.begin(), readers.end());
    std::set<std::size_t, std::greater<>> next;  // positions of their operands, the last first: after all that read it
    const auto add_operands = [&](NodeId id) {
      for (const NodeId input : graph_.node(id).inputs) next.insert(partition_.position(input));
    };
    std::for_each(readers.begin(), readers.end(), add_operands);
    std::vector<NodeId> found;
    while (!next.empty() && found.size() < most_operands) {
      const NodeId id = partition_.order()[*next.begin()];
      next.erase(next.begin());
      const GroupId from = partition_.group(id);
      if (from == no_group || from == group || partition_.recomputable(id) || graph_.is_output(id) || !may_join(id)) continue;
      if (ir::is_view(graph_, id)) continue;  // read in place
      const NodeId anchor = partition_.anchor(from);
      if (anchor != ir::no_node && shape(id) != shape(anchor)) continue;  // a prologue is not moved
      const auto& users = graph_.node(id).users;
      if (!std::all_of(users.begin(), users.end(), [&](NodeId user) { return inside.contains(user); })) continue;
      found.push_back(id);
      inside.insert(id);
      add_operands(id);
    }
    return found;
  }

  void draw_in(GroupId group) {
    const NodeId anchor = partition_.anchor(group);
    const std::vector<NodeId> members(partition_.members(group).begin(), partition_.members(group).end());
    if (members.size() >= max_group_nodes) return;
    // First the operands of the nodes after the anchor, then those of the anchor.
    const auto behind = anchor == ir::no_node ? members.begin() : std::find(members.begin(), members.end(), anchor) + 1;
    const Shape wanted = partition_.shape(group);
    draw_in(group, {behind, members.end()}, [&](NodeId id) { return !ir::is_anchor(graph_.node(id).op) && shape(id) == wanted; });
    if (anchor != ir::no_node && ir::prologue_operand(graph_.node(anchor).op))
      draw_in(group, {members.begin(), behind}, [&](NodeId id) { return ir::joins_prologue(graph_, id, anchor); });
  }

  template <class F>
  void draw_in(GroupId group, const std::vector<NodeId>& readers, F&& may_join) {
    const std::vector<NodeId> cone = exclusive_operands(group, readers, may_join);
    const std::unordered_set<NodeId> in_cone(cone.begin(), cone.end());
    const bool is_cut = cone.size() == most_operands;  // what lies behind its end counts as kept
    std::unordered_set<NodeId> is_kept;
    std::vector<NodeId> kept;
    for (auto id = cone.rbegin(); id != cone.rend(); ++id) {
      const auto& operands = graph_.node(*id).inputs;
      // The operands of what moves are stored in any case, and a value takes less memory than its repetition.
      const bool widens = std::holds_alternative<ir::Broadcast>(graph_.node(*id).op);
      const bool keep = ir::moves_elements(graph_.node(*id).op) || widens || std::all_of(operands.begin(), operands.end(), [&](NodeId input) {
                          return is_kept.contains(input) || partition_.group(input) == group || is_in_memory_without(input, in_cone) ||
                                 (is_cut && !in_cone.contains(input));
                        });
      if (!keep) continue;
      kept.push_back(*id);
      is_kept.insert(*id);
    }
    for (auto id = kept.rbegin(); id != kept.rend(); ++id) {
      // Its readers may have been refused; then it is not moved.
      const auto& users = graph_.node(*id).users;
      if (std::all_of(users.begin(), users.end(), [&](NodeId user) { return partition_.group(user) == group; })) (void)partition_.move(*id, group);
    }
  }

  const ir::Graph& graph_;
  Partition partition_;
  std::vector<std::optional<Obstacle>> obstacles_;
};

/// "dense+sigmoid", "square+sum", "matmul+9 pointwise+update".
std::string label(const ir::Graph& graph, const Partition& partition, GroupId group) {
  const NodeId anchor = partition.anchor(group);
  std::vector<std::string> before, behind;
  bool update = false;
  for (const NodeId id : partition.members(group)) {
    update |= partition.is_update(id);
    if (id == anchor) continue;
    const bool prologue = anchor != ir::no_node && graph.node(id).type.shape != graph.node(anchor).type.shape;
    (prologue ? before : behind).emplace_back(ir::name(graph.node(id).op));
  }
  const auto text = [](const std::vector<std::string>& names) {
    std::string result;
    if (names.size() > 3) return str(names.size(), " pointwise");
    for (const std::string& name : names) result += (result.empty() ? "" : "+") + name;
    return result;
  };
  std::string result = text(before);
  if (anchor != ir::no_node) result += (result.empty() ? "" : "+") + std::string(ir::name(graph.node(anchor).op));
  if (!behind.empty()) result += (result.empty() ? "" : "+") + text(behind);
  return update ? result + "+update" : result;
}

/// Why an update does not run in the kernel that computes its gradient, by the node that could not join.
void note_refusals(const ir::Graph& graph, const Grouping& grouping, PassContext& context) {
  const auto names = ir::printed_names(graph);
  const Partition& partition = grouping.partition();
  for (std::size_t state = 0; state < graph.states().size(); ++state) {
    const NodeId update = graph.updates()[state];
    if (update == ir::no_node || partition.group(update) == no_group || partition.anchor(partition.group(update)) != ir::no_node) continue;
    for (const NodeId id : partition.members(partition.group(update))) {
      const auto& obstacle = grouping.obstacle(id);
      if (!obstacle) continue;
      std::string why;
      switch (obstacle->reason) {
        case Refusal::cycle:
          why = str("it also waits for ", names[obstacle->between], " = ", ir::name(graph.node(obstacle->between).op));
          break;
        case Refusal::size:
          why = "the kernel would be too large";
          break;
        case Refusal::in_place:
          why = "the product reads the value that the update overwrites";
          break;
        case Refusal::moved:
          why = "the gradient's elements are read at other places";
          break;
      }
      context.notes.push_back(str("update of ", graph.states()[state].name, " not fused with its gradient: ", why));
      break;
    }
  }
}

}  // namespace

namespace {

/// Numbers the kernels.
bool assign_kernels(ir::Graph& graph, const Partition& partition, PassContext& context) {
  for (const NodeId id : partition.order())
    graph.set_kernel(id, partition.recomputable(id) && partition.group(id) == no_group ? ir::inlined : ir::no_kernel);
  std::int32_t kernel = 0;
  std::vector<std::pair<std::string, std::size_t>> labels;
  for (const GroupId g : partition.topological_groups()) {
    for (const NodeId id : partition.members(g)) graph.set_kernel(id, kernel);
    ++kernel;
    const std::string text = label(graph, partition, g);
    const auto found = std::find_if(labels.begin(), labels.end(), [&](const auto& entry) { return entry.first == text; });
    if (found == labels.end()) labels.emplace_back(text, 1);
    else ++found->second;
  }
  std::string note = counted(static_cast<std::size_t>(kernel), "kernel", "kernels");
  for (std::size_t i = 0; i < labels.size(); ++i)
    note += str(i ? ", " : ": ", labels[i].first, labels[i].second > 1 ? str(" ×", labels[i].second) : "");
  context.notes.push_back(std::move(note));
  return kernel > 0;
}

}  // namespace

bool group(ir::Graph& graph, PassContext& context) {
  Grouping grouping(graph);
  grouping.form();
  const bool any = assign_kernels(graph, grouping.partition(), context);
  note_refusals(graph, grouping, context);
  return any;
}

bool group_each_alone(ir::Graph& graph, PassContext& context) { return assign_kernels(graph, Partition(graph), context); }

}  // namespace sinter::passes
