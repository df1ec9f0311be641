#include "bench/workload.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <sinter/eigen.h>

#include "bench/calls.h"
#include "bench/convolutional.h"
#include "bench/network.h"
#include "bench/recurrent.h"
#include "bench/show.h"

namespace sinter::bench {

namespace {

constexpr std::int64_t training_set = 60000;

// ---- the dense networks ----

struct Mlp {
  std::vector<std::int64_t> sizes;
  std::int64_t batch;
  Dataset data;
  nn::Sequential model;
  std::vector<Parameter> parameters;
  optim::RMSprop optimizer{{.learning_rate = 1e-3f, .rho = 0.9f, .epsilon = 1e-7f}};
  Step<Tensor(Tensor, Tensor)> step;
  std::vector<std::pair<Tensor, Tensor>> batches;
  std::size_t next = 0;
  std::unique_ptr<Trainer> trainer;

  Mlp(std::vector<std::int64_t> layer_sizes, std::int64_t batch_size, const RunSettings& settings)
      : sizes(std::move(layer_sizes)), batch(batch_size), model(layers(sizes)), parameters(model.parameters()) {
    load(settings.data_folder);
    step = compile(
        [this](const Tensor& x, const Tensor& y) {
          const Tensor total = loss::categorical_crossentropy(model(x), y) + regularizer();
          optimizer.update(parameters, grad(total, parameters));
          return total;
        },
        {.name = "mlp_step", .mode = settings.mode, .threads = settings.threads});
  }

  static std::vector<std::shared_ptr<nn::Module>> layers(const std::vector<std::int64_t>& sizes) {
    seed(3);
    std::vector<std::shared_ptr<nn::Module>> result;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) result.push_back(std::make_shared<nn::Dense>(sizes[i], sizes[i + 1], Activation::sigmoid));
    return result;
  }

  Tensor regularizer() const { return loss::l2(0.01f, {model.parameter("dense_1.weight"), model.parameter("dense_2.weight")}); }

  void load(const std::string& folder) {
    if (folder.empty()) {
      data = {uniform({training_set, sizes.front()}, 0, 1, 10), labels(training_set, static_cast<std::uint32_t>(sizes.back()), 11)};
    } else {
      data = {data::npy(folder + "/x.npy"), data::npy(folder + "/y.npy")};
      for (std::size_t i = 1; i < sizes.size(); ++i) {
        model.parameter(str("dense_", i, ".weight")).assign(data::npy(str(folder, "/w", i, ".npy")));
        model.parameter(str("dense_", i, ".bias")).assign(data::npy(str(folder, "/b", i, ".npy")));
      }
    }
    data.check("--data");
    for (std::int64_t i = 0; i < std::max<std::int64_t>(4, 10) && (i + 1) * batch <= data.size(); ++i)
      batches.emplace_back(rows(data.x, i), one_hot(rows(data.y, i), sizes.back()));
  }

  /// Batch number i of a table, in order.
  Tensor rows(const Tensor& table, std::int64_t i) const {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(batch));
    for (std::int64_t k = 0; k < batch; ++k) numbers[static_cast<std::size_t>(k)] = static_cast<std::int32_t>((i * batch + k) % data.size());
    return gather_rows(table, Tensor(numbers, {batch}));
  }

  /// The losses that every peer prints, from the exported weights and batches in order.
  void check(const char* name) {
    double first = 0, last = 0;
    const std::vector<Parameter> states = [&] {
      std::vector<Parameter> all = parameters;
      for (const Parameter& p : optimizer.state()) all.push_back(p);
      return all;
    }();
    for (std::size_t i = 0; i < 10; ++i) {
      const Tensor x = rows(data.x, static_cast<std::int64_t>(i)), y = one_hot(rows(data.y, static_cast<std::int64_t>(i)), sizes.back());
      last = step(x, y).item();
      if (i == 0) first = last;
    }
    std::fprintf(stderr, "check %s: loss 1 %.5f, loss 10 %.5f\n", name, first, last);
  }

  void make_trainer(const RunSettings& settings) {
    trainer = std::make_unique<Trainer>(
        model, loss::categorical_crossentropy, optim::RMSprop({.learning_rate = 1e-3f}),
        TrainerOptions{.mode = settings.mode, .threads = settings.threads, .regularizer = [this] { return regularizer(); }});
  }
};

