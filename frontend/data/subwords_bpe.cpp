#include <queue>
#include <tuple>
#include <unordered_map>

#include "frontend/data/subwords.h"

namespace sinter::data {

namespace {

constexpr std::size_t nothing = std::string_view::npos;

struct Symbol {
  std::string_view text;  ///< empty once it is merged into the one before it
  std::size_t previous, next;
  bool is_final;  ///< user-defined: it is never merged
};

struct Merge {
  float score;
  std::size_t left, right;  ///< symbols
  std::size_t size;         ///< bytes of both when it was found

  /// Of less priority: of two equal scores the right one.
  bool operator<(const Merge& other) const { return std::tie(score, other.left) < std::tie(other.score, left); }
};

}  // namespace

// Neighbouring symbols, at first characters, are merged if both together are a piece, those of the highest score first.
Subwords::Segments Subwords::segment_bpe(std::string_view text) const {
  std::vector<Symbol> symbols;
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::string_view symbol = first_symbol(text);
    text.remove_prefix(symbol.size());
    const bool is_final = normalizer_.kept().number(symbol) != unknown;
    symbols.push_back({symbol, i ? i - 1 : nothing, text.empty() ? nothing : i + 1, is_final});
  }
  std::priority_queue<Merge> merges;
  std::unordered_map<std::int32_t, std::size_t> halves;  // of unused pieces: where the last merge that was found joins them
  const auto add = [&](std::size_t left, std::size_t right) {
    if (left == nothing || right == nothing || symbols[left].is_final || symbols[right].is_final) return;
    const std::string_view a = symbols[left].text, b = symbols[right].text;
    const std::string_view both(a.data(), a.size() + b.size());  // they lie together in the text
    const std::int32_t number = pieces_.number(both);
    if (number == unknown) return;
    merges.push({piece(number).score, left, right, both.size()});
    if (piece(number).type == Type::unused) halves[number] = a.size();
  };
  for (std::size_t right = 1; right < symbols.size(); ++right) add(right - 1, right);
  while (!merges.empty()) {
    const Merge merge = merges.top();
    merges.pop();
    Symbol &left = symbols[merge.left], &right = symbols[merge.right];
    if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != merge.size) continue;  // one of them was merged since
    left.text = {left.text.data(), merge.size};
    right.text = {};
    left.next = right.next;
    if (right.next != nothing) symbols[right.next].previous = merge.left;
    add(left.previous, merge.left);
    add(merge.left, left.next);
  }

  Segments segments;
  std::vector<std::string_view> parts;  // the next one last
  for (std::size_t i = 0; i != nothing && i < symbols.size(); i = symbols[i].next) {
    for (parts.push_back(symbols[i].text); !parts.empty();) {
      const std::string_view part = parts.back();
      parts.pop_back();
      const auto found = halves.find(pieces_.number(part));
      if (found == halves.end()) {
        segments.push_back({part, used(part)});
      } else {  // an unused piece is divided again
        parts.push_back(part.substr(found->second));
        parts.push_back(part.substr(0, found->second));
      }
    }
  }
  return segments;
}

}  // namespace sinter::data
