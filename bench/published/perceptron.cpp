#include "bench/published/perceptron.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

namespace sinter::published {

namespace {

constexpr std::int64_t all_epochs = 35;

/// Switches passes off while it lives, for steps that are compiled meanwhile.
class Without {
 public:
  explicit Without(const std::string& passes) {
    if (!passes.empty()) ::setenv("SINTER_WITHOUT", passes.c_str(), 1);
  }
  ~Without() { ::unsetenv("SINTER_WITHOUT"); }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;
};

/// Seconds of the program's 35 epochs, from the least of `epochs` after one more; `average` is that one's accuracy.
double seconds_of_all(Program& program, std::int64_t epochs, double* average = nullptr) {
  const double first = program.epoch().average;
  if (average) *average = first;
  double least = 1e30;
  for (std::int64_t i = 0; i < epochs; ++i) {
    const ProgramEpoch epoch = program.epoch();
    least = std::min(least, epoch.shuffling + epoch.batches);
  }
  return least * all_epochs;
}

/// The program from its start to its last epoch, with predictions of the training set, of the test set or without.
void whole_run(const RunSettings& settings, const Images& images, const Standardized& data, Report& report) {
  const std::int64_t epochs = settings.quick ? 3 : all_epochs;
  const std::string note = settings.quick ? str(epochs, " of ", all_epochs, " epochs, scaled") : "",
                    after = settings.quick ? str("after ", epochs, " epochs") : "";
  Program program(data, {.threads = settings.threads});
  double first = 0, batches = 0, shuffling = 0, training_set = 0, test_set = 0;  // seconds: of the first epoch, which compiles, and of the others
  ProgramEpoch last;
  ProgramPrediction train, test;
  const auto predict_both = [&] {
    train = program.predict(data.train_x, data.train_y);
    test = program.predict(data.test_x, data.test_y);
  };
  predict_both();  // compiled here, before any clock
  for (std::int64_t e = 1; e <= epochs; ++e) {
    last = program.epoch();
    predict_both();
    if (e == 1) first = last.batches + last.shuffling;
    else batches += last.batches, shuffling += last.shuffling, training_set += train.seconds, test_set += test.seconds;
    const std::vector<double> weights = program.mean_weights();
    for (std::size_t i = 0; i < weights.size(); ++i)
      report.point("NumPy program: mean |weight| by epoch", str("L", i), static_cast<double>(e), weights[i]);
    report.point("NumPy program: share of the regularization in the cost of the training set", "Sinter", static_cast<double>(e),
                 program.penalty() / train.cost);
    report.point("NumPy program: accuracy by epoch", "training set", static_cast<double>(e), train.accuracy);
    report.point("NumPy program: accuracy by epoch", "test set", static_cast<double>(e), test.accuracy);
    report.point("NumPy program: accuracy by epoch", "batch averaged", static_cast<double>(e), last.average);
  }
  const double scale = static_cast<double>(all_epochs - 1) / static_cast<double>(epochs - 1), plain = first + (batches + shuffling) * scale;
  const char* column = "Sinter default";
  report.cell("35 epochs, batch 500", column, plain, "s", note);
  report.cell("35 epochs, training set predicted after each", column, plain + training_set * scale * all_epochs / (all_epochs - 1), "s", note);
  report.cell("35 epochs, test set predicted after each", column, plain + test_set * scale * all_epochs / (all_epochs - 1), "s", note);
  const double whole = batches + shuffling + training_set;
  report.cell("share of shuffling", column, shuffling / whole, "");
  report.cell("share of the batches", column, batches / whole, "");
  report.cell("share of predicting the training set", column, training_set / whole, "");
  report.cell("learning rate after the last epoch", column, last.rate, "", after);
  report.cell("accuracy, batch averaged", column, last.average, "", after);
  report.cell("accuracy, training set", column, train.accuracy, "", after);
  report.cell("accuracy, test set", column, test.accuracy, "", after);
  report.cell("cost of the training set", column, train.cost, "", after);
  report.cell("its regularization part", column, program.penalty(), "", after);
  report.cell("cost of the last batch", column, last.cost, "", after);
  report.cell("its share of regularization", column, last.penalty / last.cost, "", after);
  const std::vector<double> weights = program.mean_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) report.cell(str("mean |weight|, L", i), column, weights[i], "", after);

