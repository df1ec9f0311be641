// Records of delimited text: one line of CSV.
#pragma once

#include <memory>
#include <vector>

#include "frontend/serve/record_format.h"

namespace sinter::serve {

/// Reads records of as many fields as `numbers` has entries: a field for which it is true is a number if it is written as JSON writes them.
std::unique_ptr<RecordReader> delimited_reader(std::vector<bool> numbers, char delimiter);

}  // namespace sinter::serve