std::vector<Job> mlp(const char* name, std::vector<std::int64_t> sizes, std::int64_t batch, const RunSettings& settings) {
  auto mlp = std::make_shared<Mlp>(std::move(sizes), batch, settings);
  if (!settings.data_folder.empty()) mlp->check(name);
  show(settings, mlp->step, mlp->batches[0].first, mlp->batches[0].second);
  mlp->make_trainer(settings);
  std::vector<Job> jobs(2);
  jobs[0].call = [mlp] {
    const auto& [x, y] = mlp->batches[mlp->next++ % 4 % mlp->batches.size()];
    mlp->step(x, y);
  };
  // Forward and weight gradient of each layer, input gradient of all but the first: two operations a multiply-add (bench/peers/common.py).
  double flops = 0;
  for (std::size_t i = 0; i + 1 < mlp->sizes.size(); ++i) flops += (i ? 6.0 : 4.0) * static_cast<double>(mlp->sizes[i] * mlp->sizes[i + 1]);
  jobs[0].products = [flops, samples = mlp->batch] { return flops * static_cast<double>(samples); };
  jobs[1].products = [flops, samples = mlp->data.size()] { return flops * static_cast<double>(samples); };
  jobs[1].metric = "epoch_s";
  jobs[1].call = [mlp] { mlp->trainer->fit(mlp->data, {.epochs = 1, .batch_size = mlp->batch, .verbose = false}); };
  jobs[1].warm_up = 1;
  return jobs;
}

// ---- words ----

/// The average of 250 embedded words of 10,000, two dense layers, yes or no.
std::vector<Job> text_average(const RunSettings& settings) {
  constexpr std::int64_t batch = 512, words = 250, vocabulary = 10000, batches = 4;
  struct State {
    nn::Embedding embedding{vocabulary, 16};
    nn::Dense hidden{16, 16, nn::Activation::relu}, last{16, 1};
    std::vector<Parameter> parameters{embedding.weight, hidden.weight, hidden.bias, last.weight, last.bias};
    optim::Adam optimizer{{.learning_rate = 1e-3}};
    std::vector<std::pair<Tensor, Tensor>> batches;
    std::size_t next = 0;
    Step<Tensor(Tensor, Tensor)> step;
  };
  auto state = std::make_shared<State>();
  for (std::uint64_t i = 0; i < batches; ++i)
    state->batches.emplace_back(reshape(labels(batch * words, vocabulary, 50 + i), {batch, words}), labels(batch, 2, 60 + i));
  state->step = compile(
      [s = state.get()](const Tensor& x, const Tensor& y) {
        const Tensor logit = s->last(s->hidden(mean(s->embedding(x), {1})));
        const Tensor loss = loss::binary_crossentropy_from_logits(logit, y);
        s->optimizer.update(s->parameters, grad(loss, s->parameters));
        return loss;
      },
      {.name = "text_avg_b512", .mode = settings.mode, .threads = settings.threads});
  show(settings, state->step, state->batches[0].first, state->batches[0].second);
  Job job;
  job.call = [state] {
    const auto& [x, y] = state->batches[state->next++ % batches];
    state->step(x, y);
  };
  return {job};
}

/// A row of 32 of a million for each sample, and a dense layer: of the table, a step changes what the batch has.
std::vector<Job> table_step(const char* name, std::shared_ptr<optim::Optimizer> optimizer, const RunSettings& settings) {
  constexpr std::int64_t batch = 1024, rows = 1'000'000, features = 32, batches = 4;
  std::vector<Batch> all;
  for (std::uint64_t i = 0; i < batches; ++i) all.push_back({labels(batch, rows, 50 + i), labels(batch, 2, 60 + i)});
  return training(name, nn::share(nn::Sequential{nn::Embedding(rows, features), nn::Dense(features, 1)}), loss::binary_crossentropy_from_logits,
                  std::move(optimizer), std::move(all), settings);
}

// ---- from nothing ----

/// Seconds since the kernel started this process, in its ticks of 10 ms.
double process_age() {
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string text;
  std::getline(stat, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));  // after the name, which may hold anything: field 3
  for (int i = 3; i < 22; ++i) fields >> text;
  double start = 0, now = 0;
  fields >> start;
  uptime >> now;
  return now - start / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Process start to the end of the first training step of mlp_b500, with and without making the data; memory after an epoch's worth of steps.
