// sinter_start: how long a program takes from its start to the end of its first training step of mlp_b500, as one JSON line.
//   sinter_start [--repeats N]   starts itself N times and once before, so that the object cache (unless SINTER_CACHE=off) has the step
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <sinter/sinter.h>

namespace {

using namespace sinter;
using nlohmann::ordered_json;

/// The clock that a process shares with the one that started it.
double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// What all threads of this process have computed.
double cpu_ms() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto ms = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3; };
  return ms(use.ru_utime) + ms(use.ru_stime);
}

/// One batch, the model, the first step; prints when each was done, in ms since `start`.
void run_once(double start) {
  ordered_json line{{"main_ms", now_ms() - start}};
  constexpr std::int64_t batch = 500;
  std::vector<float> pixels(batch * 784), classes(batch * 10);
  std::uint32_t number = 1;  // any numbers will do, made in no time
  for (float& pixel : pixels) pixel = static_cast<float>((number = number * 1664525 + 1013904223) >> 8) * 0x1p-24f;
  for (std::size_t i = 0; i < batch; ++i) classes[i * 10 + i * 7 % 10] = 1;
  const Tensor x(pixels, {batch, 784}), y(classes, {batch, 10});
  nn::Sequential model{nn::Dense(784, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::sigmoid), nn::Dense(30, 10, Activation::sigmoid)};
  const std::vector<Parameter> parameters = model.parameters();
  optim::RMSprop optimizer({.learning_rate = 1e-3f});
  auto step = compile(
      [&](const Tensor& in, const Tensor& labels) {
        const Tensor loss = loss::categorical_crossentropy(model(in), labels) +
                            loss::l2(0.01f, {model.parameter("dense_1.weight"), model.parameter("dense_2.weight")});
        optimizer.update(parameters, grad(loss, parameters));
        return loss;
      },
      {.name = "mlp_step"});
  line["model_ms"] = now_ms() - start;
  const float loss = step(x, y).item();
  line["step_ms"] = now_ms() - start;
  line["cpu_ms"] = cpu_ms();
  const CacheStatistics cache = cache_statistics();
  line["hits"] = cache.hits;
  line["misses"] = cache.misses;
  line["loss"] = loss;
  std::cout << line.dump() << std::endl;
}

/// What a process of this program prints.
ordered_json run_process(const char* self) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC)) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  std::string since = std::to_string(now_ms());
  std::string name = self, option = "--since";
  std::array<char*, 4> arguments{name.data(), option.data(), since.data(), nullptr};
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error) throw std::runtime_error("cannot start this program");
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; (count = read(ends[0], piece.data(), piece.size())) > 0;) text.append(piece.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status) throw std::runtime_error("the program failed");
  return ordered_json::parse(text);
}

}  // namespace

int main(int argc, char** argv) {
  int repeats = 20;
  double since = 0;
  CLI::App app{"Times the start of a training program: from the start of the process to the end of its first step of mlp_b500"};
  app.add_option("--repeats", repeats)->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--since", since, "run once, with times since then (ms of CLOCK_MONOTONIC)");
  CLI11_PARSE(app, argc, argv);
  try {
    if (app.count("--since")) {
      run_once(since);
      return 0;
    }
    run_process(argv[0]);
    std::vector<ordered_json> runs;
    for (int i = 0; i < repeats; ++i) runs.push_back(run_process(argv[0]));
    ordered_json line{{"workload", "start_mlp_b500"}, {"n", repeats}};
    for (const char* figure : {"main_ms", "model_ms", "step_ms", "cpu_ms"}) {
      std::vector<double> values;
      for (const ordered_json& run : runs) values.push_back(run.at(figure).get<double>());
      std::sort(values.begin(), values.end());
      line[figure] = {{"min", values.front()}, {"median", values[values.size() / 2]}};
    }
    for (const char* figure : {"hits", "misses"}) {
      std::int64_t sum = 0;
      for (const ordered_json& run : runs) sum += run.at(figure).get<std::int64_t>();
      line[figure] = sum;
    }
    std::cout << line.dump() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
