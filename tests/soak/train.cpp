// The run of tests/soak/run.h as a process that others kill: sinter_soak_train FOLDER eager|graph [K]. It writes checkpoints at every second step to
// FOLDER, kills itself at its K-th file operation, and prints a number of the bytes that it ends with.
#include <charconv>
#include <cstring>
#include <iostream>
#include <optional>

#include "runtime/file/checksum.h"
#include "tests/soak/run.h"
#include "tests/support/faulty_files.h"

namespace {

std::uint64_t number_of(const sinter::test::RunResult& result) {
  std::uint64_t hash = 0;
  const auto add = [&](const auto& list) { hash = sinter::runtime::checksum(std::as_bytes(std::span(list)), hash); };
  for (const auto& [name, values] : result.states) add(name), add(values);
  for (const auto& epoch : result.epochs)
    for (const auto& [name, value] : epoch) add(name), add(std::vector<double>{value});
  return hash;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace sinter;
  const std::string mode = count > 2 ? arguments[2] : "";
  std::size_t kill_at = 0;
  const char* end = count > 3 ? arguments[3] + std::strlen(arguments[3]) : nullptr;
  if (count < 3 || count > 4 || (mode != "eager" && mode != "graph") || (end && std::from_chars(arguments[3], end, kill_at).ptr != end)) {
    std::cerr << "usage: sinter_soak_train FOLDER eager|graph [K]\n";
    return 2;
  }
  try {
    std::optional<test::KillAt> killer;
    if (kill_at) killer.emplace(kill_at);
    const test::RunResult result =
        test::train({.checkpoint = {.folder = arguments[1], .every_steps = 2, .keep = 2, .on_write_error = OnWriteError::fail},
                     .mode = mode == "eager" ? Mode::eager : Mode::graph,
                     .epochs = 3});
    std::cout << std::hex << number_of(result) << std::endl;
  } catch (const UserError& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