std::vector<Job> cold_start(const RunSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  auto mlp = std::make_shared<Mlp>(std::vector<std::int64_t>{784, 70, 30, 10}, 500, settings);
  const double making = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto age = std::make_shared<double>();
  const auto step = [mlp] {
    const auto& [x, y] = mlp->batches[mlp->next++ % 4];
    mlp->step(x, y);
  };
  std::vector<Job> jobs(3);
  jobs[0].metric = "cold_start";
  jobs[0].once = [step, age] {
    step();
    return *age = process_age();
  };
  jobs[1].metric = "cold_start_without_data";
  jobs[1].once = [age, making] { return *age - making; };
  jobs[2].metric = "peak_rss";
  jobs[2].unit = "MiB";
  jobs[2].once = [step] {
    for (int i = 0; i < 120; ++i) step();
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_maxrss) / 1024;
  };
  return jobs;
}

// ---- linear regression ----

std::vector<Job> linreg(const RunSettings& settings) {
  constexpr std::int64_t samples = 10000;
  constexpr int steps = 10000, eager_steps = 200;
  struct State {
    Parameter w{"w", Tensor(0.0f)}, b{"b", Tensor(0.0f)};
    std::vector<Parameter> parameters{w, b};
    optim::SGD optimizer{{.learning_rate = 0.01f}};
    Tensor x, y;
    Step<Tensor(Tensor, Tensor)> step;
  };
  auto state = std::make_shared<State>();
  if (settings.data_folder.empty()) {
    state->x = uniform({samples}, -1, 1, 20);
    state->y = state->x * 3 + 2 + uniform({samples}, -0.17, 0.17, 21);
  } else {
    state->x = data::npy(settings.data_folder + "/x.npy");
    state->y = data::npy(settings.data_folder + "/y.npy");
  }
  state->step = compile(
      [s = state.get()](const Tensor& x, const Tensor& y) {
        const Tensor loss = loss::mean_squared_error(s->w * x + s->b, y);
        s->optimizer.update(s->parameters, grad(loss, s->parameters));
        return loss;
      },
      {.name = "linreg", .mode = settings.mode, .threads = settings.threads});
  show(settings, state->step, state->x, state->y);
  const int run = settings.mode == Mode::eager ? eager_steps : steps;
  Job job;
  job.metric = run == steps ? "total_s" : "total_s (scaled from 200 steps)";
  job.scale = static_cast<double>(steps) / run;
  job.warm_up = 1;
  job.call = [state, run] {
    state->w.assign(Tensor(0.0f));
    state->b.assign(Tensor(0.0f));
    state->step.run(state->x, state->y, {.steps = run});
  };
  return {job};
}

// ---- the cost of a call ----

std::vector<Job> call_overhead(const RunSettings& settings) {
  struct State {
    Tensor w = uniform({4, 4}, -1, 1, 30), b = uniform({4}, -1, 1, 31), x = uniform({1, 4}, 0, 1, 32);
    Step<Tensor(Tensor)> step;
  };
  auto state = std::make_shared<State>();
  state->step = compile([s = state.get()](const Tensor& x) { return sigmoid(matmul(x, s->w) + s->b); },
                        {.name = "tiny", .mode = settings.mode, .threads = settings.threads});
  show(settings, state->step, state->x);
  Job job;
  job.metric = "call_us";
  job.unit = "us";
  job.scale = 1e6;
  job.call = [state] { state->step(state->x); };
  return {job};
}

// A sample from a vector into a vector, by spans and by Eigen's.
std::vector<Job> predict_one(const RunSettings& settings) {
  struct State {
    Tensor w = uniform({4, 4}, -1, 1, 30), b = uniform({4}, -1, 1, 31);
    Step<Tensor(Tensor)> step;
    Eigen::VectorXf in = Eigen::VectorXf::Constant(4, 0.5f), out = Eigen::VectorXf(4);
  };
  auto state = std::make_shared<State>();
  state->step = compile([s = state.get()](const Tensor& x) { return sigmoid(matmul(x, s->w) + s->b); },
                        {.name = "tiny", .mode = settings.mode, .threads = settings.threads});
  state->step(uniform({1, 4}, 0, 1, 32));
  Job spans, vectors;
  spans.metric = "span_us", vectors.metric = "eigen_us";
  spans.unit = vectors.unit = "us";
  spans.scale = vectors.scale = 1e6;
  spans.call = [state] { state->step.predict_one({state->in.data(), 4}, {state->out.data(), 4}); };
  vectors.call = [state] { eigen::predict_one(state->step, state->in, state->out); };
  return {spans, vectors};
}

