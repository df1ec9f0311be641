// What the commands print and write, so that nothing is lost without a word.
#pragma once

#include <array>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

namespace sinter::cli {

/// While it lives, std::cout writes here: to standard output, and the first error that the system has is kept. What is printed after it is dropped,
/// so that a command comes to its end: a model is saved although nobody hears of it.
class StandardOutput : public std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  /// Writes what is left; the errno of the first error, or 0.
  int finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  std::streambuf* before_;
  std::array<char, 1 << 14> buffer_;
  int error_ = 0;
};

/// A table as standard output gets it: unchanged, but printable if that is a terminal.
std::string shown(const std::string& table);

/// A program that is started with a standard stream closed would open its files in its place, and print into them: from here on what is written to
/// such a stream is an error.
void occupy_standard_streams();

/// An option that names a file, and the file: {"--log", "run.csv"}. An empty name is none.
using NamedFile = std::pair<std::string, std::string>;

/// Before the work begins: throws UserError if one of the outputs cannot be written, or is one of the inputs or another output, by whatever name (a
/// folder of inputs stands for its files). Devices and FIFOs may be named as often as wanted.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<std::string>& inputs);

}  // namespace sinter::cli
