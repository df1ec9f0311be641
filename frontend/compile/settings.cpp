#include "frontend/compile/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "ir/error.h"

namespace sinter {

namespace {
/// A variable of Sinter's must be one that doctor knows.
std::string environment(const char* name) {
  if (std::string_view(name).starts_with("SINTER_") && meaning_of_variable(name).empty())
    throw InternalError("settings", str(name, " is not in the list of variables"));
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Whether a switch is "1"; unset, empty and "0" are off.
bool is_on(const char* name) {
  const std::string value = environment(name);
  if (value != "" && value != "0" && value != "1") throw UserError(name, str("must be 0 or 1, got '", value, "'"));
  return value == "1";
}

/// "512M" as bytes.
std::uint64_t bytes_of(const char* name, const std::string& text) {
  constexpr std::uint64_t mega = std::uint64_t{1} << 20, most = 1 << 20;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const std::uint64_t megas = unit == "M" ? 1 : unit == "G" ? 1024 : 0;
  if (error != std::errc{} || megas == 0 || number == 0 || number > most / megas)
    throw UserError(name, str("must be a size from 1M to 1024G, such as 512M or 2G, got '", text, "'"));
  return number * megas * mega;
}

/// "a,b" as a and b.
std::vector<std::string> parts(std::string_view list) {
  std::vector<std::string> result;
  for (std::size_t end = 0; !list.empty(); list.remove_prefix(std::min(end + 1, list.size()))) {
    end = std::min(list.find(','), list.size());
    result.emplace_back(list.substr(0, end));
  }
  return result;
}

CacheSettings cache_settings() {
  const std::string state = environment("SINTER_CACHE"), size = environment("SINTER_CACHE_SIZE");
  if (state != "" && state != "on" && state != "off") throw UserError("SINTER_CACHE", str("must be 'on' or 'off', got '", state, "'"));
  CacheSettings result{"", bytes_of("SINTER_CACHE_SIZE", size.empty() ? "512M" : size)};
  if (state == "off") return result;
  // The XDG base directory specification: a path that is not absolute is ignored.
  if (const std::string cache = environment("XDG_CACHE_HOME"); cache.starts_with('/')) result.folder = cache + "/sinter";
  else if (const std::string home = environment("HOME"); home.starts_with('/')) result.folder = home + "/.cache/sinter";
  return result;
}
}  // namespace

Settings settings() {
  return {.dump_folder = environment("SINTER_DUMP"),
          .stop_after = environment("SINTER_STOP_AFTER"),
          .without = parts(environment("SINTER_WITHOUT")),
          .target = environment("SINTER_TARGET"),
          .fault = environment("SINTER_FAULT"),
          .profile = environment("SINTER_PROFILE"),
          .perf_map = is_on("SINTER_PERF_MAP"),
          .checked = is_on("SINTER_CHECKED"),
          .verify = is_on("SINTER_VERIFY"),
          .cache = cache_settings()};
}

Mode effective_mode(Mode asked) {
  const char* value = std::getenv("SINTER_MODE");
  if (!value || !*value) return asked;
  if (value == std::string_view("eager")) return Mode::eager;
  if (value == std::string_view("graph")) return Mode::graph;
  throw UserError("SINTER_MODE", str("must be 'eager' or 'graph', got '", value, "'; unset it to use what the program says"));
}

}  // namespace sinter
