// Forecasts a series several steps ahead with an LSTM, beside two forecasts that need no model; then value by value, as values arrive.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>

using namespace sinter;

namespace {

constexpr std::int64_t past = 48, ahead = 12, units = 32;

/// Hourly values of a made-up power station: a day, a week, a slow drift and noise.
std::vector<float> make_series(std::int64_t hours) {
  std::mt19937 random(5);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  std::vector<float> values;
  double drift = 0;
  for (std::int64_t t = 0; t < hours; ++t) {
    const double hour = 2 * M_PI * static_cast<double>(t);
    drift = 0.995 * drift + 0.1 * (uniform() - 0.5);
    values.push_back(
        static_cast<float>(std::sin(hour / 24) + 0.4 * std::sin(hour / 12 + 1) + 0.3 * std::sin(hour / 168) + drift + 0.1 * (uniform() - 0.5)));
  }
  return values;
}

/// Each window of `past` values, [N, past, 1], and the `ahead` values that follow, [N, ahead].
Dataset windows(const std::vector<float>& values) {
  std::vector<float> x, y;
  std::int64_t count = 0;
  for (auto at = values.begin(); values.end() - at >= past + ahead; ++at, ++count) {
    x.insert(x.end(), at, at + past);
    y.insert(y.end(), at + past, at + past + ahead);
  }
  return {Tensor(x, {count, past, 1}), Tensor(y, {count, ahead})};
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t hours = 3000, epochs = 8;
  CLI::App app{"Forecasts a generated series with an LSTM"};
  app.add_option("--hours", hours, "length of the series")->capture_default_str()->check(CLI::Range(400, 1000000));
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<float> values = make_series(hours);
    const auto cut = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 4 / 5);
    const Dataset train = windows({values.begin(), cut}), test = windows({cut, values.end()});

    seed(1);
    nn::LSTM memory(1, units);
    nn::Dense head(units, ahead);
    nn::Sequential model{memory, head};  // copies share the weights
    Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 3e-3}));
    trainer.fit(train, {.epochs = epochs, .batch_size = 32});

    const Tensor x = test.x, y = test.y;
    const auto root = [&](const Tensor& forecast) { return std::sqrt(mean(square(y - forecast)).item()); };
    std::printf("root of the mean squared error, %lld values ahead:\n", static_cast<long long>(ahead));
    std::printf("  LSTM          %.3f\n", std::sqrt(trainer.evaluate(test).loss));
    std::printf("  as now        %.3f\n", root(reshape(slice(x, 1, past - 1, past), {-1, 1})));
    std::printf("  as yesterday  %.3f\n", root(reshape(slice(x, 1, past - 24, past - 24 + ahead), {-1, ahead})));

    // Live: one value a call. What the LSTM remembers is a state of the compiled function, and a call allocates nothing.
    const Parameter h("h", Tensor::zeros({DType::f32, {1, units}})), c("c", Tensor::zeros({DType::f32, {1, units}}));
    auto live = compile(
        [&](const Tensor& value) {
          const std::vector<Tensor> states = memory.step(value, std::vector<Tensor>{h, c});
          h.assign(states[0]);
          c.assign(states[1]);
          return head(states[0]);
        },
        {.name = "live", .kinds = {InputKind::fixed}});
    std::vector<float> forecast(ahead);
    for (std::int64_t t = 0; t < past; ++t) live.predict_one({&*cut + t, 1}, forecast);
    const std::vector<float> whole = trainer.predict(slice(x, 0, 0, 1)).to_vector<float>();
    std::printf("next value: %.4f live, %.4f from the whole window\n", forecast[0], whole[0]);
    return std::abs(forecast[0] - whole[0]) < 1e-4 ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
