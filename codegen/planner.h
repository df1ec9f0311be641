// What kinds of kernels add to a schedule.
#pragma once

#include <string>

#include "codegen/schedule.h"

namespace sinter::codegen {

class Planner {
 public:
  Planner(const ir::Graph& graph, Schedule& schedule);

  const ir::Graph& graph() const { return graph_; }
  Domain domain_of(const Shape& shape) const;
  /// Whether the schedule is that of a step of a loop over time.
  bool is_step() const { return schedule_.is_step; }
  const StoredValue& stored(ValueId value) const { return schedule_.values[value]; }
  /// Where a node is stored; no_value if its readers compute it.
  ValueId value_of(ir::NodeId id) const { return schedule_.value_of[id]; }
  /// Whether every range of a product's units is cut into columns.
  bool divides_columns(ir::NodeId product) const;
  /// Whether a product's right operand is packed by a kernel of its own.
  bool packs_right(ir::NodeId product) const;
  /// Memory for a kernel's own use.
  ValueId temporary(const Type& type, std::string name);
  /// Lets calls with a single sample be cut, if the kernel is over samples and the step updates no state.
  void cut_single_sample(Kernel& kernel, Cut::Along along, std::int64_t pieces) const;
  void add(Kernel kernel);
  /// Adds a kernel that packs an operand of another one's anchor into memory of this shape.
  void add_pack(Kernel& reader, const Shape& shape, const Domain& domain);
  /// A reduction in parts, one slot a chunk of its operand; and what combines the slots and goes on.
  struct Parts {
    Kernel partial, combine;
  };
  Parts split(const Kernel& reduction) const;
  /// Adds both and memory for the slots, of this shape behind the first axis.
  void add(Parts parts, const Shape& slots);

 private:
  const ir::Graph& graph_;
  Schedule& schedule_;
  bool cuts_samples_;
};

/// The domain that chunks of a tensor of this shape divide: samples, if they are the leading dimension; else rows. `divides_samples`: rows also of
/// samples that have many.
Domain domain_of(const Shape& shape, bool divides_samples);
/// The least rows of a chunk of such a domain.
inline constexpr std::int64_t least_divided_rows = 32;
/// Whether no kernel of the graph needs whole samples in its thread's cache, as convolutions and pools do.
bool divides_samples(const ir::Graph& graph);

/// Whether a step writes to any state.
bool updates_states(const ir::Graph& graph);

}  // namespace sinter::codegen
