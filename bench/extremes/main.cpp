// sinter_extremes: times and memory of large and deep inputs, each in a process of its own, as one JSON line each, beside its bound.
//   sinter_extremes [--list] [NAME...]   exit status 1 if a bound is passed
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include <sinter/sinter.h>

namespace {

using namespace sinter;
using nlohmann::ordered_json;

double seconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs f in a process of its own; false if it throws.
bool run_apart(const std::function<void()>& f) {
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    int status = 0;
    try {
      f();
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      status = 1;
    }
    _exit(status);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("lost a process");
  if (WIFSIGNALED(status)) std::cerr << "ended by signal " << WTERMSIG(status) << std::endl;
  return status == 0;
}

Tensor numbers(const Shape& shape) {
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  std::uint32_t number = 1;
  for (float& x : data) x = static_cast<float>((number = number * 1664525 + 1013904223) >> 8) * 0x1p-23f - 1;
  return {std::move(data), shape};
}

/// A number of /proc/self/status, in bytes.
double memory(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) * 1024;
  throw std::runtime_error("/proc/self/status has no " + name);
}
/// The greatest memory that this process had.
double peak_bytes() { return memory("VmHWM"); }
/// By how much more memory than now it takes while something runs.
double growth(const std::function<void()>& run) {
  std::ofstream("/proc/self/clear_refs") << 5;  // forgets the greatest
  const double before = memory("VmRSS");
  run();
  return peak_bytes() - before;
}

/// Of compiling a function and its first call.
template <class F>
double first_call(const F& f, const Tensor& x) {
  return seconds([&] {
    auto step = compile(f);
    step(x);
  });
}
/// The same of a training step, which minimizes the function's mean.
template <class F>
double first_training_step(const F& f, const std::vector<Parameter>& parameters, const Tensor& x) {
  optim::SGD sgd({.learning_rate = 1e-3});
  return first_call(
      [&](const Tensor& in) {
        const Tensor loss = mean(f(in));
        sgd.update(parameters, grad(loss, parameters));
        return loss;
      },
      x);
}

std::vector<Parameter> small_parameters(int count) {
  std::vector<Parameter> all;
  for (int i = 0; i < count; ++i) all.emplace_back(str("p", i), Tensor::filled({DType::f32, {8}}, 1));
  return all;
}

// ---- depth ----

double chain(int nodes) {
  const auto f = [&](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < nodes; i += 2) y = sin(y * 0.999);
    return y;
  };
  return first_call(f, numbers({4, 100}));
}

struct Deep {
  std::vector<nn::Dense> layers;
  std::vector<Parameter> parameters;
  explicit Deep(int count) {
    for (int i = 0; i < count; ++i) layers.emplace_back(16, 16, Activation::tanh);
    for (const nn::Dense& layer : layers)
      for (const Parameter& p : layer.parameters()) parameters.push_back(p);
  }
  Tensor operator()(const Tensor& x) {
    Tensor y = x;
    for (nn::Dense& layer : layers) y = layer(y);
    return y;
  }
};

double dense(int layers) {
  Deep model(layers);
  return first_call([&](const Tensor& x) { return model(x); }, numbers({8, 16}));
}

double dense_training(int layers) {
  Deep model(layers);
  return first_training_step([&](const Tensor& x) { return square(model(x)); }, model.parameters, numbers({8, 16}));
}

double parameters(int count) {
  const std::vector<Parameter> all = small_parameters(count);
  const auto f = [&](const Tensor& x) {
    Tensor total = x;
    for (const Parameter& p : all) total = total + p * x;
    return total;
  };
  return first_training_step(f, all, numbers({8, 8}));
}

double concatenation(int parts) {
  const std::vector<Parameter> all = small_parameters(parts);
  const auto f = [&](const Tensor& x) { return concat({all.begin(), all.end()}, 0) * mean(x); };
  return first_call(f, numbers({8, 8}));
}

// ---- size ----

double eager_run() {
  const Tensor x = numbers({200000, 32});
  auto step = compile([](const Tensor& t) { return mean(t); }, {.mode = Mode::eager});
  return seconds([&] { step.run(x, {.steps = 20, .batch = 32}); }) / 20;
}

double sorting(Mode mode) {
  const Tensor x = numbers({1, 10000000});
  auto step = compile([](const Tensor& t) { return sort(t); }, {.mode = mode});
  step(numbers({1, 10000000}));
  return seconds([&] { step(x); });
}

double wide_table() {
  constexpr int columns = 100000, rows = 20;
  data::Table table([] {
    std::vector<std::string> names;
    for (int i = 0; i < columns; ++i) names.push_back(str("column ", i));
    return names;
  }());
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < columns; ++i) table.add_field(std::to_string((r * 31 + i * 7) % 101));
    table.end_row();
  }
  return seconds([&] {
    const data::Encoder encoder = data::Encoder::fit(table, {.target = "column 99999"});
    (void)encoder.dataset(table);
  });
}

