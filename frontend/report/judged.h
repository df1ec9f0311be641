// The sections about data that the model is judged by.
#pragma once

#include <string>

#include "frontend/report/html.h"

namespace sinter::report {

/// A section for each output of the model. Throws UserError for data that does not fit.
std::string judged_sections(Trainer& trainer, const Options& options);
/// The style of what is in them.
extern const char* const judged_style;

}  // namespace sinter::report
