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
}  // namespace

Settings settings() {
  const std::string verify = environment("SINTER_VERIFY");
  if (verify != "" && verify != "0" && verify != "1") throw UserError("SINTER_VERIFY", str("must be 0 or 1, got '", verify, "'"));
  return {environment("SINTER_DUMP"), environment("SINTER_STOP_AFTER"), environment("SINTER_TARGET"), environment("SINTER_FAULT"), verify == "1"};
}

Mode effective_mode(Mode asked) {
  const char* value = std::getenv("SINTER_MODE");
  if (!value || !*value) return asked;
  if (value == std::string_view("eager")) return Mode::eager;
  if (value == std::string_view("graph")) return Mode::graph;
  throw UserError("SINTER_MODE", str("must be 'eager' or 'graph', got '", value, "'; unset it to use what the program says"));
}

}  // namespace sinter
