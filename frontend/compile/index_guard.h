// Indices of a step that assigns states: a bad one must be found before anything is assigned.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "frontend/core/tensor.h"
#include "ir/graph.h"

namespace sinter {

/// The operand of a node that holds indices, and the number that they must be less than; none if the node has no indices.
std::optional<std::pair<std::size_t, Dim>> index_of(const ir::Graph& graph, ir::NodeId id);
/// An index that is out of range, and where it is in the tensor that holds it.
struct BadIndex {
  std::int64_t value, size;
  std::vector<std::int64_t> place;
};
/// What was wrong with the numbers that the node met: an index out of range, which may be known, or a total that does not fit.
std::string fault_message(const ir::Graph& graph, ir::NodeId id, const std::optional<BadIndex>& bad = {});

class IndexGuard {
 public:
  IndexGuard() = default;
  explicit IndexGuard(const ir::Graph& graph);

  using InputOf = std::function<const Tensor&(std::size_t)>;
  /// Checks the indices that are inputs, columns or rows of inputs, or running numbers, in the first N samples of the batch inputs. Allocates
  /// nothing. Throws UserError.
  void check(const ir::Graph& graph, const InputOf& input, Sizes sizes) const;
  /// Whether there are no others, which only the step itself computes, and no totals.
  bool is_complete() const { return complete_; }

 private:
  /// [first, last) along the last axis.
  struct Columns {
    std::int64_t first, last;
    bool operator==(const Columns&) const = default;
  };
  struct Indices {
    ir::NodeId node;
    std::optional<std::size_t> values = {};  ///< the input that holds them, or
    std::optional<Columns> columns = {};     ///< that does in these alone; or
    std::optional<std::size_t> rows = {};    ///< the input that says which of its rows do; or
    std::optional<Dim> count = {};           ///< they are 0, 1, … below this
    Dim size;
    std::optional<std::size_t> table = {};  ///< the input whose rows they number, in place of a size

    /// Whether the same is checked, for whatever node.
    bool operator==(const Indices& o) const {
      return values == o.values && columns == o.columns && rows == o.rows && count == o.count && size == o.size && table == o.table;
    }
  };
  std::vector<Indices> list_;
  bool complete_ = true;
};

}  // namespace sinter
