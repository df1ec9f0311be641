// Orders of random graphs while edges are added and nodes merged, against searches of the whole graph.
#include "ir/ranks.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/ir/random_arrays.h"

namespace sinter::ir::ranks_test {
namespace {

/// A graph whose nodes may be merged; a merged node is empty and has no neighbours.
class Edges {
 public:
  explicit Edges(std::size_t count) : successors_(count), predecessors_(count) {}
  void add(std::size_t from, std::size_t to) {
    successors_[from].insert(to);
    predecessors_[to].insert(from);
  }
  void merge(std::size_t into, std::size_t from) {
    const std::set<std::size_t> after = successors_[from], before = predecessors_[from];
    for (const std::size_t node : after) predecessors_[node].erase(from);
    for (const std::size_t node : before) successors_[node].erase(from);
    successors_[from].clear();
    predecessors_[from].clear();
    for (const std::size_t node : after)
      if (node != into) add(into, node);
    for (const std::size_t node : before)
      if (node != into) add(node, into);
  }
  const std::set<std::size_t>& successors(std::size_t node) const { return successors_[node]; }
  const std::set<std::size_t>& predecessors(std::size_t node) const { return predecessors_[node]; }

  bool reaches(std::size_t from, std::size_t to) const {
    std::vector<std::size_t> stack{from};
    std::set<std::size_t> seen;
    while (!stack.empty()) {
      const std::size_t node = stack.back();
      stack.pop_back();
      if (node == to) return true;
      if (!seen.insert(node).second) continue;
      stack.insert(stack.end(), successors_[node].begin(), successors_[node].end());
    }
    return false;
  }
  /// Predecessors of `to` on a path that is more than an edge.
  std::set<std::size_t> lasts(std::size_t from, std::size_t to) const {
    std::set<std::size_t> result;
    for (const std::size_t last : predecessors_[to])
      if (last != from && reaches(from, last)) result.insert(last);
    return result;
  }

 private:
  std::vector<std::set<std::size_t>> successors_, predecessors_;
};

TEST(Ranks, FindPathsWhileEdgesAreAddedAndNodesMerged) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Random random(seed);
    const std::size_t count = 2 + random.below(30);
    Edges edges(count);
    Ranks ranks;
    for (std::size_t i = 0; i < count; ++i) ranks.add_last();
    std::vector<std::size_t> alive(count);
    for (std::size_t i = 0; i < count; ++i) alive[i] = i;
    for (int turn = 0; turn < 60 && alive.size() > 1; ++turn) {
      const std::size_t a = alive[random.below(alive.size())], at = random.below(alive.size()), b = alive[at];
      if (a == b) continue;
      const auto found = ranks.path_around(edges, a, b);
      const std::set<std::size_t> lasts = edges.lasts(a, b);
      ASSERT_EQ(found.has_value(), !lasts.empty()) << "seed " << seed << ", from " << a << " to " << b;
      if (found) {
        EXPECT_TRUE(lasts.contains(*found)) << "seed " << seed;
      }
      if (random.below(3) > 0) {
        if (edges.reaches(b, a)) continue;
        edges.add(a, b);
        ranks.settle(edges, a);
      } else if (lasts.empty() && edges.lasts(b, a).empty()) {
        edges.merge(a, b);
        ranks.merge(a, b);
        ranks.settle(edges, a);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }
}

TEST(Ranks, ANodeThatIsAddedAndRemovedLeavesNoTrace) {
  Edges edges(4);
  Ranks ranks;
  for (int i = 0; i < 3; ++i) ranks.add_last();
  edges.add(0, 1), edges.add(1, 2);
  for (std::size_t i = 0; i < 3; ++i) ranks.settle(edges, i);
  ranks.add_beside(0);
  ranks.settle(edges, 3);
  EXPECT_FALSE(ranks.path_around(edges, 3, 2));
  ranks.remove_last();
  EXPECT_EQ(ranks.path_around(edges, 0, 2), 1u);
}

}  // namespace
}  // namespace sinter::ir::ranks_test
