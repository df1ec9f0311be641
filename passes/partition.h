// The partition of nodes into kernel groups while the pass `group` forms them: which may be merged.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/kernel.h"
#include "ir/ranks.h"

namespace sinter::passes {

using GroupId = std::int32_t;
inline constexpr GroupId no_group = -1;

enum class Refusal : std::uint8_t {
  cycle,    ///< a third group would have to run between the two
  size,     ///< more nodes or buffers than a kernel takes
  moved,    ///< a node would read other elements of a result of the group than the one that is being computed
  in_place  ///< anchor, prologue or a node that moves elements read a state that the group would update
};

/// Why two groups cannot be merged.
struct Obstacle {
  Refusal reason = Refusal::cycle;
  ir::NodeId between = ir::no_node;  ///< for a cycle: a node of the third group
};

class Partition {
 public:
  /// One group for each node that needs a kernel.
  explicit Partition(const ir::Graph& graph);

  GroupId group(ir::NodeId id) const { return groups_[id]; }
  std::span<const ir::NodeId> members(GroupId group) const { return members_[static_cast<std::size_t>(group)]; }
  std::size_t size() const { return members_.size(); }
  /// The node's group, no_group for leaves and scalars that readers recompute.
  GroupId producer(ir::NodeId id) const { return recomputable(id) ? no_group : groups_[id]; }
  bool recomputable(ir::NodeId id) const { return facts_.recomputable[id]; }
  bool is_update(ir::NodeId id) const { return !facts_.overwrites[id].empty(); }
  std::size_t position(ir::NodeId id) const { return position_[id]; }
  std::span<const ir::NodeId> order() const { return order_; }

  ir::NodeId anchor(GroupId group) const;
  /// The shape of the anchor's result or, without one, of all nodes.
  const Shape& shape(GroupId group) const;

  /// Moves all of b to a, or one node of another group. Returns the obstacle if that would break a rule of group.h.
  std::optional<Obstacle> merge(GroupId a, GroupId b);
  std::optional<Obstacle> move(ir::NodeId id, GroupId to);
  /// Group numbers in an order in which they can run.
  std::vector<GroupId> topological_groups() const;

  /// Groups that run after this one because of it, and before; some more than once.
  std::vector<std::size_t> successors(std::size_t group) const;
  std::vector<std::size_t> predecessors(std::size_t group) const;

 private:
  bool reads(GroupId first, GroupId second) const;
  void overwrite_after(ir::NodeId reader, ir::NodeId update);
  ir::NodeId path_around(GroupId from, GroupId to) const;
  std::optional<Obstacle> check_members(std::span<const ir::NodeId> nodes) const;

  const ir::Graph& graph_;
  ir::NodeFacts facts_;
  std::vector<ir::NodeId> order_;
  std::vector<std::size_t> position_;
  std::vector<GroupId> groups_;
  std::vector<std::vector<ir::NodeId>> members_;
  ir::Ranks ranks_;                                                          ///< of the groups
  std::vector<std::vector<ir::NodeId>> overwritten_by_, reads_overwritten_;  ///< an update of a state runs after the nodes that read the state
};

/// The rules for a single group (3, 8 and 9 of group.h) but that of a single anchor.
std::optional<Refusal> check_group(const ir::Graph& graph, const ir::NodeFacts& facts, std::span<const ir::NodeId> nodes);

}  // namespace sinter::passes
