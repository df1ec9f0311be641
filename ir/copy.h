// Nodes of one graph as nodes of another.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// Copies nodes with their ops, operands and origins. Leaves are not copied: set() says what stands for each.
class Copy {
 public:
  Copy(const Graph& from, Graph& to) : from_(from), to_(to), values_(from.size()) {}

  /// `value` of the new graph stands for the node from now on.
  void set(NodeId id, Value value) { values_[id] = value; }
  /// What stands for the node; empty if nothing does yet.
  Value operator[](NodeId id) const { return values_[id]; }
  /// Adds inputs like those of the other graph, in order, which stand for them.
  void add_inputs();
  /// Copies a node whose operands stand for something. `op`: instead of the node's own.
  Value add(NodeId id) { return add(id, from_.node(id).op); }
  Value add(NodeId id, Op op);
  /// Copies all that these nodes need for which nothing stands yet.
  void add_all(std::span<const NodeId> ids);

 private:
  const Graph& from_;
  Graph& to_;
  std::vector<Value> values_;
};

/// The nodes that these need, including themselves, by id; what is needed through a node of `stop` is not.
std::vector<char> needed_nodes(const Graph& graph, std::span<const NodeId> ids, const std::vector<char>& stop = {});

}  // namespace sinter::ir
