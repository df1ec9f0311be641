// A graph as an attribute of an op: what the op does to its operands at each step.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sinter::ir {

class Graph;

/// Immutable; copies share it. Its inputs are the op's operands, its outputs what the op makes of them. Two are equal if they compute the same in the
/// same order: names and origins do not count.
class Body {
 public:
  /// The most bodies in each other.
  static constexpr std::size_t max_depth = 4;

  Body() = default;
  /// A copy of the needed nodes, without gaps, in topological order. Throws UserError if it has states or its own bodies are nested too deep.
  explicit Body(const Graph& graph);

  bool is_set() const { return content_ != nullptr; }
  /// Throws InternalError if it was never set.
  const Graph& graph() const;
  /// All that it computes, in one line: "(f32[N,3], f32[N,3]) { %2 = add(%0, %1) } -> %2", with kernel groups. "none" if it was never set.
  const std::string& text() const;
  /// 1, or more with bodies inside.
  std::size_t depth() const;

  friend bool operator==(const Body& a, const Body& b) { return a.content_ == b.content_ || a.text() == b.text(); }

 private:
  struct Content;
  std::shared_ptr<const Content> content_;
};

}  // namespace sinter::ir
