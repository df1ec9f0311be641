// Sizes in messages.
#pragma once

#include <iomanip>
#include <string>

#include "ir/error.h"

namespace sinter {

/// "1.5 GB", "12.0 KB", "96 bytes".
inline std::string size_text(double bytes) {
  const auto in = [&](double unit, const char* name) {
    TextStream out;
    out << std::fixed << std::setprecision(1) << bytes / unit << name;
    return out.str();
  };
  if (bytes >= 1e9) return in(1e9, " GB");
  if (bytes >= 1e6) return in(1e6, " MB");
  return bytes >= 1e3 ? in(1e3, " KB") : str(bytes, " bytes");
}

}  // namespace sinter
