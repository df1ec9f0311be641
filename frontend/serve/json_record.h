// Records of JSON.
#pragma once

#include <memory>

#include "frontend/serve/record_format.h"

namespace sinter::serve {

/// Reads objects and arrays with these columns; where `has_texts`, true and false are texts, and long whole numbers stay as they are written.
std::unique_ptr<RecordReader> json_reader(std::vector<std::string> columns, std::vector<bool> has_texts);

}  // namespace sinter::serve
