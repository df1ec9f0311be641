// Eager against graph, article E: a training step of the question's two models and of the answer's three on series of three lengths, by each way to
// call it, and single predictions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "bench/published/calls.h"
#include "bench/published/eager_graph_models.h"
#include "frontend/core/random.h"

namespace sinter::published {

namespace {

/// How far the losses of the first steps may be apart in the two modes, relatively: eager and compiled code add in different orders, and each step
/// carries the difference on.
constexpr double loss_tolerance = 1e-4;
constexpr std::size_t compared_losses = 3;

/// How much of a cell is run.
struct Effort {
  double most_flops;          ///< a training step of more is left out
  double most_eager_flops;    ///< the same of an eager step
  double way_seconds;         ///< for the steps of one way to call them, in one mode
  double one_step_seconds;    ///< where a step takes longer there is one, by train_on_batch
  double prediction_seconds;  ///< for the calls of one way to predict
};
Effort effort_of(const RunSettings& settings) {
  constexpr double all = std::numeric_limits<double>::infinity();
  if (settings.quick) return {50e9, 50e9, 0.4, 0.6, 0.15};
  return settings.full ? Effort{all, all, 20, 60, 1} : Effort{all, 10e12, 3, 4, 1};
}

/// Normal numbers, and yes or no for each series.
Dataset batches_of(const Cell& cell, std::int64_t batches, std::uint64_t stream) {
  RandomStream random(1, stream);
  const std::int64_t samples = batches * cell_batch;
  std::vector<float> x(static_cast<std::size_t>(samples * cell.length * cell.channels)), y(static_cast<std::size_t>(samples));
  for (float& value : x) value = static_cast<float>(random.normal());
  for (float& value : y) value = static_cast<float>(random.below(2));
  return {Tensor(x, {samples, cell.length, cell.channels}), Tensor(y, {samples, 1})};
}

/// Seconds a step of one way to call it.
struct Timing {
  double seconds = 0;
  std::int64_t steps = 0;
};

/// What was measured of a cell in one mode.
struct Run {
  std::vector<double> losses;  ///< of the first steps
  double compile_seconds = 0;
  std::map<std::string, Timing> ways;
};

Timing timed(std::int64_t steps, const std::function<void()>& all) { return {seconds_of(all) / static_cast<double>(steps), steps}; }

/// The article's ways to make so many steps: on one batch, or on so many different ones as memory has room for.
void run_ways(Trainer& trainer, const Cell& cell, const Dataset& batch, std::int64_t steps, Run& result) {
  constexpr std::int64_t most_numbers = std::int64_t{1} << 28;  // 1 GiB of data
  const FitOptions silent{.batch_size = cell_batch, .verbose = false};
  const auto repeated = [&](const std::function<void()>& step) {
    return timed(steps, [&] {
      for (std::int64_t i = 0; i < steps; ++i) step();
    });
  };
  result.ways["train_on_batch"] = repeated([&] { trainer.train_on_batch(batch.x, batch.y); });
  result.ways["fit for each batch"] = repeated([&] { trainer.fit(batch, silent); });
  const std::int64_t different = std::clamp<std::int64_t>(most_numbers / (cell_batch * cell.length * cell.channels), 1, steps);
  const Dataset many = batches_of(cell, different, 2);
  result.ways["one fit"] = timed(different, [&] { trainer.fit(many, silent); });
  std::vector<Dataset> pieces;
  for (std::int64_t i = 0; i < different; ++i) pieces.push_back(many.slice(i * cell_batch, (i + 1) * cell_batch));
  const Generator generator = [&](std::int64_t, std::int64_t piece) -> std::optional<Dataset> {
    if (piece == different) return std::nullopt;
    return pieces[static_cast<std::size_t>(piece)];
  };
  result.ways["one fit, generator"] = timed(different, [&] { trainer.fit(generator, silent); });
}

Run run(const Cell& cell, Mode mode, const Effort& effort, const RunSettings& settings) {
  seed(3);
  Trainer trainer(cell.model.make(cell.length, cell.channels), loss::binary_crossentropy, optim::Adam({.learning_rate = 1e-4}),
                  {.mode = mode, .threads = settings.threads});
  const Dataset batch = batches_of(cell, 1, 1);
  Run result;
  const auto step = [&] { return seconds_of([&] { result.losses.push_back(trainer.train_on_batch(batch.x, batch.y)); }); };
  double last = step();
  result.compile_seconds = trainer.train_step().compile_seconds();
  last -= result.compile_seconds;
  while (last <= effort.one_step_seconds && result.losses.size() < compared_losses)
    last = step();  // the article's step before the clock, and one more
  if (last > effort.one_step_seconds) result.ways["train_on_batch"] = {last, 1};
  else
    run_ways(trainer, cell, batch, static_cast<std::int64_t>(std::clamp(effort.way_seconds / last, 1.0, static_cast<double>(cell.model.iterations))),
             result);
  return result;
}

/// By the article's rule: how much longer the slower one takes, in per cent; positive if graph is faster.
double signed_percentage(double eager, double graph) {
  const double slower = 100 * (std::max(eager, graph) / std::min(eager, graph) - 1);
  return graph <= eager ? slower : -slower;
}

std::string note_of(const Cell& cell, const Timing& timing) {
  const std::string steps = counted(static_cast<std::size_t>(timing.steps), "step");
  return timing.steps == cell.model.iterations ? steps : str(steps, " of ", cell.model.iterations);
}

void report_steps(const Cell& cell, const std::string& column, const Run& run, Report& report) {
  for (const auto& [way, timing] : run.ways) report.cell(cell.name() + ", " + way, column, timing.seconds, "s", note_of(cell, timing));
}

void report_comparison(const Cell& cell, const Run& eager, const Run& graph, Report& report) {
  for (const auto& [way, timing] : graph.ways) {
    const auto other = eager.ways.find(way);
    if (other != eager.ways.end())
      report.cell(cell.name() + ", " + way + ", graph against eager", "Sinter", signed_percentage(other->second.seconds, timing.seconds), "%");
  }
  const double saved = eager.ways.at("train_on_batch").seconds - graph.ways.at("train_on_batch").seconds;
  if (saved > 0) report.cell(cell.name() + ", steps until compiling has paid", "Sinter", std::ceil(graph.compile_seconds / saved), "steps");
  else report.remark(cell.name() + ": compiling never pays, since eager steps were faster.");
  double worst = 0;
  const std::size_t count = std::min({compared_losses, eager.losses.size(), graph.losses.size()});
  for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, std::abs(eager.losses[i] / graph.losses[i] - 1));
  report.require(str(cell.name(), ": losses of the first ", counted(count, "step"), ", eager against graph, greatest relative difference"), worst, 0,
                 loss_tolerance);
}

/// Single predictions: the model called as a function, and the two ways of a Trainer.
void report_predictions(const Cell& cell, const Effort& effort, const RunSettings& settings, Report& report) {
  seed(3);
  nn::Sequential model = cell.model.make(cell.length, cell.channels);
  Trainer trainer(model, loss::binary_crossentropy, optim::Adam(), {.threads = settings.threads});
  const Tensor one = batches_of(cell, 1, 1).slice(0, 1).x.only();
  const std::vector<float> in = one.to_vector<float>();
  std::vector<float> out(1);
  const auto calls = [&](const std::function<void()>& call) { return repeat(call, effort.prediction_seconds, 3, 1000); };
  const std::string row = cell.name() + ", one series";
  if (settings.has("eager")) report_calls(report, row, "Sinter eager", calls([&] { model(one).item(); }), "model(x)");
  if (settings.has("default")) report_calls(report, row, "Sinter default", calls([&] { trainer.predict(one).item(); }), "predict");
  if (settings.has("best")) report_calls(report, row, "Sinter best", calls([&] { trainer.predict_one(in, out); }), "predict_one");
}

/// What the article's layers say, against the models that are timed: parameters, lengths, arithmetic.
void require_structure(const Cell& cell, Report& report) {
  nn::Sequential model = cell.model.make(cell.length, cell.channels);
  const auto exactly = [&](const std::string& text, std::int64_t value, std::int64_t wanted) {
    const auto number = static_cast<double>(wanted);
    report.require(cell.name() + ": " + text, static_cast<double>(value), number, number);
  };
  std::int64_t parameters = 0;
  for (const Parameter& parameter : model.trainable_parameters()) parameters += parameter.read().elements();
  exactly("parameters", parameters, cell.parameters);
  const std::string table = model.summary({DType::f32, {Dim::batch(), cell.length, cell.channels}});
  std::vector<std::int64_t> lengths;
  for (std::size_t at = table.find("(conv1d)"); at != std::string::npos; at = table.find("(conv1d)", at + 1))
    lengths.push_back(std::stoll(table.substr(table.find("[N,", at) + 3)));
  exactly("convolutions", static_cast<std::int64_t>(lengths.size()), static_cast<std::int64_t>(cell.lengths.size()));
  const auto differ = std::mismatch(lengths.begin(), lengths.end(), cell.lengths.begin(), cell.lengths.end());
  exactly("convolutions whose length is that of the arithmetic", differ.first - lengths.begin(), static_cast<std::int64_t>(cell.lengths.size()));
  report.require(cell.name() + ": GFLOP forwards", cell.model.forward_flops(cell.length, cell.channels) * 1e-9, cell.forward_gflop * 0.998,
                 cell.forward_gflop * 1.002);
}

/// Whether eager steps are run; if they are not, the report says why. They keep a layer's result without and with its bias, and make gradients of the
/// same size.
bool runs_eagerly(const Cell& cell, double flops, const Effort& effort, Report& report) {
  if (flops > effort.most_eager_flops) {
    report.remark(str(cell.name(), ": eager steps are left out, of ", std::round(flops * 1e-9), " GFLOP each; a run with --full has them."));
    return false;
  }
  constexpr double of_results = 3;
  const double needed = of_results * cell.model.result_bytes(cell.length) + 16 * static_cast<double>(cell.parameters);
  const auto free = static_cast<double>(machine::examine({.measure = false}).memory.free);
  if (needed <= free) return true;
  report.remark(str(cell.name(), ": eager steps are left out, which need about ", std::round(needed * 1e-9), " GB of memory, and ",
                    std::round(free * 1e-9), " GB are free."));
  return false;
}

void run_cell(const Cell& cell, const Effort& effort, const RunSettings& settings, Report& report) {
  const double flops = 3 * cell.model.forward_flops(cell.length, cell.channels);
  if (flops > effort.most_flops) {
    report.remark(str(cell.name(), ": left out of a quick run, a step of ", std::round(flops * 1e-9), " GFLOP."));
    return;
  }
  std::optional<Run> graph, eager;
  if (settings.has("default")) {
    graph = run(cell, Mode::graph, effort, settings);
    report_steps(cell, "Sinter default", *graph, report);
    report.cell(cell.name() + ", compile", "Sinter", graph->compile_seconds, "s", "without a cache");
  }
  if (settings.has("eager") && runs_eagerly(cell, flops, effort, report)) {
    eager = run(cell, Mode::eager, effort, settings);
    report_steps(cell, "Sinter eager", *eager, report);
  }
  if (graph && eager) report_comparison(cell, *eager, *graph, report);
  report_predictions(cell, effort, settings, report);
}

}  // namespace

void eager_graph(const RunSettings& settings, Report& report) {
  const WithoutCache compiles;
  report.remark(
      "Sinter: default is Mode::graph, eager is Mode::eager. A step whose seconds are of one step is the first, without the time to compile.");
  const std::vector<Cell> all = cells();
  const auto of_answer = std::count_if(all.begin(), all.end(), [](const Cell& cell) { return !cell.is_of_question(); });
  report.require("cells of the answer", static_cast<double>(of_answer), 8, 8);
  report.require("large × small: places of a window of 400 in 140 numbers", static_cast<double>(large_model().convolutions[0].places(140)), 0, 0);
  report.require("graph against eager where graph takes 1.0 s and eager 1.5 s", signed_percentage(1.5, 1), 50, 50);
  report.require("graph against eager where graph takes 1.5 s and eager 1.0 s", signed_percentage(1, 1.5), -50, -50);
  for (const Cell& cell : all) require_structure(cell, report);
  for (const Cell& cell : all) run_cell(cell, effort_of(settings), settings, report);
}

}  // namespace sinter::published