double image_net(std::int64_t size) {
  nn::Sequential model{nn::Conv2D(3, 8, {3, 3}, Activation::relu), nn::Conv2D(8, 8, {3, 3}, Activation::relu), nn::Conv2D(8, 4, {3, 3})};
  const Tensor x = numbers({1, size, size, 3});
  auto step = compile([&](const Tensor& t) { return model(t); });
  step(x);
  return peak_bytes();
}

double large_sample() {
  const Tensor x = numbers({1, 10000000});
  auto step = compile([](const Tensor& t) { return tanh(t * 2.0) + 1.0; });
  return growth([&] { step(x); });
}

double sums() {
  const Tensor x = numbers({50000000});
  auto step = compile([](const Tensor& t) { return std::tuple(sum(t), mean(t), max(t)); });
  step(numbers({1000}));  // compiles
  return growth([&] { step(x); });
}

double eager_sum_of_bytes() {
  const Tensor x = Tensor::filled({DType::u8, {200000000}}, 3);
  return growth([&] { (void)sum(x); });
}

/// 400 MB of weights, most of them in one table whose rows are padded in memory.
weights::StateDict large_weights() {
  const auto ones = [](const Shape& shape) { return Tensor::filled({DType::f32, shape}, 1); };
  return {{"table.weight", ones({250000, 300})}, {"dense_1.weight", ones({300, 300})}, {"dense_2.weight", ones({300, 82000})}};
}

/// What writing them takes, or reading them, which includes the tensors; by the size of the file.
double weights_file(const char* ending, bool reads) {
  const std::string file = std::filesystem::temp_directory_path() / str("sinter_extremes_", getpid(), ending);
  double bytes = 0;
  if (reads) {
    run_apart([&] { weights::write(file, large_weights()); });
    bytes = growth([&] { (void)weights::read(file); });
  } else {
    const weights::StateDict tensors = large_weights();
    bytes = growth([&] { weights::write(file, tensors); });
  }
  const auto size = static_cast<double>(std::filesystem::file_size(file));
  std::filesystem::remove(file);
  return bytes / size;
}

// ---- training ----

/// The multi-layer perceptron of the workload mlp_b500, with random images.
struct Perceptron {
  static constexpr std::int64_t batch = 500, steps = 120;
  nn::Sequential model{nn::Dense(784, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::sigmoid), nn::Dense(30, 10)};
  Trainer trainer{model, loss::categorical_crossentropy_from_logits, optim::RMSprop()};
  const Dataset all{numbers({batch * steps, 784}), Tensor::zeros({DType::i32, {batch * steps}})}, first = all.slice(0, batch);

  void fit(const Dataset& data) { trainer.fit(data, {.batch_size = batch, .verbose = false}); }
  void step() { trainer.train_on_batch(first.x, first.y); }
  Perceptron() { step(); }  // compiles
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// The first epoch of fit on some data by the time of its steps.
double fit_of_an_epoch() {
  Perceptron p;
  std::vector<double> ratios;
  for (int i = 0; i < 5; ++i) {
    const Dataset fresh{p.all.x[0] + 0.0f, p.all.y};
    const double epoch = seconds([&] { p.fit(fresh); });
    ratios.push_back(epoch / seconds([&] {
                       for (std::int64_t step = 0; step < Perceptron::steps; ++step) p.step();
                     }));
  }
  return median(ratios);
}

/// By how much more than a step fit of one batch takes: medians.
double fit_of_a_batch() {
  Perceptron p;
  p.fit(p.first);
  std::vector<double> fit, step;
  for (int i = 0; i < 400; ++i) {
    fit.push_back(seconds([&] { p.fit(p.first); }));
    step.push_back(seconds([&] { p.step(); }));
  }
  return median(fit) - median(step);
}

/// 30 trainings of small models, as the guide shows them, on two threads by the time of one after the other. Throws if a byte differs.
double trainings() {
  unsetenv("SINTER_CACHE");  // as usual: models of the same layers are compiled once
  constexpr std::size_t count = 30;
  const Dataset data{numbers({2000, 20}), Tensor::zeros({DType::i32, {2000}})};
  const auto train = [&](std::size_t number) {
    seed(number);
    nn::Sequential model{nn::Dense(20, 32, Activation::relu), nn::Dense(32, 3)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam());
    trainer.fit(data, {.epochs = 40, .seed = number, .verbose = false});
    return model.parameters()[0].read().to_vector<float>();
  };
  std::vector<std::vector<float>> alone(count), beside(count);
  const double one_by_one = seconds([&] {
    for (std::size_t i = 0; i < count; ++i) alone[i] = train(i);
  });
  const double side_by_side = seconds([&] {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        for (std::size_t i; (i = next++) < count;) beside[i] = train(i);
      });
  });
  if (alone != beside) throw std::runtime_error("trainings in threads have other bytes");
  return side_by_side / one_by_one;
}

