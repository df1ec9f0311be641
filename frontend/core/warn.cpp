#include "frontend/core/warn.h"

#include <iostream>

namespace sinter {

void warn(const Log& log, const std::string& message) {
  if (log) log(message);
  else std::cerr << message << std::endl;
}

}  // namespace sinter
