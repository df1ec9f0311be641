#include "bench/show.h"

#include <iomanip>
#include <iostream>

namespace sinter::bench {

namespace {

/// Of a tensor that has a row for each of `batch` samples the first so many; others as they are.
Tensor first_samples(const Tensor& tensor, std::int64_t batch, std::int64_t samples) {
  return tensor.rank() && tensor.shape()[0] == Dim(batch) && samples < batch ? slice(tensor, 0, 0, samples) : tensor;
}

}  // namespace

void show(const RunSettings& settings, StepCore& step, std::span<const Tensor* const> all) {
  std::vector<Tensor> some;
  for (const Tensor* tensor : all)
    some.push_back(settings.samples && all[0]->rank() ? first_samples(*tensor, all[0]->shape()[0].factor(), settings.samples) : *tensor);
  std::vector<const Tensor*> in;
  for (const Tensor& tensor : some) in.push_back(&tensor);
  if (settings.verify) {
    const VerifyReport report = step.verify(in);
    std::cerr << report << std::endl;
    if (!report.ok()) throw UserError("verify", "results are wrong; the first value to look at is named above");
  }
  if (!settings.per_node && !settings.explain) return;
  const int repeats = settings.per_node ? 20 : 2;  // of eager calls: the times of single nodes need more than parallelism does
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
