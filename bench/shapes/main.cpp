// sinter_sweep: answers requests for times of one layer, a JSON line each, until standard input ends.
//   {"kind": "dense", "form": "call", "batch": 32, "inputs": 64, "units": 10, "activation": "relu"}
// is answered by {"min": seconds, "median": ..., "n": ..., "gflops": ..., "bound": "61 % of the peak"} or by {"error": "..."}. bench/sweep sends
// them.
#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "bench/pin.h"
#include "bench/shapes/measure.h"

namespace {

using namespace sinter;
using namespace sinter::bench;

/// Answers lines; what was made for one stays for the next if that is the same.
class Answers {
 public:
  explicit Answers(int threads) : threads_(threads) {}

  nlohmann::ordered_json to(const std::string& line) {
    try {
      if (!measured_ || line != line_) {
        measured_.reset();
        line_ = line;
        measured_.emplace(Request(line), threads_);
      }
      return measured_->is_check() ? measured_->figures() : measured_->times();
    } catch (const std::exception& error) {
      measured_.reset();
      return {{"error", error.what()}};
    }
  }

 private:
  int threads_;
  std::string line_;
  std::optional<Measured> measured_;
};

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  CLI::App app{"Times layers of any shape: answers requests of standard input, a JSON line each"};
  app.add_option("--threads", threads)->capture_default_str()->check(CLI::Range(1, 256));
  CLI11_PARSE(app, argc, argv);
  pin(threads);
  Answers answers(threads);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answers.to(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}
