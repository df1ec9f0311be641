#include "bench/calls.h"

#include "bench/network.h"

namespace sinter::bench {

namespace {

constexpr std::int64_t batch = 32, features = 16, hidden = 32;
constexpr std::int64_t steps = 1000;  ///< of one fit over all data

nn::Sequential network() {
  seed(3);
  return nn::Sequential{nn::Dense(features, hidden, Activation::tanh), nn::Dense(hidden, 1)};
}

/// A Trainer, data for many steps, and its first batch.
struct Fitted {
  nn::Sequential model = network();
  Trainer trainer;
  Dataset all{uniform({batch * steps, features}, -1, 1, 130), uniform({batch * steps, 1}, -1, 1, 131)};
  Dataset one = all.slice(0, batch);
  std::vector<float> in = std::vector<float>(features, 0.5f), out = std::vector<float>(1);

  explicit Fitted(const RunSettings& settings)
      : trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 1e-5}), {.mode = settings.mode, .threads = settings.threads}) {}
};

Job job(const char* metric, double calls, std::function<void()> call) {
  Job result;
  result.metric = metric;
  result.unit = "us";
  result.scale = 1e6 / calls;
  result.call = std::move(call);
  return result;
}

}  // namespace

std::vector<Job> calls(const RunSettings& settings) {
  const auto fitted = std::make_shared<Fitted>(settings);
  Fitted* f = fitted.get();
  // The same step on its own.
  std::vector<Job> jobs = training("calls", nn::share(network()), loss::mean_squared_error,
                                   std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = 1e-5}), {{f->one.x[0], f->one.y[0]}}, settings);
  jobs = {job("step_us", 1, jobs[0].call)};
  jobs.push_back(job("train_on_batch_us", 1, [fitted] { fitted->trainer.train_on_batch(fitted->one.x, fitted->one.y); }));
  jobs.push_back(job("fit_per_batch_us", 1, [fitted] { fitted->trainer.fit(fitted->one, {.epochs = 1, .batch_size = batch, .verbose = false}); }));
  jobs.push_back(job("fit_us", steps, [fitted] { fitted->trainer.fit(fitted->all, {.epochs = 1, .batch_size = batch, .verbose = false}); }));
  jobs.push_back(job("predict_one_us", 1, [fitted] { fitted->trainer.predict_one(fitted->in, fitted->out); }));
  jobs.push_back(job("predict_us", 1, [fitted] { fitted->trainer.predict(fitted->one.x); }));
  jobs.push_back(job("model_us", 1, [fitted] { fitted->model(fitted->one.x[0]); }));
  return jobs;
}

}  // namespace sinter::bench
