// Padding: what a graph computes of steps of sequences that a mask leaves out, and what of that nobody needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// What may stand in the padding of a value instead of what the graph says, without a change of any result.
enum class Freedom : std::uint8_t {
  exact,  ///< nothing: a result, of which the sign of a zero is seen, too
  none,   ///< nothing, but that a product of 0 may be 0 instead of -0
  zero,   ///< 0 in place of -0
  finite_numbers,
  anything,
};

/// What a graph computes of its units where a mask is false, or where something that is set to 0 there decides. A unit is a sample (N of them), or a
/// step of one (N·T): values have some dimensions whose product is their number, and then those of a unit.
class Padding {
 public:
  /// `mask`: a boolean node with one element a unit; or no_node.
  Padding(const ir::Graph& graph, Dim units, ir::NodeId mask);

  /// Of a node: its padding is 0, whatever the graph says.
  void set_zero(ir::NodeId id) { stands_for_[id] = zero; }
  /// From the leaves to the results: what the padding of each value is.
  void find_values();
  /// Whether it is 0.
  bool is_zero(ir::NodeId id) const { return stands_for_[id] == zero; }
  /// Whether it is that of another node, but for the sign of a zero.
  bool is_that_of(ir::NodeId id, ir::NodeId other) const { return stands_for_[id] == stands_for_[other]; }

  /// Of a value that the caller reads.
  void limit(ir::NodeId id, Freedom freedom);
  /// From the results to the leaves; after find_values().
  void find_freedom();
  Freedom freedom(ir::NodeId id) const { return freedom_[id]; }
  /// Whether 0 may stand in the padding of this value.
  bool may_be_zero(ir::NodeId id) const {
    return has_units(id) && (freedom(id) >= Freedom::finite_numbers || (is_zero(id) && freedom(id) == Freedom::zero));
  }
  /// Of a scan whose steps change nothing of a sample where the mask is false, and make nothing that is needed: they need not run there.
  bool skips_steps(ir::NodeId scan) const { return skips_[scan] != 0; }

 private:
  static constexpr ir::NodeId zero = ir::no_node;

  bool has_units(ir::NodeId id) const;
  bool reads_own(ir::NodeId user, std::size_t operand) const;
  /// Whether an operand is the mask, an element for each unit of the result.
  bool is_mask(ir::NodeId user, std::size_t operand) const;
  /// Whether an operand is 0 in the units in which a reader's result has padding.
  bool is_zero_for(ir::NodeId user, std::size_t operand) const;
  /// What the padding of a node is: that of itself, of another node, or zero.
  ir::NodeId value_of(ir::NodeId id);
  /// What may stand in the padding of an operand for this reader.
  Freedom of_use(ir::NodeId user, std::size_t operand) const;
  void find_step(ir::NodeId scan);
  void find_freedom_of_step(ir::NodeId scan, Padding& step);
  Padding* step_of(ir::NodeId scan) const;

  const ir::Graph& graph_;
  const Dim units_;
  const ir::NodeId mask_;
  std::vector<ir::NodeId> order_;
  std::vector<ir::NodeId> stands_for_;  ///< the node whose padding it has: itself, another one, or zero
  std::vector<Freedom> freedom_;
  std::vector<char> skips_;
  std::map<ir::NodeId, std::shared_ptr<Padding>> steps_;  ///< of scans over sequences with this mask
};

}  // namespace sinter::passes
