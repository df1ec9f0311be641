// Runs a target without a fuzzer:
//   sinter_fuzz_replay TARGET FILE-OR-FOLDER...
//   sinter_fuzz_replay TARGET --print FILE          says before what the bytes stand for: a program's graph
//   sinter_fuzz_replay TARGET --seeds FIRST COUNT   on random bytes; what finds something is written to ./finding-TARGET-SEED
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>

#include "fuzz/program/choices.h"
#include "fuzz/target.h"

namespace sinter::fuzz {
namespace {

/// What runs now and what to say if it ends the process: a handler of signals may only write what is ready.
std::array<char, 4096> last_words;

/// Names the input whose run raised a signal, as findings are named, and lets the signal end the process.
void say_last_words(int signal) {
  const std::string_view words = last_words.data();
  if (write(STDERR_FILENO, words.data(), words.size()) < 0) _exit(2);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void name_input_on_signals() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM}) std::signal(signal, say_last_words);
}

class Replay {
 public:
  Replay(const Target& target, bool print) : target_(target), print_(print) {}

  bool on(Bytes bytes, const std::string& name) {
    ++inputs_;
    const std::string words = name + ": the process was ended by a signal\n";
    last_words[words.copy(last_words.data(), last_words.size() - 1)] = '\0';
    try {
      run(target_, bytes);
      return true;
    } catch (const std::exception& error) {
      std::cerr << name << ": " << error.what() << std::endl;
      ++findings_;
      return false;
    }
  }

  void on_files(std::span<char* const> names) {
    std::vector<std::filesystem::path> files;
    for (const char* name : names) {
      if (!std::filesystem::is_directory(name)) files.emplace_back(name);
      else
        for (const auto& entry : std::filesystem::directory_iterator(name)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream in(file, std::ios::binary);
      if (!in) throw std::runtime_error("cannot open " + file.string());
      const std::string bytes((std::istreambuf_iterator<char>(in)), {});
      if (print_ && target_.describe)
        std::cout << target_.describe({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}) << std::flush;
      on({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, file.string());
    }
  }

  void on_seeds(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const std::vector<std::uint8_t> bytes = bytes_of_seed(seed);
      if (on(bytes, "seed " + std::to_string(seed))) continue;
      std::ofstream("finding-" + std::string(target_.name) + "-" + std::to_string(seed), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  }

  int finish() const {
    std::cout << target_.name << ": " << inputs_ << " inputs, " << findings_ << " findings" << (target_.summary ? "; " + target_.summary() : "")
              << "\n";
    return inputs_ == 0 || findings_ > 0;
  }

 private:
  const Target& target_;
  bool print_;
  std::size_t inputs_ = 0, findings_ = 0;
};

}  // namespace
}  // namespace sinter::fuzz

int main(int argc, char** argv) try {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (argc < 3) {
    std::cerr << "usage: sinter_fuzz_replay TARGET ([--print] FILE-OR-FOLDER... | --seeds FIRST COUNT)\n";
    return 2;
  }
  const bool print = std::string_view(argv[2]) == "--print";
  sinter::fuzz::name_input_on_signals();
  sinter::fuzz::Replay replay(sinter::fuzz::find_target(argv[1]), print);
  if (argc == 5 && std::string_view(argv[2]) == "--seeds") replay.on_seeds(std::stoull(argv[3]), std::stoull(argv[4]));
  else replay.on_files(arguments.subspan(print ? 3 : 2));
  return replay.finish();
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
