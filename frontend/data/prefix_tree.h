// Texts that are found at the beginning of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::data {

/// A set of texts with a number each. A search takes one step per byte, whatever the size of the set.
class PrefixTree {
 public:
  static constexpr std::int32_t none = -1;

  PrefixTree() : nodes_(1) {}
  /// Of texts that differ and are not empty, with numbers from 0.
  explicit PrefixTree(std::vector<std::pair<std::string_view, std::int32_t>> texts);

  /// Calls `found` with the length and the number of each text that `text` begins with, the shortest first.
  template <class F>
  void for_each_prefix(std::string_view text, const F& found) const {
    const Node* node = nodes_.data();
    for (std::size_t length = 1; length <= text.size(); ++length) {
      node = child(*node, static_cast<unsigned char>(text[length - 1]));
      if (!node) return;
      if (node->number != none) found(length, node->number);
    }
  }
  /// The length of the longest text that `text` begins with; 0 if there is none.
  std::size_t longest_prefix(std::string_view text) const;
  /// The number of a text; none if it is not in the set.
  std::int32_t number(std::string_view text) const;

 private:
  struct Node {
    std::size_t first_child = 0;  ///< the children lie together, in the order of their bytes
    std::int32_t number = none;
    std::uint16_t children = 0;
    unsigned char byte = 0;
  };
  const Node* child(const Node& node, unsigned char byte) const;

  std::vector<Node> nodes_;  ///< the root first
};

}  // namespace sinter::data
