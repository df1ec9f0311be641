// Learning rates that change during training: functions of the step number, whose value is an input of the compiled step.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace sinter {

/// The learning rate of a step, counted from 0, in a call of fit that makes `steps` of them.
using Schedule = std::function<float(std::int64_t step, std::int64_t steps)>;

// Each throws UserError for rates that are negative or not finite, counts below 1 and so on. `rate` is the initial rate.
namespace schedule {

Schedule constant(double rate);
/// rates[i] from step boundaries[i - 1].
Schedule piecewise(std::vector<std::int64_t> boundaries, std::vector<double> rates);
/// rate · factor^floor(step / every).
Schedule step(double rate, double factor, std::int64_t every);
/// rate · factor^(step / every).
Schedule exponential(double rate, double factor, std::int64_t every);
/// rate / (1 + decay · step).
Schedule inverse_time(double rate, double decay);
/// From `rate` to `end` over `over` steps (0: all of fit): end + (rate - end) (1 - step / over)^power.
Schedule polynomial(double rate, double end = 0, double power = 1, std::int64_t over = 0);
/// From `rate` to `end` over `over` steps (0: all of fit) along half a cosine (Loshchilov and Hutter 2017).
Schedule cosine(double rate, double end = 0, std::int64_t over = 0);
/// The same with restarts: the first period has `period` steps, each later one is `growth` times as long as the one before.
Schedule cosine_restarts(double rate, std::int64_t period, double growth = 1, double end = 0);
/// Rises linearly from 0 to the first rate of `then` over `over` steps, then follows it.
Schedule warm_up(std::int64_t over, Schedule then);
/// Rises from rate / divide to `rate` over a share `rise` of the steps, then falls to rate / divide / final_divide, along half cosines (Smith and
/// Topin 2018, in PyTorch's form).
Schedule one_cycle(double rate, double rise = 0.3, double divide = 25, double final_divide = 1e4);

}  // namespace schedule
}  // namespace sinter
