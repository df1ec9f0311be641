// The fuzzer: libFuzzer around the target that --target=NAME names (libFuzzer passes over arguments that begin with two dashes).
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/target.h"
#include "ir/error.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

const sinter::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view option = "--target=";
  for (int i = 1; i < *argc; ++i)
    if (const std::string_view argument = (*argv)[i]; argument.starts_with(option)) {
      try {
        target = &sinter::fuzz::find_target(argument.substr(option.size()));
      } catch (const sinter::UserError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::exit(2);
      }
    }
  if (!target) {
    std::fprintf(stderr, "say what to fuzz: --target=NAME, one of:");
    for (const auto& known : sinter::fuzz::targets()) std::fprintf(stderr, " %.*s", static_cast<int>(known.name.size()), known.name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  static std::string most = "-max_len=" + std::to_string(target->most_bytes);
  static std::vector<char*> arguments(*argv, *argv + *argc);
  arguments.push_back(most.data());
  *argv = arguments.data();
  *argc = static_cast<int>(arguments.size());
  if (target->summary) std::atexit([] { std::fprintf(stderr, "summary: %s\n", target->summary().c_str()); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > target->most_bytes) return -1;
  try {
    sinter::fuzz::run(*target, {data, size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FINDING: %s\n", error.what());
    std::abort();
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return target->mutate ? target->mutate(data, size, most, seed, &LLVMFuzzerMutate) : LLVMFuzzerMutate(data, size, most);
}
