// What --verify, --explain and --per-node print of a workload's step.
#pragma once

#include <array>
#include <span>

#include "bench/workload.h"

namespace sinter::bench {

/// Prints what the settings ask for of a step that is called with these arguments. Throws UserError if its results are to be judged and are wrong.
void show(const RunSettings& settings, StepCore& step, std::span<const Tensor* const> in);
template <class R, class... A>
void show(const RunSettings& settings, Step<R(A...)>& step, const A&... args) {
  const std::array<const Tensor*, sizeof...(A)> in{&args...};
  show(settings, *step.core(), in);
}

}  // namespace sinter::bench
