#include "passes/partition.h"

#include <algorithm>
#include <set>

#include "ir/kernel.h"
#include "passes/group.h"

namespace sinter::passes {

using ir::NodeId;

namespace {

bool contains(std::span<const NodeId> nodes, NodeId id) { return std::find(nodes.begin(), nodes.end(), id) != nodes.end(); }

bool leaves_group(const ir::Graph& graph, std::span<const NodeId> nodes, NodeId id) {
  const auto& users = graph.node(id).users;
  return graph.is_output(id) || std::any_of(users.begin(), users.end(), [&](NodeId user) { return !contains(nodes, user); });
}

}  // namespace

std::optional<Refusal> check_group(const ir::Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.size() > max_group_nodes) return Refusal::size;
  std::set<NodeId> buffers;
  for (const NodeId id : nodes) {
    if (leaves_group(graph, nodes, id)) buffers.insert(id);
    for (const NodeId leaf : ir::leaves_read(graph, id)) buffers.insert(leaf);
    for (const NodeId input : graph.node(id).inputs)
      if (!ir::is_recomputable(graph, input) && !contains(nodes, input)) buffers.insert(input);
  }
  if (buffers.size() > max_group_buffers) return Refusal::size;

  const NodeId anchor = ir::anchor_of(graph, nodes);
  if (anchor == ir::no_node) return std::nullopt;
  for (std::size_t state = 0; state < graph.states().size(); ++state) {
    const NodeId update = graph.updates()[state];
    if (update == ir::no_node || update == anchor || !contains(nodes, update)) continue;
    for (const NodeId id : nodes)
      if ((id == anchor || graph.node(id).type.shape != graph.node(anchor).type.shape) &&
          contains(ir::leaves_read(graph, id), graph.state_node(state)))
        return Refusal::in_place;
  }
  return std::nullopt;
}

Partition::Partition(const ir::Graph& graph)
    : graph_(graph),
      order_(graph.topological_order()),
      position_(graph.size()),
      recomputable_(graph.size()),
      groups_(graph.size(), no_group),
      overwritten_by_(graph.size()) {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const NodeId id = order_[i];
    position_[id] = i;
    if (ir::is_leaf(graph.node(id).op)) continue;
    recomputable_[id] = ir::is_recomputable(graph, id);
    if (recomputable_[id] && !graph.is_output(id)) continue;
    groups_[id] = static_cast<GroupId>(members_.size());
    members_.push_back({id});
    for (const NodeId leaf : ir::leaves_read(graph, id)) {
      const auto* state = std::get_if<ir::State>(&graph.node(leaf).op);
      const NodeId update = state ? graph.updates()[static_cast<std::size_t>(state->index)] : ir::no_node;
      if (update != ir::no_node && update != id && !ir::is_leaf(graph.node(update).op)) overwritten_by_[id].push_back(update);
    }
  }
}

NodeId Partition::anchor(GroupId group) const { return ir::anchor_of(graph_, members(group)); }

const Shape& Partition::shape(GroupId group) const {
  const NodeId id = anchor(group);
  return graph_.node(id == ir::no_node ? members(group).front() : id).type.shape;
}

bool Partition::is_result(NodeId id) const { return leaves_group(graph_, members(groups_[id]), id); }

std::vector<GroupId> Partition::successors(GroupId group) const {
  std::vector<GroupId> result;
  for (const NodeId id : members(group)) {
    if (!recomputable_[id])
      for (const NodeId user : graph_.node(id).users) result.push_back(groups_[user]);
    for (const NodeId update : overwritten_by_[id]) result.push_back(groups_[update]);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  std::erase(result, group);
  return result;
}

/// The first node of a third group on a path between two groups; no_node if there is no such path.
NodeId Partition::path_around(GroupId from, GroupId to) const {
  std::vector<char> seen(members_.size());
  std::vector<GroupId> stack = successors(from);
  std::erase(stack, to);
  for (const GroupId group : stack) seen[static_cast<std::size_t>(group)] = 1;
  while (!stack.empty()) {
    const GroupId group = stack.back();
    stack.pop_back();
    for (const GroupId next : successors(group)) {
      if (next == to) return anchor(group) == ir::no_node ? members(group).front() : anchor(group);
      if (next == from || seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = 1;
      stack.push_back(next);
    }
  }
  return ir::no_node;
}

std::optional<Obstacle> Partition::check_members(std::span<const NodeId> nodes) const {
  if (const auto refusal = check_group(graph_, nodes)) return Obstacle{*refusal, ir::no_node};
  return std::nullopt;
}

std::optional<Obstacle> Partition::merge(GroupId a, GroupId b) {
  std::vector<NodeId> both(members(a).begin(), members(a).end());
  both.insert(both.end(), members(b).begin(), members(b).end());
  if (const auto obstacle = check_members(both)) return obstacle;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    if (const NodeId between = path_around(from, to); between != ir::no_node) return Obstacle{Refusal::cycle, between};
  for (const NodeId id : members(b)) groups_[id] = a;
  members_[static_cast<std::size_t>(b)].clear();
  std::sort(both.begin(), both.end(), [&](NodeId x, NodeId y) { return position_[x] < position_[y]; });
  members_[static_cast<std::size_t>(a)] = std::move(both);
  return std::nullopt;
}

std::optional<Obstacle> Partition::move(NodeId id, GroupId to) {
  // It is moved out of its group first, and back if it cannot join the other.
  const GroupId from = groups_[id];
  if (members(from).size() == 1) return merge(to, from);
  const std::vector<NodeId> before(members(from).begin(), members(from).end());
  std::erase(members_[static_cast<std::size_t>(from)], id);
  groups_[id] = static_cast<GroupId>(members_.size());
  members_.push_back({id});
  const auto obstacle = merge(to, groups_[id]);
  if (obstacle) {
    groups_[id] = from;
    members_[static_cast<std::size_t>(from)] = before;
  }
  members_.pop_back();
  return obstacle;
}

std::vector<GroupId> Partition::topological_groups() const {
  std::vector<std::set<GroupId>> before(members_.size());
  std::vector<GroupId> waiting, result;
  for (std::size_t g = 0; g < members_.size(); ++g) {
    if (members_[g].empty()) continue;
    waiting.push_back(static_cast<GroupId>(g));
    for (const NodeId id : members_[g])
      for (const NodeId input : graph_.node(id).inputs)
        if (producer(input) != no_group && producer(input) != static_cast<GroupId>(g)) before[g].insert(producer(input));
  }
  std::sort(waiting.begin(), waiting.end(), [&](GroupId a, GroupId b) { return position_[members(a).front()] < position_[members(b).front()]; });
  std::vector<char> done(members_.size());
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](GroupId g) {
      const auto& needed = before[static_cast<std::size_t>(g)];
      return std::all_of(needed.begin(), needed.end(), [&](GroupId n) { return done[static_cast<std::size_t>(n)]; });
    });
    if (next == waiting.end()) throw InternalError("group", "kernel groups wait for each other");
    done[static_cast<std::size_t>(*next)] = 1;
    result.push_back(*next);
    waiting.erase(next);
  }
  return result;
}

}  // namespace sinter::passes
