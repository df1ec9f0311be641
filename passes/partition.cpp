#include "passes/partition.h"

#include <algorithm>
#include <queue>

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

std::optional<Refusal> check_group(const ir::Graph& graph, const ir::NodeFacts& facts, std::span<const NodeId> nodes) {
  if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return std::holds_alternative<ir::Scan>(graph.node(id).op); })) {
    const auto belongs = [&](NodeId id) {  // any number of them
      return id == nodes.front() || (std::holds_alternative<ir::ScanResult>(graph.node(id).op) && graph.node(id).inputs[0] == nodes.front());
    };
    return std::all_of(nodes.begin(), nodes.end(), belongs) ? std::optional<Refusal>() : Refusal::size;
  }
  if (nodes.size() > max_group_nodes) return Refusal::size;
  std::vector<NodeId> buffers;
  for (const NodeId id : nodes) {
    if (leaves_group(graph, nodes, id)) buffers.push_back(id);
    buffers.insert(buffers.end(), facts.leaves[id].begin(), facts.leaves[id].end());
    for (const NodeId input : graph.node(id).inputs)
      if (!facts.recomputable[input] && !contains(nodes, input)) buffers.push_back(input);
  }
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  if (buffers.size() > max_group_buffers) return Refusal::size;

  const NodeId anchor = ir::anchor_of(graph, nodes);
  std::vector<NodeId> elsewhere;  // nodes that read elements at other places than that of the element that is stored
  for (const NodeId id : nodes) {
    const ir::Node& node = graph.node(id);
    const bool moves = ir::moves_elements(node.op);
    if (moves && std::any_of(node.inputs.begin(), node.inputs.end(), [&](NodeId input) { return contains(nodes, input); })) return Refusal::moved;
    if (moves || (anchor != ir::no_node && (id == anchor || node.type.shape != graph.node(anchor).type.shape))) elsewhere.push_back(id);
  }
  for (const NodeId update : nodes)
    for (const NodeId state : facts.overwrites[update])
      if (update != anchor &&
          std::any_of(elsewhere.begin(), elsewhere.end(), [&](NodeId id) { return id != update && contains(facts.leaves[id], state); }))
        return Refusal::in_place;
  return std::nullopt;
}

Partition::Partition(const ir::Graph& graph)
    : graph_(graph),
      facts_(graph),
      order_(graph.topological_order()),
      position_(graph.size()),
      groups_(graph.size(), no_group),
      overwritten_by_(graph.size()),
      reads_overwritten_(graph.size()) {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const NodeId id = order_[i];
    position_[id] = i;
    if (ir::is_leaf(graph.node(id).op) || (recomputable(id) && !graph.is_output(id))) continue;
    if (std::holds_alternative<ir::ScanResult>(graph.node(id).op)) {
      groups_[id] = groups_[graph.node(id).inputs[0]];
      members_[static_cast<std::size_t>(groups_[id])].push_back(id);
      continue;
    }
    groups_[id] = static_cast<GroupId>(members_.size());
    members_.push_back({id});
    ranks_.add_last();
  }
  for (const NodeId id : order_) {
    if (groups_[id] == no_group) continue;
    for (const NodeId leaf : facts_.leaves[id]) {
      const auto* state = graph.op_as<ir::State>(leaf);
      const NodeId update = state ? graph.updates()[static_cast<std::size_t>(state->index)] : ir::no_node;
      if (update != ir::no_node && update != id && groups_[update] != no_group) overwrite_after(id, update);
    }
  }
}

/// An update of a state runs after what reads the state, unless the reader needs the new value, too: then the update is stored elsewhere first.
void Partition::overwrite_after(NodeId reader, NodeId update) {
  const GroupId first = groups_[reader], then = groups_[update];
  if (reads(then, first) || path_around(then, first) != ir::no_node) return;
  overwritten_by_[reader].push_back(update);
  reads_overwritten_[update].push_back(reader);
  ranks_.settle(*this, static_cast<std::size_t>(first));
}

/// Whether the second group runs after the first because of the first's own nodes.
bool Partition::reads(GroupId first, GroupId second) const {
  const std::vector<std::size_t> after = successors(static_cast<std::size_t>(first));
  return std::find(after.begin(), after.end(), static_cast<std::size_t>(second)) != after.end();
}

