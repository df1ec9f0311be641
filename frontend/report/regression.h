// What a model says of data whose numbers are known.
#pragma once

#include <string>

#include "frontend/report/judgement.h"

namespace sinter::report {

/// Figures of the errors, of each number where a sample has several, predictions against the truth, and the errors.
std::string regression(const Judgement& judgement);
/// Of samples that are to be reproduced: figures, and the mean squared errors of the samples.
std::string reconstruction(const Judgement& judgement);

/// The mean squared error of a sample, over its numbers.
double squared_error(const Judgement& judgement, std::size_t sample);

}  // namespace sinter::report
