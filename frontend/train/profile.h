// What Trainer::profile returns: where the time of training went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "frontend/compile/settings.h"

namespace sinter {

struct ProfileOptions {
  std::int64_t batch_size = 32;
  std::int64_t steps = 0;  ///< ends after so many; 0: after the epochs. One step more is run before, which compiles and is not counted
  std::int64_t epochs = 1;
  bool shuffle = true;
  std::uint64_t seed = 0;                  ///< of the shuffles
  std::size_t prefetch = 2;                ///< pieces that a Generator makes ahead on a background thread; 0: none
  std::vector<double> class_weights = {};  ///< as FitOptions::class_weights
};

struct ProfileReport {
  struct Part {
    std::string name;
    double seconds = 0;  ///< of the wall time
    double flops = 0;    ///< floating-point operations by the cost model
    /// Billions of them per second; 0 for none.
    double gflops() const { return seconds > 0 ? flops / seconds * 1e-9 : 0; }
  };
  /// In this order: data (batches made, gathered and waited for), forward (to the loss), backward (gradients), update (the optimizer), metrics,
  /// waiting (threads of a step that had nothing to do), other (calls of steps and the loop around them). Their seconds add up to `seconds`.
  std::vector<Part> parts;
  double seconds = 0;  ///< wall time of the steps
  std::int64_t steps = 0, samples = 0;
  int threads = 1;  ///< the most that a step used
  Mode mode = Mode::graph;

  /// Throws UserError for an unknown name.
  const Part& part(const std::string& name) const;
  /// The part's seconds as a share of all, in [0, 1], and its operations.
  double time_share(const std::string& name) const;
  double flop_share(const std::string& name) const;
  double flops() const;  ///< of all parts
};
/// A table: a line a part, with its time and share, its share of the arithmetic, and the GFLOP/s that it reached.
std::ostream& operator<<(std::ostream& out, const ProfileReport& report);

}  // namespace sinter
