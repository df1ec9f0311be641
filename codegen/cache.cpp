#include "codegen/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/error.h"

namespace sinter::codegen {

namespace {

namespace fs = std::filesystem;

std::string hash(const std::string& text) {
  const XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(h.high64), static_cast<unsigned long long>(h.low64));
  return digits;
}

bool is_private(const std::string& folder) {
  struct stat info{};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 0022) == 0;
}

}  // namespace

std::string cache_key(const std::string& bitcode, const std::string& target, const std::string& version) {
  return hash(str(bitcode, "\n", target, "\n", version));
}

std::string cache_folder() {
  if (const char* setting = std::getenv("SINTER_CACHE"); setting && *setting) {
    if (!std::strcmp(setting, "off")) return "";
    if (std::strcmp(setting, "on")) throw UserError("SINTER_CACHE", str("must be 'on' or 'off', got '", setting, "'"));
  }
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  fs::path folder = cache && *cache ? fs::path(cache) : home && *home ? fs::path(home) / ".cache" : fs::path();
  if (folder.empty() || !folder.is_absolute()) return "";
  std::error_code error;
  fs::create_directories(folder, error);
  folder /= "sinter";
  ::mkdir(folder.c_str(), 0700);
  return is_private(folder) ? folder.string() : "";
}

std::optional<std::string> read_cache(const std::string& folder, const std::string& key) {
  if (folder.empty()) return std::nullopt;
  const fs::path path = fs::path(folder) / (key + ".o");
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  constexpr std::size_t digits = 32;
  if (all.size() > digits && hash(all.substr(digits)) == all.substr(0, digits)) return all.substr(digits);
  std::error_code error;
  fs::remove(path, error);
  return std::nullopt;
}

void write_cache(const std::string& folder, const std::string& key, const std::string& object) {
  if (folder.empty()) return;
  std::string temporary = folder + "/tmp-XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return;
  const std::string all = hash(object) + object;
  const bool written = ::write(file, all.data(), all.size()) == static_cast<ssize_t>(all.size());
  const bool closed = ::close(file) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), (folder + "/" + key + ".o").c_str()) != 0) ::unlink(temporary.c_str());
}

}  // namespace sinter::codegen
