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

  const std::string houses = fixture("houses.csv");
  const TemporaryFolder folder;
};

}  // namespace sinter::test
