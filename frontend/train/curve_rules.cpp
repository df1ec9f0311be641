#include "frontend/train/curve_rules.h"

#include <cmath>
#include <limits>

#include "ir/error.h"

namespace sinter::metric {

double weight_of(const Numbers& weight, std::size_t i) { return weight.empty() ? 1 : weight[i]; }

void check_scores(const char* where, const Numbers& truth, const Numbers& score, const Numbers& weight) {
  if (truth.size() != score.size() || (!weight.empty() && weight.size() != truth.size()))
    throw UserError(where, str("needs a score for each label and, if there are weights, a weight for each, got ", truth.size(), " labels, ",
                               score.size(), " scores and ", weight.size(), " weights"));
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] != 0 && truth[i] != 1) throw UserError(where, str("labels must be 0 or 1, got ", truth[i], " for sample ", i));
    if (std::isnan(score[i])) throw UserError(where, str("the score of sample ", i, " is NaN; leave such samples out"));
    if (const double w = weight_of(weight, i); !(w >= 0 && w < std::numeric_limits<double>::infinity()))
      throw UserError(where, str("weights must be finite and at least 0, got ", w, " for sample ", i));
  }
}

Ranking ranked(const char* where, const Numbers& truth, const Numbers& score, const Numbers& weight, Needs needs) {
  check_scores(where, truth, score, weight);
  std::vector<Scored> samples;
  samples.reserve(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) samples.push_back({score[i], truth[i] == 1, weight_of(weight, i)});
  Ranking ranking(std::move(samples));
  if (ranking.positives() == 0) throw UserError(where, str("none of ", truth.size(), " samples is positive; recall is undefined"));
  if (needs == Needs::both && ranking.negatives() == 0)
    throw UserError(where, str("none of ", truth.size(), " samples is negative; the false positive rate is undefined"));
  return ranking;
}

}  // namespace sinter::metric
