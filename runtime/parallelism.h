// How many threads a compiled step can keep busy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/step.h"

namespace sinter::runtime {

struct Parallelism {
  double busy_threads = 1;   ///< the time of all kernels over that of the thread that works longest, summed over the phases
  std::uint32_t kernel = 0;  ///< index in StepImage::kernels: the one that the other threads wait for longest
};

/// Of a call on so many threads that claim the chunks of each phase as compiled steps do. `seconds`: of each kernel on one thread.
Parallelism parallelism(const StepImage& image, Sizes sizes, int threads, std::span<const double> seconds);

/// The seconds of each kernel by the cost model.
std::vector<double> estimated_seconds(const StepImage& image, Sizes sizes);

}  // namespace sinter::runtime
