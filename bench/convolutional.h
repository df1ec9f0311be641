// The convolutional workloads of sinter_bench; bench/peers/workloads.md says what each is.
#pragma once

#include "bench/workload.h"

namespace sinter::bench {

std::vector<Job> lenet_step(const RunSettings& settings);
std::vector<Job> lenet_inference(std::int64_t batch, const RunSettings& settings);
std::vector<Job> vgg_step(const RunSettings& settings);
std::vector<Job> vgg_inference(std::int64_t batch, const RunSettings& settings);
/// Series of 30 channels and this length.
std::vector<Job> conv1d_step(std::int64_t length, const RunSettings& settings);

}  // namespace sinter::bench
