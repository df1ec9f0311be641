#include "frontend/data/prefix_tree.h"

#include <algorithm>

namespace sinter::data {

PrefixTree::PrefixTree(std::vector<std::pair<std::string_view, std::int32_t>> texts) {
  std::sort(texts.begin(), texts.end());
  struct Range {
    std::size_t begin, end, depth;  ///< texts that share the first `depth` bytes
  };
  std::vector<Range> ranges{{0, texts.size(), 0}};  // of the nodes
  nodes_.emplace_back();
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    auto [begin, end, depth] = ranges[at];
    if (begin < end && texts[begin].first.size() == depth) nodes_[at].number = texts[begin++].second;
    nodes_[at].first_child = nodes_.size();
    for (std::size_t next; begin < end; begin = next) {
      const char byte = texts[begin].first[depth];
      for (next = begin; next < end && texts[next].first[depth] == byte;) ++next;
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ranges.push_back({begin, next, depth + 1});
    }
    nodes_[at].children = static_cast<std::uint16_t>(nodes_.size() - nodes_[at].first_child);
  }
}

const PrefixTree::Node* PrefixTree::child(const Node& node, unsigned char byte) const {
  const Node* const first = nodes_.data() + node.first_child;
  const Node* const last = first + node.children;
  const Node* const found = std::lower_bound(first, last, byte, [](const Node& a, unsigned char b) { return a.byte < b; });
  return found != last && found->byte == byte ? found : nullptr;
}

std::size_t PrefixTree::longest_prefix(std::string_view text) const {
  std::size_t longest = 0;
  for_each_prefix(text, [&](std::size_t length, std::int32_t) { longest = length; });
  return longest;
}

std::int32_t PrefixTree::number(std::string_view text) const {
  std::int32_t result = none;
  for_each_prefix(text, [&](std::size_t length, std::int32_t number) {
    if (length == text.size()) result = number;
  });
  return result;
}

}  // namespace sinter::data
