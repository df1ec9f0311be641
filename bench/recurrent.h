// The recurrent workloads of sinter_bench; bench/peers/workloads.md says what each is.
#pragma once

#include "bench/workload.h"

namespace sinter::bench {

std::vector<Job> gru_step(const RunSettings& settings);
std::vector<Job> lstm_step(const RunSettings& settings);
/// On sequences of different lengths.
std::vector<Job> ragged_step(const RunSettings& settings);
std::vector<Job> bidirectional_step(const RunSettings& settings);
std::vector<Job> question_step(const RunSettings& settings);
/// One time step a call, with the state kept.
std::vector<Job> gru_stream(const RunSettings& settings);

}  // namespace sinter::bench
