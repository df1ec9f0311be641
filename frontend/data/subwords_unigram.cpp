#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/data/subwords.h"
#include "ir/utf8.h"

namespace sinter::data {

// The best segmentation, by the sum of its scores (Viterbi): for each end of a part of the text, the best last piece. Sums are rounded as the library
// rounds them, so that the same segmentation wins among those that are as good.
Subwords::Segments Subwords::segment_unigram(std::string_view text) const {
  constexpr std::size_t nowhere = std::string_view::npos;
  struct End {
    std::size_t begin = nowhere;  ///< of the last piece
    float score = 0;
    std::int32_t piece = unknown;
  };
  std::vector<End> ends(text.size() + 1);
  std::size_t last_end = 0;
  const auto add = [&](std::size_t begin, std::size_t length, float score, std::int32_t number) {
    End& end = ends[begin + length];
    const float sum = score + ends[begin].score;
    if (end.begin == nowhere || sum > end.score) end = {begin, sum, number};
    last_end = std::max(last_end, begin + length);
  };
  for (std::size_t begin = 0, character; begin < text.size(); begin += character) {
    constexpr float farthest = 100'000;  // then what all further sums share is taken off, so that they stay exact
    if (const float sum = ends[begin].score; std::abs(sum) > farthest)
      for (std::size_t end = begin; end <= last_end; ++end)
        if (end == begin || ends[end].begin != nowhere) ends[end].score -= sum;
    const std::string_view rest = text.substr(begin);
    character = first_character(rest).bytes;
    bool is_known = false;
    pieces_.for_each_prefix(rest, [&](std::size_t length, std::int32_t number) {
      const auto [score, type] = std::pair(piece(number).score, piece(number).type);
      if (type == Type::unused) return;
      add(begin, length, type == Type::user_defined ? static_cast<float>(0.1 * static_cast<double>(length - 1)) : score, number);
      is_known |= length == character;
    });
    if (!is_known) add(begin, character, unknown_score_, unknown);
  }
  Segments segments;
  for (std::size_t end = text.size(); end > 0; end = ends[end].begin)
    segments.push_back({text.substr(ends[end].begin, end - ends[end].begin), ends[end].piece});
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace sinter::data
