#include "bench/network.h"

#include "frontend/core/random.h"

namespace sinter::bench {

Tensor uniform(const Shape& shape, double low, double high, std::uint64_t stream) {
  RandomStream random(0, stream);
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  for (float& x : data) x = static_cast<float>(low + (high - low) * random.uniform());
  return {data, shape};
}

Tensor labels(std::int64_t count, std::uint32_t classes, std::uint64_t stream) {
  RandomStream random(0, stream);
  std::vector<std::int32_t> data(static_cast<std::size_t>(count));
  for (std::int32_t& x : data) x = static_cast<std::int32_t>(random.below(classes));
  return {data, {count}};
}

std::vector<Job> training(const char* name, Network network, const Loss& loss, std::shared_ptr<optim::Optimizer> optimizer, Batches batches,
                          const RunSettings& settings) {
  struct State {
    Network network;
    std::vector<Parameter> parameters;
    std::shared_ptr<optim::Optimizer> optimizer;
    Batches batches;
    std::size_t next = 0;
    Step<Tensor(Tensor, Tensor)> step;
  };
  auto state = std::make_shared<State>(State{std::move(network), {}, std::move(optimizer), std::move(batches), 0, {}});
  state->parameters = state->network.model.trainable_parameters();
  state->step = compile(
      [s = state.get(), loss](const Tensor& x, const Tensor& y) {
        const nn::TrainingScope scope;
        const Tensor total = loss(s->network.model(x), y);
        s->optimizer->update(s->parameters, grad(total, s->parameters));
        return total;
      },
      {.name = name, .mode = settings.mode, .threads = settings.threads});
  show(settings, state->step, state->batches[0].first, state->batches[0].second);
  Job job;
  job.products = state->network.products.training() * static_cast<double>(state->batches[0].first.shape()[0].factor());
  job.call = [state] {
    const auto& [x, y] = state->batches[state->next++ % state->batches.size()];
    state->step(x, y);
  };
  return {job};
}

std::vector<Job> inference(const char* name, Network network, const Tensor& x, const RunSettings& settings) {
  struct State {
    Network network;
    Tensor x;
    Step<Tensor(Tensor)> step;
  };
  auto state = std::make_shared<State>(State{std::move(network), x, {}});
  state->step = compile([s = state.get()](const Tensor& in) { return s->network.model(in); },
                        {.name = name, .mode = settings.mode, .threads = settings.threads});
  show(settings, state->step, state->x);
  Job job;
  job.metric = "call_s";
  job.products = state->network.products.forward() * static_cast<double>(x.shape()[0].factor());
  job.call = [state] { state->step(state->x); };
  return {job};
}

}  // namespace sinter::bench
