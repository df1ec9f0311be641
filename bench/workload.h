// What sinter_bench times: one entry a workload, under the name it has for the peers too.
#pragma once

#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <sinter/sinter.h>

namespace sinter::bench {

struct RunSettings {
  Mode mode = Mode::graph;
  int threads = 2;
  std::string data_folder;  ///< what the peers' export writes; "" for generated data of the same kind
  bool per_node = false;    ///< print eager beside graph, node by node
  bool explain = false;     ///< print how the step was compiled, and how many threads it can keep busy
  bool verify = false;      ///< judge its results against double arithmetic
};

/// Prints what the settings ask for of a step that is called with these arguments. Throws UserError if its results are to be judged and are wrong.
template <class Step, class... A>
void show(const RunSettings& settings, Step& step, const A&... args) {
  if (settings.verify) {
    const VerifyReport report = step.verify(args...);
    std::cerr << report << std::endl;
    if (!report.ok()) throw UserError("verify", "results are wrong; the first value to look at is named above");
  }
  if (!settings.per_node && !settings.explain) return;
  const TimeReport times = step.time(args...);
  if (settings.per_node) std::cerr << times << times.details();
  if (!settings.explain) return;
  std::cout << step.explain() << "parallelism:";
  for (const TimeReport::Parallelism& at : times.parallelism) {
    const bool first = &at == times.parallelism.data();
    std::cout << (first ? " " : ", ") << std::fixed << std::setprecision(1) << at.busy << " at " << at.threads << (first ? " threads" : "");
  }
  std::cout << std::endl;
}

/// One thing to time.
struct Job {
  std::string metric = "step_s", unit = "s";
  double scale = 1;  ///< seconds a call times this are reported
  std::function<void()> call;
  std::function<double()> once;  ///< instead: a figure that is taken once a process
  double products = 0;           ///< floating-point operations of the matrix products of a call: 0 where they are not what takes the time
  int warm_up = 3;               ///< calls before timing; what they take beyond is reported as compile_s
};

struct Workload {
  std::string name;
  std::function<std::vector<Job>(const RunSettings&)> make;
};

const std::vector<Workload>& workloads();

}  // namespace sinter::bench
