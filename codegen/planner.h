// What kinds of kernels add to a schedule.
#pragma once

#include <string>

#include "codegen/schedule.h"

namespace sinter::codegen {

class Planner {
 public:
  Planner(const ir::Graph& graph, Schedule& schedule);

  const ir::Graph& graph() const { return graph_; }
  /// Memory for a kernel's own use.
  ValueId temporary(const Type& type, std::string name);
  /// Lets calls with a single sample be cut, if the kernel is over samples and the step updates no state.
  void cut(Kernel& kernel, Piece piece, std::int64_t pieces) const;
  void add(Kernel kernel);
  /// Adds a kernel that packs an operand of another one's anchor into memory of this shape.
  void add_pack(Kernel& reader, const Shape& shape, const Domain& domain);
  /// A reduction in parts, one slot a chunk of its operand; and what combines the slots and goes on.
  struct Parts {
    Kernel partial, combine;
  };
  Parts split(const Kernel& reduction) const;
  /// Adds both and memory for the slots.
  void add(Parts parts, const Shape& slots);

 private:
  const ir::Graph& graph_;
  Schedule& schedule_;
  bool cuts_samples_;
};

/// The domain that chunks of a tensor of this shape divide.
Domain domain_of(const Shape& shape);

/// Whether a step writes to any state.
bool updates_states(const ir::Graph& graph);

}  // namespace sinter::codegen
