// What is fuzzed: a function for each kind of input from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::fuzz {

using Bytes = std::span<const std::uint8_t>;

/// Mutates `size` bytes at `data`, in a buffer of `most`, as it likes, and returns how many they are then: libFuzzer's own, or a test's.
using ByteMutator = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t most);

struct Target {
  std::string_view name;
  /// Takes any bytes. A UserError is an answer; all else that it throws is a finding.
  void (*run)(Bytes bytes);
  std::size_t most_bytes;  ///< longer inputs are slower and no better
  /// Mutates knowing the format; null: as bytes.
  std::size_t (*mutate)(std::uint8_t* data, std::size_t size, std::size_t most, std::uint32_t seed, ByteMutator bytes) = nullptr;
  /// What the bytes stand for, for people.
  std::string (*describe)(Bytes bytes) = nullptr;
  /// What all runs have done, for the last line of the fuzzer's output.
  std::string (*summary)() = nullptr;
  /// Inputs to begin with: small files of each form, by name.
  std::vector<std::pair<std::string, std::string>> (*seeds)() = nullptr;
};

std::span<const Target> targets();
/// Throws UserError for a name that is not there.
const Target& find_target(std::string_view name);

/// Runs the target; UserErrors are answers.
void run(const Target& target, Bytes bytes);

/// Something that must hold does not.
class Finding : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes as a file that any reader can open, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  int descriptor_;
  std::filesystem::path path_;
};

}  // namespace sinter::fuzz
