#include "frontend/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/error.h"

namespace sinter::schedule {

namespace {

void require_rate(const char* where, double rate) {
  if (!(rate >= 0) || !std::isfinite(rate)) throw UserError(where, str("rates must be finite numbers of at least 0, got ", rate));
}
void require_positive(const char* where, const char* what, double value) {
  if (!(value > 0) || !std::isfinite(value)) throw UserError(where, str(what, " must be positive, got ", value));
}
void require_over(const char* where, std::int64_t over) {
  if (over < 0) throw UserError(where, str("the number of steps must not be negative, got ", over));
}

/// The progress of a step within `over` steps (0: all of fit), from 0 to 1.
double part(std::int64_t step, std::int64_t over, std::int64_t steps) {
  const auto all = static_cast<double>(std::max<std::int64_t>(1, over ? over : steps));
  return std::min(1.0, static_cast<double>(step) / all);
}

/// From a (at 0) to b (at 1) along half a cosine.
double half_cosine(double a, double b, double at) { return b + (a - b) * (1 + std::cos(std::numbers::pi * at)) / 2; }

}  // namespace

Schedule constant(double rate) {
  require_rate("schedule::constant", rate);
  return [=](std::int64_t, std::int64_t) { return static_cast<float>(rate); };
}

Schedule piecewise(std::vector<std::int64_t> boundaries, std::vector<double> rates) {
  if (rates.size() != boundaries.size() + 1)
    throw UserError("schedule::piecewise", str("needs one rate more than boundaries, got ", rates.size(), " and ", boundaries.size()));
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) throw UserError("schedule::piecewise", "the boundaries must ascend");
  for (const double rate : rates) require_rate("schedule::piecewise", rate);
  return [=](std::int64_t step, std::int64_t) {
    const auto passed = std::upper_bound(boundaries.begin(), boundaries.end(), step) - boundaries.begin();
    return static_cast<float>(rates[static_cast<std::size_t>(passed)]);
  };
}

Schedule step(double rate, double factor, std::int64_t every) {
  require_rate("schedule::step", rate);
  require_positive("schedule::step", "the factor", factor);
  require_positive("schedule::step", "the number of steps", static_cast<double>(every));
  return [=](std::int64_t step, std::int64_t) { return static_cast<float>(rate * std::pow(factor, static_cast<double>(step / every))); };
}

Schedule exponential(double rate, double factor, std::int64_t every) {
  require_rate("schedule::exponential", rate);
  require_positive("schedule::exponential", "the factor", factor);
  require_positive("schedule::exponential", "the number of steps", static_cast<double>(every));
  return [=](std::int64_t step, std::int64_t) {
    return static_cast<float>(rate * std::pow(factor, static_cast<double>(step) / static_cast<double>(every)));
  };
}

Schedule inverse_time(double rate, double decay) {
  require_rate("schedule::inverse_time", rate);
  require_rate("schedule::inverse_time", decay);
  return [=](std::int64_t step, std::int64_t) { return static_cast<float>(rate / (1 + decay * static_cast<double>(step))); };
}

Schedule polynomial(double rate, double end, double power, std::int64_t over) {
  require_rate("schedule::polynomial", rate);
  require_rate("schedule::polynomial", end);
  require_positive("schedule::polynomial", "the power", power);
  require_over("schedule::polynomial", over);
  return [=](std::int64_t step, std::int64_t steps) { return static_cast<float>(end + (rate - end) * std::pow(1 - part(step, over, steps), power)); };
}

Schedule cosine(double rate, double end, std::int64_t over) {
  require_rate("schedule::cosine", rate);
  require_rate("schedule::cosine", end);
  require_over("schedule::cosine", over);
  return [=](std::int64_t step, std::int64_t steps) { return static_cast<float>(half_cosine(rate, end, part(step, over, steps))); };
}

Schedule cosine_restarts(double rate, std::int64_t period, double growth, double end) {
  require_rate("schedule::cosine_restarts", rate);
  require_rate("schedule::cosine_restarts", end);
  require_positive("schedule::cosine_restarts", "the period", static_cast<double>(period));
  if (!(growth >= 1)) throw UserError("schedule::cosine_restarts", str("the growth must be at least 1, got ", growth));
  return [=](std::int64_t step, std::int64_t) {
    double left = static_cast<double>(step), length = static_cast<double>(period);
    for (; left >= length; length *= growth) {
      if (growth == 1) {
        left = std::fmod(left, length);
        break;
      }
      left -= length;
    }
    return static_cast<float>(half_cosine(rate, end, left / length));
  };
}

Schedule warm_up(std::int64_t over, Schedule then) {
  require_positive("schedule::warm_up", "the number of steps", static_cast<double>(over));
  if (!then) throw UserError("schedule::warm_up", "there is no schedule to follow");
  return [=](std::int64_t step, std::int64_t steps) {
    const std::int64_t left = std::max<std::int64_t>(1, steps - over);
    if (step >= over) return then(step - over, left);
    return static_cast<float>(static_cast<double>(then(0, left)) * static_cast<double>(step + 1) / static_cast<double>(over + 1));
  };
}

Schedule one_cycle(double rate, double rise, double divide, double final_divide) {
  require_rate("schedule::one_cycle", rate);
  require_positive("schedule::one_cycle", "divide", divide);
  require_positive("schedule::one_cycle", "final_divide", final_divide);
  if (!(rise > 0 && rise < 1)) throw UserError("schedule::one_cycle", str("rise must be between 0 and 1, got ", rise));
  return [=](std::int64_t step, std::int64_t steps) {
    const double low = rate / divide, top = rise * static_cast<double>(steps) - 1, last = static_cast<double>(steps) - 1;
    const auto at = static_cast<double>(step);
    if (at <= top) return static_cast<float>(half_cosine(low, rate, top > 0 ? at / top : 1));
    return static_cast<float>(half_cosine(rate, low / final_divide, last > top ? std::min(1.0, (at - top) / (last - top)) : 1));
  };
}

}  // namespace sinter::schedule
