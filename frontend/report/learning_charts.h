// The charts of a training run, one by one.
#pragma once

#include <span>
#include <vector>

#include "frontend/report/chart.h"
#include "frontend/train/trainer.h"

namespace sinter::report {

/// Those of learning_curves().
std::vector<Chart> learning_charts(std::span<const EpochResult> history);

}  // namespace sinter::report
