// sinter inspect, explain, verify and bench: the content of a model file, and how it runs.
#include <sinter/graph.h>

#include <chrono>
#include <iomanip>
#include <iostream>
#include <limits>
#include <span>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task.h"

namespace sinter::cli {

namespace {

struct LookSettings {
  std::string model, step = "predict", dot, svg;
  std::int64_t batch_size = 64;
  int repeats = 20;
  std::string threads = "0";
  bool graph = false, details = false, weights = false;
};

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> result;
  for (const Tensor& t : tensors) result.push_back(&t);
  return result;
}

/// A line for each f32 parameter of the model, besides the optimizer's.
void print_weights(const Trainer& trainer) {
  std::size_t width = std::string("weights").size();
  std::vector<WeightStatistics> all;
  for (const Parameter& p : trainer.parameters()) {
    if (p.type().dtype != DType::f32 || is_of_optimizer(p)) continue;
    all.push_back(weight_statistics(p));
    all.back().name = printable(all.back().name);
    width = std::max(width, all.back().name.size());
  }
  const auto cell = [](const auto& value) { std::cout << std::right << std::setw(13) << str(value); };
  std::cout << std::left << std::setw(static_cast<int>(width)) << "weights";
  for (const char* column : {"count", "mean", "std", "min", "max", "mean |w|", "zeros %", "NaN", "infinite"}) cell(column);
  std::cout << "\n";
  for (const WeightStatistics& w : all) {
    std::cout << std::left << std::setw(static_cast<int>(width)) << w.name;
    cell(w.count);
    for (const double value : {w.mean, w.deviation, w.least, w.greatest, w.mean_absolute, 100 * w.zero_share}) cell(value);
    cell(w.nan_count);
    cell(w.infinite_count);
    std::cout << "\n";
  }
}

void inspect(const LookSettings& s) {
  check_outputs({.files = {{"--dot", s.dot}, {"--svg", s.svg}}}, {s.model});
  Trainer trainer = Trainer::load(s.model);
  const ir::Graph& graph = step_of(trainer, s.step).traced_graph();
  if (!s.dot.empty()) runtime::write_file(s.dot, ir::to_dot(graph));
  if (!s.svg.empty()) runtime::write_file(s.svg, report::draw(graph));
  if (s.graph) {
    std::cout << printable_lines(ir::to_text(graph));
    return;
  }
  if (s.weights) return print_weights(trainer);
  std::cout << "trained for " << counted(trainer.epoch(), "epoch") << ", learning rate " << trainer.learning_rate() << "\n";
  for (const char* name : {"predict", "train"}) {
    const ir::Graph& g = step_of(trainer, name).traced_graph();
    std::cout << name << ": ";
    for (const ir::InputSpec& input : g.inputs()) std::cout << printable(input.name) << " " << input.type << ", ";
    std::cout << "to ";
    for (const ir::NodeId id : g.outputs()) std::cout << g.node(id).type << " ";
    std::cout << "in " << counted(g.size(), "node") << "\n";
  }
  double bytes = 0;
  std::int64_t numbers = 0;
  std::cout << "states:\n";
  for (const Parameter& p : trainer.parameters()) {
    std::cout << "  " << std::left << std::setw(40) << printable(p.name()) << " " << p.type() << "\n";
    numbers += p.shape().elements().factor();
    bytes += static_cast<double>(p.shape().elements().factor()) * static_cast<double>(size_of(p.type().dtype));
  }
  std::cout << counted(numbers, "number") << ", " << size_text(bytes) << "\n";
  if (const std::optional<std::string> text = text_column_of(trainer))
    std::cout << "texts: " << printable(*text) << ", " << counted_entries(trainer.vocabulary()) << "\n";
  if (trainer.has_metadata("encoder")) {
    const data::Encoder encoder = encoder_of(trainer, s.model);
    std::cout << "features:";
    for (const std::string& name : encoder.feature_names()) std::cout << " " << printable(name);
    for (const auto& [what, conditions] : {std::pair{"rows", &encoder.keep()}, {"rows to train on", &encoder.train_on()}})
      for (const data::Condition& condition : *conditions) std::cout << "\n" << what << ": " << printable(condition.text());
    std::cout << "\n";
    if (encoder.has_target()) std::cout << "predicts: " << printable(encoder.target_name());
    if (encoder.is_classification())
      for (const std::string& name : encoder.classes()) std::cout << " " << printable(name);
    if (encoder.has_target()) std::cout << "\n";
  }
  if (is_autoencoder(trainer)) std::cout << "reproduces its samples\n";
}

void explain(const LookSettings& s) {
  Trainer trainer = Trainer::load(s.model);
  StepCore& step = step_of(trainer, s.step);
  const std::vector<Tensor> inputs = sample_inputs(step, s.batch_size);
  (void)step.call(pointers(inputs));
  std::cout << printable_lines(step.explain());
}

void verify(const LookSettings& s) {
  Trainer trainer = Trainer::load(s.model);
  for (const char* name : {"predict", "train"}) {
    StepCore& step = step_of(trainer, name);
    const std::vector<Tensor> inputs = sample_inputs(step, s.batch_size);
    const VerifyReport report = step.verify(pointers(inputs));
    std::cout << name << ": " << printable_lines(str(report));
    if (!report.ok()) throw InternalError(s.model, str("the compiled step '", name, "' is wrong"));
  }
}

/// Seconds of the shortest of so many calls, after one that compiles and wakes the threads.
double shortest_call(StepCore& step, std::span<const Tensor* const> in, int repeats) {
  using Clock = std::chrono::steady_clock;
  (void)step.call(in);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    (void)step.call(in);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

/// A line for each number of threads; speed-up and efficiency are against the first.
void bench_threads(StepCore& step, std::span<const Tensor* const> in, const std::vector<int>& counts, int repeats) {
  TextStream out;
  out << "threads   used   graph us   speed-up   efficiency\n" << std::fixed;
  double first = 0;
  for (const int count : counts) {
    step.set_threads(count, false);
    const double seconds = shortest_call(step, in, repeats);
    if (first == 0) first = seconds;
    const double speedup = first / seconds, efficiency = speedup * counts[0] / count;
    out << std::setw(7) << count << std::setw(7) << step.last_threads() << std::setprecision(1) << std::setw(11) << seconds * 1e6
        << std::setprecision(2) << std::setw(11) << speedup << std::setprecision(0) << std::setw(11) << efficiency * 100 << " %\n";
  }
  std::cout << out.str();
}

void bench(const LookSettings& s) {
  std::vector<int> counts;
  for (const std::string& part : parts_of(s.threads)) counts.push_back(std::stoi(part));
  Trainer trainer = Trainer::load(s.model, {.threads = counts[0]});
  StepCore& step = trainer.predict_step();
  const std::vector<Tensor> inputs = sample_inputs(step, s.batch_size);
  if (counts.size() > 1) return bench_threads(step, pointers(inputs), counts, s.repeats);
  const TimeReport report = step.time(pointers(inputs), s.repeats);
  std::cout << printable_lines(str(report));
  if (s.details) std::cout << printable_lines(report.details());
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto s = std::make_shared<LookSettings>();
  CLI::App* command = app.add_subcommand("inspect", "Print the content of a model file");
  command->add_option("model", s->model, "Model file")->required()->check(file_name());
  command->add_flag("--graph", s->graph, "Print the graph of a step instead");
  command->add_flag("--weights", s->weights, "Print statistics of the weights instead: mean, standard deviation, range, mean |w|, zeros, NaN");
  command->add_option("--step", s->step, "Step whose graph is shown: predict or train")->check(one_of({"predict", "train"}));
  command->add_option("--dot", s->dot, "Graphviz file to write the graph to")->check(file_name());
  command->add_option("--svg", s->svg, "SVG file to draw the graph to")->check(file_name());
  command->callback([s] { inspect(*s); });
}

void add_explain(CLI::App& app) {
  auto s = std::make_shared<LookSettings>();
  CLI::App* command = app.add_subcommand("explain", "Compile a step and report what the compiler did");
  command->add_option("model", s->model, "Model file")->required()->check(file_name());
  command->add_option("--step", s->step, "Step to compile: predict or train")->check(one_of({"predict", "train"}));
  command->add_option("--batch-size", s->batch_size, "Samples per call")->check(whole_number(1));
  command->callback([s] { explain(*s); });
}

void add_verify(CLI::App& app) {
  auto s = std::make_shared<LookSettings>();
  CLI::App* command = app.add_subcommand("verify", "Compare compiled and eager steps with a double-precision reference");
  command->add_option("model", s->model, "Model file")->required()->check(file_name());
  command->add_option("--batch-size", s->batch_size, "Samples per call")->check(whole_number(1));
  command->callback([s] { verify(*s); });
}

void add_bench(CLI::App& app) {
  auto s = std::make_shared<LookSettings>();
  CLI::App* command = app.add_subcommand("bench", "Time prediction, eagerly and compiled");
  command->add_option("model", s->model, "Model file")->required()->check(file_name());
  command->add_option("--batch-size", s->batch_size, "Samples per call")->check(whole_number(1));
  command->add_flag("--details", s->details, "Also the time of each node; not for several numbers of threads");
  command->add_option("--repeats", s->repeats, "Number of calls to time")->check(whole_number(1, 1000000));
  command->add_option("--threads", s->threads, "Greatest number of threads; 0: one per core; 1,2,4: a table, a line for each")
      ->check(thread_counts());
  command->callback([s] { bench(*s); });
}

}  // namespace sinter::cli
