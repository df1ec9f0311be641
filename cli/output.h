// Output of the commands, so that no failure to write goes unnoticed.
#pragma once

#include <array>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

namespace sinter::cli {

/// While it lives, std::cout writes through it to standard output, and the first error of the system is kept. What is printed after that is dropped,
/// so that a command still finishes: a model is saved although standard output is closed.
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

/// A table for standard output: unchanged, or made printable if that is a terminal.
std::string shown(const std::string& table);

/// If a program is started with a standard stream closed, a file that it opens takes that stream's number and is printed into. From now on writing to
/// a closed standard stream is an error instead.
void occupy_standard_streams();

/// An option that names a file, and the file: {"--log", "run.csv"}. An empty name means no file.
using NamedFile = std::pair<std::string, std::string>;

/// Files and folders that a command writes; {} stands for none.
struct Outputs {
  std::vector<NamedFile> files, folders = {};
};

/// Before the work begins: throws UserError if one of the outputs cannot be written, or is one of the inputs or another output, or lies in a file,
/// under any name (a folder of inputs stands for itself and for its files). Devices and FIFOs may be named as often as wanted.
void check_outputs(const Outputs& outputs, const std::vector<std::string>& inputs);

}  // namespace sinter::cli
