#include "frontend/compile/settings.h"

#include <cstdlib>
#include <string_view>

#include "ir/error.h"

namespace sinter {

namespace {
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Whether a switch is "1"; unset, empty and "0" are off.
bool is_on(const char* name) {
  const std::string value = environment(name);
  if (value != "" && value != "0" && value != "1") throw UserError(name, str("must be 0 or 1, got '", value, "'"));
  return value == "1";
}
}  // namespace

Settings settings() {
  return {environment("SINTER_DUMP"),    environment("SINTER_STOP_AFTER"), environment("SINTER_TARGET"), environment("SINTER_FAULT"),
          environment("SINTER_PROFILE"), is_on("SINTER_PERF_MAP"),         is_on("SINTER_VERIFY")};
}

Mode effective_mode(Mode asked) {
  const char* value = std::getenv("SINTER_MODE");
  if (!value || !*value) return asked;
  if (value == std::string_view("eager")) return Mode::eager;
  if (value == std::string_view("graph")) return Mode::graph;
  throw UserError("SINTER_MODE", str("must be 'eager' or 'graph', got '", value, "'; unset it to use what the program says"));
}

}  // namespace sinter
