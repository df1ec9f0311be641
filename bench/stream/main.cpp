// sinter_stream: records a second through `sinter predict --stream` on one core, the latency of a Scorer, and what ONNX Runtime does called per
// record from Python, in one sitting, as JSON lines.
//   sinter_stream [--cli build/release/cli/sinter] [--python PYTHON] [--records N] [--calls N] [--damaged N]
// Exit status 1 if something is below its bound, or a line is not answered. Nothing else may run meanwhile.
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include <sinter/sinter.h>

#include "bench/stream/allocations.h"
#include "bench/stream/pipe.h"
#include "bench/stream/records.h"

namespace sinter::bench {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

struct Settings {
  std::string cli = "build/release/cli/sinter", python, peer = "bench/stream/ort_peer.py";
  std::size_t records = 2'000'000, peer_records = 20'000, calls = 1'000'000, damaged = 100'000;
};

/// The processors that this process may use.
std::vector<int> cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> result;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) result.push_back(cpu);
  return result;
}

void pin_to(const std::vector<int>& wanted) {
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (const int cpu : wanted) CPU_SET(cpu, &chosen);
  sched_setaffinity(0, sizeof chosen, &chosen);
}

class Measurements {
 public:
  explicit Measurements(Settings settings) : settings_(std::move(settings)), cores_(cores()) {
    folder_ = std::filesystem::temp_directory_path() / str("sinter_stream_", ::getpid());
    std::filesystem::create_directories(folder_);
    write_models(model("table"), model("arrays"));
    if (cores_.size() > 1) pin_to({cores_.begin(), cores_.end() - 1});  // the last one is for what is measured
  }
  ~Measurements() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Measurements(const Measurements&) = delete;
  Measurements& operator=(const Measurements&) = delete;

  /// False if something is below its bound.
  bool run() {
    throughput("raw", settings_.records * 4, 1e6);
    throughput("json", settings_.records / 2, 150e3);
    throughput("csv", settings_.records / 2, 0);
    damaged();
    latency();
    return holds_;
  }

 private:
  std::string model(const char* name) const { return folder_ / (std::string(name) + ".sinter"); }

  void print(ordered_json line, bool holds) {
    line["holds"] = holds;
    std::cout << line.dump() << std::endl;
    holds_ = holds_ && holds;
  }

  /// The rate of a program that answers so many records, and its line; 0 if it does not answer all.
  double rate(const char* who, const std::string& format, const std::vector<std::string>& command, std::size_t count, ordered_json& line) const {
    const bool is_raw = format == "raw";
    constexpr std::size_t answer_bytes = 2 * sizeof(float);
    const PipeRun run = run_through_pipe(command, cores_.back(), records(format, 1), is_raw ? answer_bytes : 0, records(format, count));
    const std::size_t answered = is_raw ? run.bytes / answer_bytes : run.newlines;
    const double rate = run.status == 0 && answered == count ? static_cast<double>(count) / run.seconds : 0;
    line = {{"measure", "stream"},
            {"format", format},
            {"who", who},
            {"records", count},
            {"answered", answered},
            {"records_per_s", std::round(rate)},
            {"cpu_us_per_record", run.cpu_seconds / static_cast<double>(count) * 1e6}};
    return rate;
  }

  void throughput(const std::string& format, std::size_t count, double least) {
    std::vector<std::string> command{settings_.cli,      "predict", model(format == "raw" ? "arrays" : "table"), "--stream", format,
                                     "--counters-every", "0"};
    if (format == "csv") command.insert(command.end(), {"--columns", record_names()});
    ordered_json line;
    const double ours = rate("sinter", format, command, count, line);
    line["least"] = least;
    print(line, ours >= least && ours > 0);
    if (settings_.python.empty()) return;
    constexpr double times = 20;
    const double theirs =
        rate("ONNX Runtime, per record in Python", format, {settings_.python, settings_.peer, format}, settings_.peer_records, line);
    line["sinter_is_faster_by"] = theirs > 0 ? ours / theirs : 0;
    line["least"] = times;
    print(line, theirs > 0 && ours >= times * theirs);
  }

  /// Each of so many lines that are wrong in some way is answered.
  void damaged() {
    const PipeRun run = run_through_pipe({settings_.cli, "predict", model("table"), "--stream", "json", "--counters-every", "0"}, cores_.back(),
                                         records("json", 1), 0, damaged_records(settings_.damaged));
    print({{"measure", "damaged lines"}, {"lines", settings_.damaged}, {"answered", run.newlines}, {"status", run.status}},
          run.status == 0 && run.newlines == settings_.damaged);
  }

  /// The best of a few rounds: what else the processor does meanwhile is not the scorer's.
  void latency() {
    pin_to({cores_.back()});
    const serve::Scorer scorer(model("arrays"));
    const std::string bytes = records("raw", 4096);
    const auto* numbers = reinterpret_cast<const float*>(bytes.data());
    std::vector<float> out(2);
    const auto call = [&](std::size_t i) { scorer.score({numbers + i % 4096 * record_numbers, static_cast<std::size_t>(record_numbers)}, out); };
    for (std::size_t i = 0; i < 10'000; ++i) call(i);
    double best = 0;
    ordered_json line;
    for (int round = 0; round < 5; ++round) {
      serve::LatencyHistogram latencies;
      const std::optional<std::int64_t> before = allocations();
      auto now = Clock::now();
      for (std::size_t i = 0; i < settings_.calls; ++i) {
        const auto start = now;
        call(i);
        now = Clock::now();
        latencies.add(std::chrono::duration<double>(now - start).count());
      }
      const std::optional<std::int64_t> after = allocations();
      const double p50 = latencies.quantile(0.5), ratio = latencies.quantile(0.999) / p50;
      if (round && ratio >= best) continue;
      best = ratio;
      line = {{"measure", "scorer"},
              {"calls", settings_.calls},
              {"p50_ns", p50 * 1e9},
              {"p99_ns", latencies.quantile(0.99) * 1e9},
              {"p99.9_ns", latencies.quantile(0.999) * 1e9},
              {"p99.9_over_p50", ratio},
              {"most", 2},
              {"allocations", after ? ordered_json(*after - *before) : ordered_json()}};
    }
    print(line, best <= 2 && (line["allocations"].is_null() || line["allocations"] == 0));
  }

  Settings settings_;
  std::vector<int> cores_;
  std::filesystem::path folder_;
  bool holds_ = true;
};

}  // namespace
}  // namespace sinter::bench

int main(int argc, char** argv) try {
  sinter::bench::Settings settings;
  CLI::App app("Records a second through sinter predict --stream on one core, and the latency of a Scorer");
  app.add_option("--cli", settings.cli, "The program sinter");
  app.add_option("--python", settings.python, "A Python with onnxruntime, to compare with");
  app.add_option("--peer", settings.peer, "The peer's script");
  app.add_option("--records", settings.records, "Records, a few times as many of raw ones")->check(CLI::Range(2, 100'000'000));
  app.add_option("--calls", settings.calls, "Calls of the scorer")->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--damaged", settings.damaged, "Lines that are wrong")->check(CLI::Range(1, 100'000'000));
  CLI11_PARSE(app, argc, argv);
  return sinter::bench::Measurements(settings).run() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
