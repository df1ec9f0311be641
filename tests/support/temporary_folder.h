#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace sinter::test {

/// A folder of a test's own, removed with all in it.
struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "sinter_test_XXXXXX";
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no folder for a test in " + pattern);
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return std::filesystem::path(path) / name; }
};

}  // namespace sinter::test
