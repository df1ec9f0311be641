// Workloads that are a network: a training step of it, or its prediction.
#pragma once

#include <memory>
#include <vector>

#include "bench/workload.h"

namespace sinter::bench {

/// The inputs of the network and, of a training step, the target.
using Batch = std::vector<Tensor>;

/// A training step on batches that lie in memory, used in turn.
std::vector<Job> training(const char* name, std::shared_ptr<nn::Module> model, const Loss& loss, std::shared_ptr<optim::Optimizer> optimizer,
                          std::vector<Batch> batches, const RunSettings& settings);
std::vector<Job> inference(const char* name, std::shared_ptr<nn::Module> model, Batch inputs, const RunSettings& settings);

/// Floating-point operations of the matrix products and convolutions of a graph, two a multiply-add: convolutions as if computed directly.
double products_of(const ir::Graph& graph, Sizes sizes);

/// Uniform numbers, and class numbers: functions of the stream.
Tensor uniform(const Shape& shape, double low, double high, std::uint64_t stream);
Tensor labels(std::int64_t count, std::uint32_t classes, std::uint64_t stream);

}  // namespace sinter::bench
