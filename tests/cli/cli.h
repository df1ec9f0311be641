// The command line from outside: each test starts the program, and judges what it prints and how it ends, both.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ir/printable.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_program.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test {

using Arguments = std::vector<std::string>;

/// Runs `sinter` with these arguments.
inline Finished sinter_with(const Arguments& arguments, const std::function<void()>& prepare = {}) {
  return run(SINTER_CLI_PROGRAM, arguments, prepare);
}

/// How the program ends: what the data, files and options of a command do not allow; a command line that is none; a fault of Sinter itself.
constexpr int failure = 1, bad_command_line = 2, fault = 3;

inline std::string fixture(const std::string& name) { return std::string(SINTER_TEST_FIXTURES) + "/" + name; }

/// `first` with `more` behind it.
inline Arguments operator+(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

class Cli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder / name; }
  /// A training of the table of houses, as short as can be, to the model file("model.sinter").
  Arguments training() const {
    return {"train",    "--data", houses,     "--target", "price",   "--ignore", "id",
            "--hidden", "4",      "--epochs", "1",        "--quiet", "-o",       file("model.sinter")};
  }
  /// The model file of that training, which is run first.
  std::string model() const {
    EXPECT_THAT(sinter_with(training()), Prints(testing::HasSubstr("saved")));
    return file("model.sinter");
  }

  /// A folder of images: four of each of two classes, grey and rgb.
  std::string photos() const {
    for (const std::string name : {"grey", "rgb"}) {
      std::filesystem::create_directories(file("photos/" + name));
      for (int i = 0; i < 4; ++i) write_bytes(file("photos/" + name + "/" + std::to_string(i) + ".png"), read_bytes(fixture(name + ".png")));
    }
    return file("photos");
  }
  /// The four files of a set in MNIST's format: so many images of 28 x 28 pixels to train on, and half as many to test.
  std::string digits(int count) const {
    const auto idx = [](std::string magic, std::vector<int> dims, const std::string& bytes) {
      for (const int dim : dims) magic += std::string("\0\0", 2) + static_cast<char>(dim / 256) + static_cast<char>(dim % 256);
      return magic + bytes;
    };
    std::filesystem::create_directories(file("digits"));
    for (const auto& [part, n] : {std::pair{"train", count}, {"t10k", count / 2}}) {
      std::string pixels, labels;
      for (int i = 0; i < n; ++i) {
        pixels += std::string(28 * 28, static_cast<char>(i % 2 ? 200 : 50));
        labels += static_cast<char>(i % 2);
      }
      write_bytes(file("digits/" + std::string(part) + "-images-idx3-ubyte"), idx(std::string("\0\0\x8\x3", 4), {n, 28, 28}, pixels));
      write_bytes(file("digits/" + std::string(part) + "-labels-idx1-ubyte"), idx(std::string("\0\0\x8\x1", 4), {n}, labels));
    }
    return file("digits");
  }

  const std::string houses = fixture("houses.csv");
  const TemporaryFolder folder;
};

}  // namespace sinter::test
