// What sinter_bench times: one entry a workload, under the name it has for the peers too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sinter/sinter.h>

namespace sinter::bench {

struct RunSettings {
  Mode mode = Mode::graph;
  int threads = 2;
  std::string data_folder;   ///< what the peers' export writes; "" for generated data of the same kind
  bool per_node = false;     ///< print eager beside graph, node by node
  bool explain = false;      ///< print how the step was compiled, and how many threads it can keep busy
  bool verify = false;       ///< judge its results against double arithmetic
  std::int64_t samples = 0;  ///< what is judged, explained and printed node by node is of the first so many samples of a batch; 0: of all
};

/// One thing to time.
struct Job {
  std::string metric = "step_s", unit = "s";
  double scale = 1;  ///< seconds a call times this are reported
  std::function<void()> call;
  std::function<double()> once;  ///< instead: a figure that is taken once a process
  std::function<double()>
      products;  ///< floating-point operations of the matrix products of a call, asked for after calls; none where they are not what takes the time
  int warm_up = 3;  ///< calls before timing; what they take beyond is reported as compile_s
};

struct Workload {
  std::string name;
  std::function<std::vector<Job>(const RunSettings&)> make;
};

const std::vector<Workload>& workloads();

}  // namespace sinter::bench
