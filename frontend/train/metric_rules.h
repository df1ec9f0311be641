// What the metrics share.
#pragma once

#include <string>
#include <vector>

#include "frontend/train/metric.h"

namespace sinter::metric {

/// The numbers of a tensor of any element type, row-major.
std::vector<double> as_doubles(const Tensor& numbers);
/// part / whole; NaN of nothing.
double ratio(double part, double whole);
/// Throws UserError unless there are as many predictions as targets.
void require_numbers(const MetricBatch& batch, const std::string& name);
/// Throws UserError unless a target is 0 or 1.
void require_yes_or_no(double target, const std::string& name);

}  // namespace sinter::metric
