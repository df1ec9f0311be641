// What curves, calibration and thresholds share.
#pragma once

#include <limits>

#include "frontend/train/curve.h"
#include "frontend/train/ranking.h"

namespace sinter::metric {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// 1 where there are no weights.
double weight_of(const Numbers& weight, std::size_t i);
/// Throws UserError for sizes that differ, labels other than 0 and 1, NaN scores and weights that are none.
void check_scores(const char* where, const Numbers& truth, const Numbers& score, const Numbers& weight);

enum class Needs : std::uint8_t { positives, both };
/// The same, and for samples without positives, or without negatives if both are needed.
Ranking ranked(const char* where, const Numbers& truth, const Numbers& score, const Numbers& weight, Needs needs);

}  // namespace sinter::metric
