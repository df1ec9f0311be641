#include "bench/show.h"

#include <iomanip>
#include <iostream>

namespace sinter::bench {

void show(const RunSettings& settings, StepCore& step, std::span<const Tensor* const> in) {
  constexpr int repeats = 20;
  if (settings.verify) {
    const VerifyReport report = step.verify(in);
    std::cerr << report << std::endl;
    if (!report.ok()) throw UserError("verify", "results are wrong; the first value to look at is named above");
  }
  if (!settings.per_node && !settings.explain) return;
  const TimeReport times = step.time(in, repeats);
  if (settings.per_node) std::cerr << times << times.details();
  if (!settings.explain) return;
  std::cout << step.explain() << "parallelism:";
  for (const TimeReport::Parallelism& at : times.parallelism) {
    const bool first = &at == times.parallelism.data();
    std::cout << (first ? " " : ", ") << std::fixed << std::setprecision(1) << at.busy << " at " << at.threads << (first ? " threads" : "");
  }
  std::cout << std::endl;
}

}  // namespace sinter::bench
