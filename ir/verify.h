// The rules of the IR.
#pragma once

#include "ir/graph.h"

namespace sinter::ir {

/// A rule that a node breaks.
class NodeError : public UserError {
 public:
  NodeError(std::string_view where, NodeId node, std::string_view rule) : UserError(where, rule), node_(node) {}
  NodeId node() const { return node_; }

 private:
  NodeId node_;
};

/// Throws UserError (a NodeError where it is about a node) naming the first rule that does not hold. Run on every graph loaded from a file, after
/// every pass in Debug and in all tests.
///
/// 1. Every operand exists, is live and comes before its user in some order: no cycles. Users match operands.
/// 2. Every node's type is the one that the op's shape rule gives.
/// 3. Leaves match the declared inputs and states, one leaf each. Names of inputs and states are not empty and not used twice.
/// 4. Outputs and updates are live nodes; an update has its state's type; states have no N; constants are exact in their type; no attribute is NaN
///    (elements may be) or has R.
/// 5. A table ([R, ...]) is read only by gather_rows, as its first operand.
/// 6. Inputs lead with N (batch), have no N (fixed, hidden) or lead with R (table). No other N dimension in an input.
/// 7. Kernel groups, where set: `inlined` nodes are recomputable (ir/kernel.h).
void verify(const Graph& graph);

/// Whether the number among an op's attributes is an element of the result: of a constant, of what is padded.
bool may_be_nan(const Op& op);

}  // namespace sinter::ir
