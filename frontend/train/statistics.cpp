// Moving averages in place of parameters, and the statistics of batch normalization that go with them.
#include "frontend/core/warn.h"
#include "frontend/nn/normalization.h"
#include "frontend/train/order.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

/// The running statistics of batch normalizations, or the states of all other layers, with their values.
std::vector<std::pair<Parameter, Tensor>> states_of(const nn::Module& model, bool normalizations) {
  std::vector<std::pair<Parameter, Tensor>> states;
  for (const nn::LayerParameters& layer : model.layers())
    for (const auto& [name, parameter] : layer.parameters)
      if (!parameter.trainable() && (layer.kind == "batch_norm" && name.starts_with("running_")) == normalizations)
        states.emplace_back(parameter, parameter.read());
  return states;
}

}  // namespace

void Trainer::exchange_averages() {
  Impl& impl = *impl_;
  if (!impl.optimizer) throw UserError("Trainer", "a trainer from a file cannot exchange averages; do it before saving");
  impl.optimizer->exchange_averages();
  impl.statistics_are_stale = false;
  if (!impl.own_statistics.empty()) {  // the parameters are back
    for (const auto& [parameter, value] : impl.own_statistics) parameter.assign(value);
    return impl.own_statistics.clear();
  }
  impl.own_statistics = states_of(*impl.model, true);
  impl.statistics_are_stale = !impl.own_statistics.empty();
}

void Trainer::Impl::warn_of_statistics(const char* where) {
  if (std::exchange(statistics_are_stale, false))
    warn(options.log, str("[", where, "] the statistics of batch normalization are those of the parameters, not of their averages, which are in ",
                          "place now; call recompute_statistics first"));
}

void Trainer::recompute_statistics(const Dataset& data, std::int64_t batch_size) {
  Impl& impl = *impl_;
  constexpr const char* where = "recompute_statistics";
  if (!impl.model) throw UserError(where, "a trainer from a file cannot do this; do it before saving");
  if (batch_size < 1) throw UserError(where, str("batch_size must be at least 1, got ", batch_size));
  impl.accept(data, where);
  const Parameter batches("batches", Tensor(0.0f), false);
  StepOptions step_with = step_options(impl.options, where);
  step_with.lengths = impl.inputs_in_steps();
  StepCore step(
      [&](std::span<const Tensor> in) -> std::vector<Tensor> {
        const Tensor batch = batches + 1;
        batches.assign(batch);
        const nn::TrainingScope training;
        const nn::StatisticsScope statistics(batch);
        (void)impl.forward(in);
        return {};
      },
      std::move(step_with), std::source_location::current());
  const auto others = states_of(*impl.model, false);  // training goes on with the random numbers that dropout would have drawn
  Order order(true, batch_size);
  RandomStream random(0, 0);
  order.start(data, random);
  while (!order.done()) (void)Impl::call_on_rows(step, data.x, order.batch().to_vector<std::int32_t>());
  for (const auto& [parameter, value] : others) parameter.assign(value);
  impl.statistics_are_stale = false;
}

}  // namespace sinter
