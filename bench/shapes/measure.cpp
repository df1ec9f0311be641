#include "bench/shapes/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/shapes/numbers.h"
#include "frontend/machine/peak.h"

namespace sinter::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Three digits are all that a time on this machine is worth.
double rounded(double x) {
  if (!(x > 0)) return 0;
  const double scale = std::pow(10, 2 - std::floor(std::log10(x)));
  return std::round(x * scale) / scale;
}

/// What the time is to be held against: the greater of the least times for the operations and for the bytes.
std::string bound(const Work& work, double seconds, int threads) {
  constexpr double measure_for = 0.5;
  static const double peak = machine::peak_gflops(threads, measure_for) * 1e9;
  static const double bandwidth = machine::memory_gigabytes_per_second(threads, measure_for) * 1e9;
  const double computing = peak > 0 ? work.operations / peak : 0, moving = bandwidth > 0 ? work.bytes / bandwidth : 0;
  const bool computes = computing >= moving;
  return str(std::round((computes ? computing : moving) / seconds * 100), " % of the ", computes ? "peak" : "bandwidth");
}

template <std::size_t>
using AnInput = Tensor;

}  // namespace

Measured::Measured(Request request, int threads)
    : request_(std::move(request)), subject_(std::make_shared<Subject>(subject_of(request_))), threads_(threads) {
  inputs_ = subject_->inputs;
  const StepOptions options{.name = request_.kind(), .threads = threads};
  if (!request_.is_step()) {
    if (inputs_.size() == 1) compile_call(std::make_index_sequence<1>(), options);
    else compile_call(std::make_index_sequence<2>(), options);
    return;
  }
  if (subject_->loss_weights.defined()) inputs_.push_back(subject_->loss_weights);
  if (inputs_.size() == 1) compile_step(std::make_index_sequence<1>(), options);
  else if (inputs_.size() == 2) compile_step(std::make_index_sequence<2>(), options);
  else compile_step(std::make_index_sequence<3>(), options);
}

template <std::size_t... I>
void Measured::compile_call(std::index_sequence<I...>, const StepOptions& options) {
  auto step = compile([s = subject_](const AnInput<I>&... in) { return s->function(std::vector<Tensor>{in...}); }, options);
  run_ = [step, in = inputs_]() mutable { step(in[I]...); };
  once_ = [step, in = inputs_]() mutable { return std::vector<Tensor>{step(in[I]...)}; };
}

/// The loss, the gradients of the inputs, and an update of the parameters.
template <std::size_t... I>
void Measured::compile_step(std::index_sequence<I...>, const StepOptions& options) {
  // A check sees in the weights what was subtracted; a measurement leaves them as they are but for rounding, so that all its steps are alike.
  const double rate = !request_.is_check() ? 1e-8 : subject_->loss_weights.defined() ? 1 : static_cast<double>(inputs_[0].elements());
  auto optimizer = std::make_shared<optim::SGD>(optim::SGDOptions{.learning_rate = rate});
  auto step = compile(
      [s = subject_, optimizer](const AnInput<I>&... in) {
        const nn::TrainingScope scope;
        const std::vector<Tensor> all{in...}, inputs(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(s->inputs.size()));
        const Tensor y = s->function(inputs), loss = s->loss_weights.defined() ? sum(y * all.back()) : mean(square(y));
        std::vector<Tensor> of{loss};
        if (s->has_input_gradient)
          for (const Tensor& gradient : grad(loss, inputs)) of.push_back(gradient);
        std::vector<Parameter> parameters;
        for (const auto& [name, parameter] : s->parameters) parameters.push_back(parameter);
        if (!parameters.empty()) optimizer->update(parameters, grad(loss, parameters));
        return of;
      },
      options);
  run_ = [step, in = inputs_]() mutable { step(in[I]...); };
  once_ = [step, in = inputs_]() mutable { return step(in[I]...); };
}

nlohmann::ordered_json Measured::times() {
  double last = 0;
  for (int i = 0; i < 3; ++i) {  // the first compiles
    const auto start = Clock::now();
    run_();
    last = i == 2 ? std::min(last, seconds_since(start)) : seconds_since(start);
  }
  const double seconds = request_.seconds();
  const auto inner = static_cast<std::int64_t>(std::clamp(seconds / 5 / std::max(last, 1e-9), 1.0, 1e6));
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 3 || (seconds_since(begin) < seconds && times.size() < 1000)) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < inner; ++i) run_();
    times.push_back(seconds_since(start) / static_cast<double>(inner));
  }
  std::ranges::sort(times);
  const double middle = (times[times.size() / 2] + times[(times.size() - 1) / 2]) / 2;
  const Work& work = request_.is_step() ? subject_->step : subject_->call;
  return {{"min", times.front()},
          {"median", middle},
          {"n", times.size()},
          {"gflops", rounded(work.operations / times.front() * 1e-9)},
          {"bound", bound(work, times.front(), threads_)}};
}

nlohmann::ordered_json Measured::figures() {
  std::vector<Tensor> before;
  for (const auto& [name, parameter] : subject_->parameters) before.push_back(parameter);
  const std::vector<Tensor> results = once_();
  nlohmann::ordered_json figures;
  if (!request_.is_step()) {
    figures["output"] = figures_of(results[0]);
    return {{"figures", figures}};
  }
  figures["loss"] = figures_of(results[0]);
  for (std::size_t i = 1; i < results.size(); ++i) figures[str("gradient of input ", i)] = figures_of(results[i]);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& [name, parameter] = subject_->parameters[i];
    figures["change of " + name] = figures_of(before[i] - parameter);
    parameter.assign(before[i]);  // the next step begins as this one
  }
  return {{"figures", figures}};
}

}  // namespace sinter::bench