  report.require("weights and biases of the NumPy program", static_cast<double>(program.parameter_count()), 57390, 57390);
  if (settings.quick) return;
  report.require("learning rate after 35 epochs, exact", last.rate, 0.0009994051838157095, 0.0009994051838157095);
  if (!images.is_mnist) return;
  report.require("NumPy program: accuracy, batch averaged", last.average, 0.9915, 0.9935);
  report.require("NumPy program: accuracy, training set", train.accuracy, 0.988, 0.992);
  report.require("NumPy program: accuracy, test set", test.accuracy, 0.958, 0.968);
  report.require("NumPy program: regularization part", program.penalty(), 7.85, 8.15);
  const double published[] = {0.06398, 0.37703, 1.3112};  // means of the two that the article prints
  for (std::size_t i = 0; i < weights.size(); ++i)
    report.require(str("NumPy program: mean |weight|, L", i), weights[i], 0.97 * published[i], 1.03 * published[i]);
}

/// A state of the program: passes that are switched off, and whether the gradient of the images is computed.
struct Measure {
  std::string row, without;
  bool input_gradient = false;
};

/// The steps of the program's author, and each alone undone.
void measures(const RunSettings& settings, const Standardized& data, Report& report) {
  const std::int64_t epochs = settings.quick ? 1 : 4;
  const std::string scaled = str(epochs, " of ", all_epochs, " epochs, scaled");
  const std::string no_gradient = "no gradient of the input", bias = "biases within the products", kernel = "product and sigmoid in one kernel";
  std::map<bool, std::string> graphs;  // with all passes, by input_gradient
  std::string unchanged;
  std::optional<double> usual;  // accuracy after an epoch
  if (settings.has("default"))
    for (const Measure& measure : {Measure{"and " + kernel, ""},
                                   {"all but: " + no_gradient, "", true},
                                   {"unoptimized, float32", "fold_bias,group", true},
                                   {"and " + no_gradient, "fold_bias,group"},
                                   {"and " + bias, "group"},
                                   {"all but: " + bias, "fold_bias"},
                                   {"all but: " + kernel, "group"}}) {
      const Without without(measure.without);
      Program program(data, {.threads = settings.threads, .input_gradient = measure.input_gradient});
      double average = 0;
      const double seconds = seconds_of_all(program, epochs, &average);
      if (measure.without.empty()) graphs.try_emplace(measure.input_gradient, program.graph());
      else if (program.graph() == graphs.at(measure.input_gradient)) {
        unchanged += str(unchanged.empty() ? "" : "; ", measure.row);
        continue;
      }
      if (!usual) usual = average;
      if (!(std::abs(average - *usual) < 1e-3))
        throw UserError("measures",
                        str("the step of '", measure.row, "' computes something else: its accuracy is ", average, " in place of ", *usual));
      report.cell(measure.row, "Sinter default", seconds, "s",
                  str(measure.without.empty() ? "" : str("without the passes ", measure.without, "; "), scaled));
    }
  if (!unchanged.empty()) report.remark(str("No figure of Sinter, since SINTER_WITHOUT changed nothing: ", unchanged, "."));
  if (settings.has("eager")) {
    Program program(data, {.mode = Mode::eager, .threads = settings.threads});
    report.cell("and " + kernel, "Sinter eager", seconds_of_all(program, 1), "s", str("1 of ", all_epochs, " epochs, scaled"));
  }
}

void batch_sizes(const RunSettings& settings, const Standardized& data, Report& report) {
  const std::int64_t epochs = settings.quick ? 1 : 4;
  for (const std::int64_t batch : {500, 5000, 10000, 20000, 30000}) {
    if (batch > data.train_y.elements()) continue;
    Program program(data, {.batch = batch, .threads = settings.threads});
    report.cell(str("batch ", batch), "Sinter default", seconds_of_all(program, epochs), "s", str(epochs, " of ", all_epochs, " epochs, scaled"));
  }
}

/// One sweep over many samples, and the article's products and copies.
void single_operations(const RunSettings& settings, const Standardized& data, Report& report) {
  {
    Program program(data, {.threads = settings.threads});
    const auto sweep = [&](const char* row, const Tensor& x) {
      report.cell(row, "Sinter default", program.forward_seconds(x), "s", x.dim(0).factor() % 10000 ? str(x.dim(0), " samples") : "");
    };
    sweep("forward of 10,000 samples in one sweep", data.test_x);
    sweep("forward of 60,000 samples in one sweep", data.train_x);
  }
  const std::int64_t columns = settings.quick ? 2000 : 20000;
  const std::string note = settings.quick ? "2,000 of 20,000 columns, scaled" : "";
  const auto numbers = [](std::int64_t rows, std::int64_t cols) { return init::uniform(-1, 1)({rows, cols}); };
  const Tensor w = numbers(101, 800), wt = numbers(800, 101), x = numbers(800, columns), xt = numbers(columns, 800);
  for (const auto& [row, transpose_w, transpose_x] :
       {std::tuple{"C, C", false, false}, {"C, F", false, true}, {"F, C", true, false}, {"F, F", true, true}}) {
    auto product = compile(
        [transpose_w = transpose_w, transpose_x = transpose_x](const Tensor& a, const Tensor& b) { return matmul(a, b, transpose_w, transpose_x); },
        {.name = "product", .threads = settings.threads, .kinds = {InputKind::fixed, InputKind::fixed}});
    const Tensor &left = transpose_w ? wt : w, &right = transpose_x ? xt : x;
    report.cell(str("product 101 × 800 by 800 × 20,000, ", row), "Sinter default",
                least_seconds(5, [&] { product(left, right); }) * 20000 / static_cast<double>(columns), "s", note);
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(data.train_y.elements()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i * 7919 % order.size());
  const Tensor rows(order, {data.train_y.elements()});
  report.cell("training set copied in shuffled order", "Sinter default", least_seconds(3, [&] { gather_rows(data.train_x, rows); }), "s",
              str(data.train_x.dim(0), " samples; a training step reads them where they lie, without this copy"));
}

}  // namespace

void numpy_program(const RunSettings& settings, const Images& images, Report& report) {
  const Standardized data = standardize(images);
  if (settings.has("default")) whole_run(settings, images, data, report);
  measures(settings, data, report);
  if (!settings.has("default")) return;
  batch_sizes(settings, data, report);
  single_operations(settings, data, report);
}

void perceptron(const RunSettings& settings, Report& report) {
  const Images images = mnist(settings, report);
  keras_references(settings, images, report);
  numpy_program(settings, images, report);
}

}  // namespace sinter::published
