// The workload `calls` of sinter_bench: the ways to run a small network, each with its cost of a call (docs/which-call-is-fast.md).
#pragma once

#include "bench/workload.h"

namespace sinter::bench {

std::vector<Job> calls(const RunSettings& settings);

}  // namespace sinter::bench
