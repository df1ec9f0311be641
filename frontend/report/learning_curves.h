// Charts of a training run.
#pragma once

#include <span>
#include <string>

#include "frontend/train/trainer.h"

namespace sinter::report {

/// One SVG document with a chart for the loss, the accuracy, each metric (of training and of each set that was evaluated) and the learning rate, by
/// epoch. Positive values that span more than a factor of 100, most of them in the lowest tenth, get a logarithmic axis. Throws UserError for an
/// empty history.
std::string learning_curves(std::span<const EpochResult> history);

}  // namespace sinter::report
