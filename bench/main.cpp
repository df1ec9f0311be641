// sinter_bench WORKLOAD...: times workloads and prints one JSON line a metric, in the form that the peers' scripts print.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/networks/networks.h"
#include "bench/pin.h"
#include "bench/workload.h"
#include "frontend/machine/peak.h"

namespace {

using namespace sinter;
using namespace sinter::bench;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void measure(const Workload& workload, const Job& job, const RunSettings& settings, int repeats, double seconds) {
  nlohmann::ordered_json line{{"peer", "sinter"},          {"version", SINTER_VERSION},   {"mode", settings.mode == Mode::eager ? "eager" : "graph"},
                              {"workload", workload.name}, {"threads", settings.threads}, {"metric", job.metric},
                              {"unit", job.unit}};
  if (job.once) {
    const double value = job.once();
    line.update({{"min", value}, {"median", value}, {"p99", value}, {"n", 1}, {"calls_per_repeat", 1}, {"compile_s", 0}});
    std::cout << line.dump() << std::endl;
    return;
  }
  constexpr double most_seconds = 20;
  const auto begin = Clock::now();
  double last = 0;
  for (int i = 0; i < job.warm_up; ++i) {
    const auto start = Clock::now();
    job.call();
    last = since(start);
  }
  const double warm = since(begin);
  const auto inner = static_cast<std::int64_t>(std::clamp(seconds / std::max(last, 1e-9), 1.0, 2e6));
  repeats = static_cast<int>(std::clamp(most_seconds / (static_cast<double>(inner) * last), 2.0, static_cast<double>(repeats)));
  std::vector<double> times;
  for (int r = 0; r < repeats; ++r) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < inner; ++i) job.call();
    times.push_back(since(start) / static_cast<double>(inner));
  }
  std::sort(times.begin(), times.end());
  const double median = times.size() % 2 ? times[times.size() / 2] : (times[times.size() / 2 - 1] + times[times.size() / 2]) / 2;
  line.update({{"min", times.front() * job.scale},
               {"median", median * job.scale},
               {"p99", times[(times.size() * 99 + 99) / 100 - 1] * job.scale},
               {"n", times.size()},
               {"calls_per_repeat", inner},
               {"compile_s", std::round(std::max(0.0, warm - job.warm_up * median) * 1e4) / 1e4}});
  if (job.products) {
    static const double peak = machine::peak_gflops(settings.threads);
    const double gflops = job.products() / times.front() * 1e-9;
    line["gflops"] = std::round(gflops * 10) / 10;
    if (peak > 0) line["of_peak"] = std::round(gflops / peak * 1000) / 1000;
  }
  std::cout << line.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::string mode = "graph";
  RunSettings settings;
  int repeats = 5;
  double seconds = 0.4;
  bool list = false, networks = false, peak = false;
  CLI::App app{"Times Sinter on the workloads that its peers are timed on"};
  app.add_option("workload", names, "names, or 'all'");
  app.add_flag("--list", list, "print the names and exit");
  app.add_flag("--networks", networks, "print the names of the networks that Sinter was not tuned for, which can be timed too, and exit");
  app.add_flag("--peak", peak, "print the multiply-adds that the processor can do at most, in GFLOP/s, and exit");
  app.add_option("--mode", mode, "eager or graph")->capture_default_str()->check(CLI::IsMember({"eager", "graph"}));
  app.add_option("--threads", settings.threads)->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--repeats", repeats)->capture_default_str()->check(CLI::Range(2, 1000));
  app.add_option("--seconds", seconds, "aim for this long a repeat")->capture_default_str()->check(CLI::Range(0.001, 60.0));
  app.add_option("--data", settings.data_folder, "folder with x.npy, y.npy, w1.npy, ...: starts from them and prints the losses of steps 1 and 10")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--per-node", settings.per_node, "also print eager beside graph, node by node");
  app.add_flag("--explain", settings.explain, "also print how the step was compiled, and how many of 16 and 64 threads its chunks keep busy");
  app.add_flag("--verify", settings.verify, "first judge every value of the step against double arithmetic, and fail if one is wrong");
  app.add_option("--samples", settings.samples, "verify, explain and print node by node only the first so many samples of a batch")
      ->check(CLI::Range(1, 1 << 30));
  CLI11_PARSE(app, argc, argv);
  std::string known;
  for (const Workload& workload : workloads()) known += (known.empty() ? "" : " ") + workload.name;
  if (list || networks) {
    for (const Workload& workload : list ? workloads() : network_workloads()) std::cout << workload.name << "\n";
    return 0;
  }
  if (peak) {
    pin(settings.threads);
    std::cout << machine::peak_gflops(settings.threads) << " GFLOP/s on " << settings.threads << " threads\n";
    return 0;
  }
  if (names.empty()) {
    std::cerr << "name a workload, or 'all'; there are " << known << "\n";
    return 2;
  }
  settings.mode = mode == "eager" ? Mode::eager : Mode::graph;
  pin(settings.threads);
  try {
    const auto run = [&](const Workload& workload) {
      for (const Job& job : workload.make(settings)) measure(workload, job, settings, repeats, seconds);
    };
    for (const std::string& name : names) {
      bool found = false;
      for (const Workload& workload : workloads()) {
        if (name != workload.name && (name != "all" || workload.name == "cold_start")) continue;  // that one needs a process of its own
        found = true;
        run(workload);
      }
      for (const Workload& network : network_workloads()) {
        if (name != network.name) continue;
        found = true;
        run(network);
      }
      if (!found) {
        std::cerr << "no workload '" << name << "'; there are " << known << ", and those that --networks prints\n";
        return 2;
      }
    }
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