// ---- compile time ----

/// The first call of a training step of so many equal layers, which no cache knows.
std::vector<Job> deep_compile(const RunSettings& settings) {
  std::vector<Job> jobs;
  for (const std::int64_t layers : {25, 100, 200}) {
    Job& job = jobs.emplace_back();
    job.metric = "compile_" + std::to_string(layers);
    job.once = [settings, layers] {
      ::setenv("SINTER_CACHE", "off", 1);
      nn::Sequential model;
      for (std::int64_t i = 0; i < layers; ++i) model.add(nn::Dense(33, 33, Activation::tanh));
      const std::vector<Parameter> parameters = model.parameters();
      optim::Adam optimizer;
      auto step = compile(
          [&](const Tensor& x, const Tensor& y) {
            const Tensor loss = mean(square(model(x) - y));
            optimizer.update(parameters, grad(loss, parameters));
            return loss;
          },
          {.name = "deep", .mode = settings.mode, .threads = settings.threads});
      const Tensor x = uniform({64, 33}, -1, 1, 50), y = uniform({64, 33}, -1, 1, 51);
      const auto start = std::chrono::steady_clock::now();
      step(x, y);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
  }
  return jobs;
}

// ---- a product alone ----

std::vector<Job> gemm(std::int64_t n, const RunSettings& settings) {
  struct State {
    Tensor a, b;
    Step<Tensor(Tensor, Tensor)> step;
  };
  auto state = std::make_shared<State>(State{uniform({n, n}, -1, 1, 40), uniform({n, n}, -1, 1, 41), {}});
  state->step = compile([](const Tensor& a, const Tensor& b) { return matmul(a, b); },
                        {.name = "gemm", .mode = settings.mode, .threads = settings.threads, .kinds = {InputKind::batch, InputKind::fixed}});
  show(settings, state->step, state->a, state->b);
  Job job;
  job.metric = "call_s";
  job.products = [n] { return 2.0 * static_cast<double>(n * n * n); };
  job.call = [state] { state->step(state->a, state->b); };
  return {job};
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> list{
      {"mlp_b500", [](const RunSettings& s) { return mlp("mlp_b500", {784, 70, 30, 10}, 500, s); }},
      {"mlp_b10000", [](const RunSettings& s) { return mlp("mlp_b10000", {784, 70, 30, 10}, 10000, s); }},
      {"mlp5_b1500", [](const RunSettings& s) { return mlp("mlp5_b1500", {784, 200, 100, 50, 30, 10}, 1500, s); }},
      {"text_avg_b512", text_average},
      {"table_sgd_b1024", [](const RunSettings& s) { return table_step("table_sgd_b1024", std::make_shared<optim::SGD>(), s); }},
      {"table_adam_b1024",
       [](const RunSettings& s) {
         return table_step("table_adam_b1024", std::make_shared<optim::Adam>(optim::AdamOptions{.common = {.lazy = true}}), s);
       }},
      {"lenet_b64", lenet_step},
      {"lenet_infer_b1", [](const RunSettings& s) { return lenet_inference(1, s); }},
      {"lenet_infer_b64", [](const RunSettings& s) { return lenet_inference(64, s); }},
      {"vgg_b64", vgg_step},
      {"vgg_infer_b64", [](const RunSettings& s) { return vgg_inference(64, s); }},
      {"conv1d_small_b32", [](const RunSettings& s) { return conv1d_step(140, s); }},
      {"conv1d_medium_b32", [](const RunSettings& s) { return conv1d_step(1400, s); }},
      {"conv1d_large_b32", [](const RunSettings& s) { return conv1d_step(14000, s); }},
      {"gru_b64", gru_step},
      {"lstm_b64", lstm_step},
      {"gru_ragged_b64", ragged_step},
      {"bilstm512_b32", bidirectional_step},
      {"lstm_question", question_step},
      {"gru_stream", gru_stream},
      {"linreg", linreg},
      {"call_overhead", call_overhead},
      {"predict_one", predict_one},
      {"calls", calls},
      {"cold_start", cold_start},
      {"deep_compile", deep_compile},
      {"gemm_1024", [](const RunSettings& s) { return gemm(1024, s); }},
  };
  return list;
}

}  // namespace sinter::bench
