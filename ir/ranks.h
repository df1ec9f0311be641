// An order of the nodes of a graph without cycles that stays one while edges are added and nodes merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sinter::ir {

/// The rank of each numbered node, less than those of its successors. The owner has the edges: `edges.successors(i)` and `edges.predecessors(i)` give
/// the numbers of a node's neighbours, any of them more than once.
class Ranks {
 public:
  /// A node with a rank above all others; or that of another node: call `settle` once its edges are there.
  void add_last() { ranks_.push_back(highest_ += spacing); }
  void add_beside(std::size_t node) { ranks_.push_back(std::uint64_t{ranks_[node]}); }
  void remove_last() { ranks_.pop_back(); }
  /// The first node becomes both. There must be no path around.
  void merge(std::size_t into, std::size_t from) { ranks_[into] = std::max(ranks_[into], ranks_[from]); }

  /// After edges from this node were added or changed: raises the ranks of what comes after it. There must be no cycle.
  template <class Edges>
  void settle(const Edges& edges, std::size_t node) {
    std::vector<std::size_t> raised{node};
    while (!raised.empty()) {
      const std::size_t from = raised.back();
      raised.pop_back();
      for (const std::size_t next : edges.successors(from)) {
        if (ranks_[next] > ranks_[from]) continue;
        ranks_[next] = ranks_[from] + 1;
        highest_ = std::max(highest_, ranks_[next]);
        raised.push_back(next);
      }
    }
  }

  /// The last node between the two on a path from one to the other that is more than an edge, if there is one. Searched from both ends at once, among
  /// nodes of ranks between theirs: usually one end has few neighbours.
  template <class Edges>
  std::optional<std::size_t> path_around(const Edges& edges, std::size_t from, std::size_t to) const {
    std::unordered_map<std::size_t, std::size_t> before;  // nodes that reach `to`: through which of its predecessors
    std::unordered_set<std::size_t> after;                // nodes that `from` reaches
    std::vector<std::size_t> forward{from}, backward{to};
    std::optional<std::size_t> last;
    const auto is_between = [&](std::size_t node) { return ranks_[node] > ranks_[from] && ranks_[node] < ranks_[to]; };
    const auto meet = [&](std::size_t node) {
      if (!last && after.contains(node) && before.contains(node)) last = before.at(node);
    };
    while (!last && !forward.empty() && !backward.empty()) {
      const std::size_t a = forward.back(), b = backward.back();
      forward.pop_back();
      backward.pop_back();
      for (const std::size_t next : edges.successors(a))
        if (is_between(next) && after.insert(next).second) {
          forward.push_back(next);
          meet(next);
        }
      for (const std::size_t next : edges.predecessors(b))
        if (is_between(next) && before.emplace(next, b == to ? next : before.at(b)).second) {
          backward.push_back(next);
          meet(next);
        }
    }
    return last;
  }

 private:
  /// Between the ranks of nodes that are added one after another, so that few others follow when one is raised.
  static constexpr std::uint64_t spacing = std::uint64_t{1} << 32;
  std::vector<std::uint64_t> ranks_;
  std::uint64_t highest_ = 0;
};

}  // namespace sinter::ir