/// What predictions for 20,000 images take, besides these.
double predictions() {
  const Tensor x = Tensor::filled({DType::f32, {20000, 28, 28, 1}}, 0.5);
  nn::Sequential model{nn::Conv2D(1, 16, {3, 3}, Activation::relu), nn::Conv2D(16, 16, {3, 3}, Activation::relu), nn::GlobalAveragePool(),
                       nn::Dense(16, 10)};
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD());
  return growth([&] { (void)trainer.predict(x); });
}

struct Extreme {
  const char *name, *what, *unit;
  double bound;
  std::function<double()> measure;
};

const std::vector<Extreme> extremes{
    {"chain_10000", "the first call of a chain of 10,000 pointwise ops", "s", 1, [] { return chain(10000); }},
    {"chain_100000", "of 100,000", "s", 10, [] { return chain(100000); }},
    {"dense_4000", "the first call of 4,000 dense layers", "s", 4, [] { return dense(4000); }},
    {"dense_training_1000", "the first training step of 1,000 dense layers", "s", 4, [] { return dense_training(1000); }},
    {"parameters_5000", "the first training step with 5,000 parameters", "s", 6, [] { return parameters(5000); }},
    {"concat_4000", "the first call of a concatenation of 4,000 parameters", "s", 4, [] { return concatenation(4000); }},
    {"eager_run", "an eager step of 32 of 200,000 samples", "s", 0.01, [] { return eager_run(); }},
    {"sort_eager", "sorting 10,000,000 numbers", "s", 1.5, [] { return sorting(Mode::eager); }},
    {"sort_compiled", "the same in a compiled step", "s", 1.5, [] { return sorting(Mode::graph); }},
    {"wide_table", "encoding 20 rows of 100,000 columns", "s", 2, [] { return wide_table(); }},
    {"image_2048", "all memory of three convolutions of one image of 2048 x 2048", "bytes", 0.6e9, [] { return image_net(2048); }},
    {"image_4096", "of 4096 x 4096", "bytes", 2.4e9, [] { return image_net(4096); }},
    {"large_sample", "what a step of one sample of 40 MB adds, with its result", "bytes", 120e6, [] { return large_sample(); }},
    {"sums", "what sums, means and maxima of 50,000,000 numbers add", "bytes", 20e6, [] { return sums(); }},
    {"write_safetensors", "what writing weights adds, by the size of the file", "", 0.2, [] { return weights_file(".safetensors", false); }},
    {"read_safetensors", "what reading weights takes, by the size of the file", "", 1.2, [] { return weights_file(".safetensors", true); }},
    {"write_npz", "what writing an .npz file adds", "", 1.2, [] { return weights_file(".npz", false); }},
    {"read_npz", "what reading it takes", "", 1.2, [] { return weights_file(".npz", true); }},
    {"fit_epoch", "the first epoch of fit by the time of its steps", "", 1.25, [] { return fit_of_an_epoch(); }},
    {"fit_batch", "what fit of one batch takes besides the step", "s", 10e-6, [] { return fit_of_a_batch(); }},
    {"trainings", "30 trainings on two threads by the time of one after the other", "", 0.625, [] { return trainings(); }},
    {"predict", "what predictions for 20,000 images add", "bytes", 0.2e9, [] { return predictions(); }},
    {"eager_sum_u8", "what an eager sum of 200,000,000 bytes adds", "bytes", 20e6, [] { return eager_sum_of_bytes(); }},
};

/// Measures in a process of its own, and says whether it kept the bound.
bool keeps(const Extreme& extreme) {
  return run_apart([&] {
    const double value = extreme.measure();
    std::cout
        << ordered_json{{"name", extreme.name}, {"what", extreme.what}, {"unit", extreme.unit}, {"value", value}, {"bound", extreme.bound}}.dump()
        << std::endl;
    if (value > extreme.bound) throw std::runtime_error("the bound is passed");
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times and memory of large and deep inputs");
  std::vector<std::string> names;
  bool list = false;
  app.add_option("names", names, "Which to measure; all without");
  app.add_flag("--list", list, "Print the names");
  CLI11_PARSE(app, argc, argv);
  setenv("SINTER_CACHE", "off", 1);
  bool good = true;
  for (const std::string& name : names)
    if (std::none_of(extremes.begin(), extremes.end(), [&](const Extreme& e) { return e.name == name; })) {
      std::cerr << "there is no '" << name << "'; --list prints the names" << std::endl;
      return 2;
    }
  for (const Extreme& extreme : extremes) {
    if (!names.empty() && std::find(names.begin(), names.end(), extreme.name) == names.end()) continue;
    if (list) std::cout << extreme.name << ": " << extreme.what << "\n";
    else good = keeps(extreme) && good;
  }
  return good ? 0 : 1;
}