NodeId Partition::anchor(GroupId group) const { return ir::anchor_of(graph_, members(group)); }

const Shape& Partition::shape(GroupId group) const {
  const NodeId id = anchor(group);
  return graph_.node(id == ir::no_node ? members(group).front() : id).type.shape;
}

std::vector<std::size_t> Partition::successors(std::size_t group) const {
  std::vector<std::size_t> result;
  const auto add = [&](NodeId id) {
    if (const auto next = static_cast<std::size_t>(groups_[id]); next != group) result.push_back(next);
  };
  for (const NodeId id : members_[group]) {
    if (!recomputable(id)) std::for_each(graph_.node(id).users.begin(), graph_.node(id).users.end(), add);
    std::for_each(overwritten_by_[id].begin(), overwritten_by_[id].end(), add);
  }
  return result;
}

std::vector<std::size_t> Partition::predecessors(std::size_t group) const {
  std::vector<std::size_t> result;
  const auto add = [&](GroupId from) {
    if (from != no_group && static_cast<std::size_t>(from) != group) result.push_back(static_cast<std::size_t>(from));
  };
  for (const NodeId id : members_[group]) {
    for (const NodeId input : graph_.node(id).inputs) add(producer(input));
    for (const NodeId reader : reads_overwritten_[id]) add(groups_[reader]);
  }
  return result;
}

/// The first node of the last of the other groups on a path between two groups; no_node if there is no such path.
NodeId Partition::path_around(GroupId from, GroupId to) const {
  const std::optional<std::size_t> between = ranks_.path_around(*this, static_cast<std::size_t>(from), static_cast<std::size_t>(to));
  if (!between) return ir::no_node;
  const auto last = static_cast<GroupId>(*between);
  return anchor(last) == ir::no_node ? members(last).front() : anchor(last);
}

std::optional<Obstacle> Partition::check_members(std::span<const NodeId> nodes) const {
  if (const auto refusal = check_group(graph_, facts_, nodes)) return Obstacle{*refusal, ir::no_node};
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
  ranks_.merge(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
  ranks_.settle(*this, static_cast<std::size_t>(a));
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
  ranks_.add_beside(static_cast<std::size_t>(from));
  std::optional<Obstacle> obstacle;
  if (reads(from, groups_[id]) && reads(groups_[id], from)) {
    obstacle = Obstacle{Refusal::cycle, before.front()};
  } else {
    for (const GroupId part : {from, groups_[id]}) ranks_.settle(*this, static_cast<std::size_t>(part));
    obstacle = merge(to, groups_[id]);
  }
  if (obstacle) {
    groups_[id] = from;
    members_[static_cast<std::size_t>(from)] = before;
  }
  members_.pop_back();
  ranks_.remove_last();
  return obstacle;
}

std::vector<GroupId> Partition::topological_groups() const {
  std::vector<std::vector<GroupId>> readers(members_.size());
  std::vector<std::size_t> waiting(members_.size());
  std::size_t groups = 0;
  for (std::size_t g = 0; g < members_.size(); ++g) {
    groups += !members_[g].empty();
    for (const NodeId id : members_[g])
      for (const NodeId input : graph_.node(id).inputs)
        if (const GroupId from = producer(input); from != no_group && from != static_cast<GroupId>(g)) {
          readers[static_cast<std::size_t>(from)].push_back(static_cast<GroupId>(g));
          ++waiting[g];
        }
  }
  using Ready = std::pair<std::size_t, GroupId>;  // of those that may run, the one whose first node comes first
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto add = [&](std::size_t g) { ready.emplace(position_[members_[g].front()], static_cast<GroupId>(g)); };
  for (std::size_t g = 0; g < members_.size(); ++g)
    if (!members_[g].empty() && waiting[g] == 0) add(g);
  std::vector<GroupId> result;
  while (!ready.empty()) {
    result.push_back(ready.top().second);
    ready.pop();
    for (const GroupId reader : readers[static_cast<std::size_t>(result.back())])
      if (--waiting[static_cast<std::size_t>(reader)] == 0) add(static_cast<std::size_t>(reader));
  }
  if (result.size() != groups) throw InternalError("group", "kernel groups wait for each other");
  return result;
}

}  // namespace sinter::passes
