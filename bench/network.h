// Workloads that are a network: a training step of it, or its prediction.
#pragma once

#include <memory>
#include <utility>

#include "bench/workload.h"

namespace sinter::bench {

/// Multiply-adds of one sample: those of the first layer, which passes no gradient on, and those of the others.
struct Products {
  double first = 0, others = 0;
  double forward() const { return 2 * (first + others); }
  double training() const { return 4 * first + 6 * others; }
};

struct Network {
  nn::Sequential model;
  Products products;
};

/// Batches of inputs and targets.
using Batches = std::vector<std::pair<Tensor, Tensor>>;

/// A training step on batches that lie in memory, used in turn.
std::vector<Job> training(const char* name, Network network, const Loss& loss, std::shared_ptr<optim::Optimizer> optimizer, Batches batches,
                          const RunSettings& settings);
std::vector<Job> inference(const char* name, Network network, const Tensor& x, const RunSettings& settings);

/// Uniform numbers, and class numbers: functions of the stream.
Tensor uniform(const Shape& shape, double low, double high, std::uint64_t stream);
Tensor labels(std::int64_t count, std::uint32_t classes, std::uint64_t stream);

}  // namespace sinter::bench
