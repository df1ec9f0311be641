#include "frontend/train/ranking.h"

#include <algorithm>
#include <tuple>

namespace sinter {

Ranking::Ranking(std::vector<Scored> samples) {
  std::erase_if(samples, [](const Scored& s) { return s.weight == 0; });
  // Among equal scores too the order is fixed, and so are the roundings of the sums.
  std::sort(samples.begin(), samples.end(),
            [](const Scored& a, const Scored& b) { return std::tuple(b.score, a.yes, a.weight) < std::tuple(a.score, b.yes, b.weight); });
  double yes = 0, no = 0;
  for (auto i = samples.begin(); i != samples.end();) {
    const double score = i->score;
    for (; i != samples.end() && i->score == score; ++i) (i->yes ? yes : no) += i->weight;
    thresholds.push_back(score);
    true_positives.push_back(yes);
    false_positives.push_back(no);
  }
}

double Ranking::ordered_pairs() const {
  double pairs = 0, yes = 0, no = 0;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    pairs += (false_positives[i] - no) * (true_positives[i] + yes) / 2;
    yes = true_positives[i];
    no = false_positives[i];
  }
  return pairs;
}

double Ranking::average_precision(double lost_positives, double lost_negatives) const {
  double sum = 0, before = 0;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double found = true_positives[i];
    if (found > before) sum += (found - before) * (found / (found + false_positives[i] + lost_negatives));
    before = found;
  }
  return sum / (positives() + lost_positives);
}

}  // namespace sinter
