// LeNet, article L: the Keras program's net of 5 and 12 filters and the TensorFlow program's of 32 and 64, at each level of Sinter. The same weights
// must give the same bytes on all of them; 10,000 single predictions are timed, as the article's Keras program does.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "bench/published/calls.h"
#include "bench/published/lenet_levels.h"
#include "bench/published/program.h"
#include "frontend/data/npy.h"

namespace sinter::published {

namespace {

/// A net, how long it is trained, and what is expected then.
struct Program {
  LeNet net;
  std::int64_t epochs, steps_per_epoch;  ///< 0 steps: all images
  std::int64_t parameters;
  /// On MNIST: our own target, since the article has none. Three standard errors of 10,000 images below what the epochs of a usual run give.
  double least_accuracy;
};

Program keras_program(const RunSettings& settings) {
  const auto adadelta = [] { return std::make_shared<optim::Adadelta>(optim::AdadeltaOptions{.learning_rate = 1, .rho = 0.95, .epsilon = 1e-7}); };
  return {{"5/12 filters", 5, 12, Padding::valid(), 192, 128, 0.25, 0.5, adadelta, 128},
          settings.quick  ? 1
          : settings.full ? 12
                          : 4,
          0,
          27636,
          0.975};
}
Program tensorflow_program(const RunSettings& settings) {
  const auto adam = [] { return std::make_shared<optim::Adam>(optim::AdamOptions{.learning_rate = 1e-4}); };
  return {{"32/64 filters", 32, 64, Padding::same(), 3136, 1024, 0, 0.4, adam, 50}, 1, settings.quick ? 50 : 1000, 3274634, 0.97};
}

/// Images as they are stored, for a Trainer, and as numbers in [0, 1], for the other levels.
struct Inputs {
  Tensor bytes, floats;
  Tensor of(const Level& level) const { return level.takes_bytes ? bytes : floats; }
};
Inputs inputs(const Dataset& data) { return {data.x.only(), cast(data.x.only(), DType::f32) * data.scale}; }

/// What the rows of a level begin with. The Trainer's are those of the net, where other frameworks stand beside it.
std::string row_of(const LeNet& net, const Level& level) { return level.takes_bytes ? net.name : str(net.name, ", ", level.name); }

/// How many probabilities do not have the same bytes; all, if the lists have different lengths.
std::size_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]);
  return count;
}
void require_same(Report& report, const std::string& text, const std::vector<float>& a, const std::vector<float>& b) {
  report.require(str(text, ": of ", a.size(), " probabilities, how many differ in any bit"), static_cast<double>(differing(a, b)), 0, 0);
}

/// The probabilities of images, one call each, and the seconds of these calls.
struct Singles {
  std::vector<float> probabilities;
  double seconds = 0;
};
Singles one_by_one(std::size_t images, const std::function<void(std::size_t image, std::span<float> out)>& predict) {
  Singles result{std::vector<float>(images * 10), 0};
  predict(0, std::span(result.probabilities).first(10));  // compiles
  result.seconds = seconds_of([&] {
    for (std::size_t i = 0; i < images; ++i) predict(i, std::span(result.probabilities).subspan(i * 10, 10));
  });
  return result;
}

/// The article's metric, scaled if there were fewer images.
void report_singles(Report& report, const std::string& row, const std::string& column, const Singles& singles, const std::string& note) {
  const std::size_t count = singles.probabilities.size() / 10;
  report.cell(row, column, singles.seconds * 10000 / static_cast<double>(count), "s",
              note + (count < 10000 ? str("; ", count, " of 10,000 images, scaled") : ""));
}

/// What a level says of the test images: all in one call, and the first ones in one call each.
struct Predictions {
  std::vector<float> together, singles;
};

Predictions predict(const LeNet& net, const Level& level, const Inputs& test, const RunSettings& settings, Report& report) {
  const Tensor all = test.of(level);
  const std::size_t count = std::min<std::size_t>(settings.quick ? 1000 : 10000, static_cast<std::size_t>(all.shape()[0].factor()));
  std::vector<Tensor> images;
  for (std::size_t i = 0; i < count; ++i) images.push_back(slice(all, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1));
  const std::vector<float> numbers = test.floats.to_vector<float>();
  const auto called = [&](const std::function<Tensor(const Tensor&)>& function, std::size_t some) {
    return one_by_one(some, [&](std::size_t i, std::span<float> out) { std::ranges::copy(function(images[i]).to_vector<float>(), out.begin()); });
  };
  const std::string row = row_of(net, level) + ", 10,000 images one by one";
  const Singles plain = called(level.predict, count);
  const Singles spans =
      one_by_one(count, [&](std::size_t i, std::span<float> out) { level.predict_one(std::span(numbers).subspan(i * 784, 784), out); });
  if (settings.has("default")) report_singles(report, row, "Sinter default", plain, "a call with a batch of one");
  if (settings.has("best")) report_singles(report, row, "Sinter best", spans, "predict_one");
  if (settings.has("eager") && level.predict_eagerly)
    report_singles(report, row, "Sinter eager", called(level.predict_eagerly, std::min<std::size_t>(count, 500)), "the model called as a function");
  require_same(report, str(net.name, ", ", level.name, ": a batch of one against predict_one"), plain.probabilities, spans.probabilities);
  return {level.predict(all).to_vector<float>(), spans.probabilities};
}

void report_step(const LeNet& net, const Level& level, const Dataset& train, const RunSettings& settings, Report& report) {
  const Dataset batch = train.slice(0, net.batch);
  const Tensor x = inputs(batch).of(level), y = batch.y;
  const Calls steps = repeat([&] { level.train(x, y); }, settings.quick ? 0.2 : 1, 3, 200);
  report.cell(row_of(net, level) + ", training step", "Sinter default", steps.quantile(0.5), "s", str("median of ", counted(steps.count(), "step")));
}

/// The probabilities that `sinter predict` writes for these images.
std::vector<float> predict_by_command(const std::string& program, const std::filesystem::path& folder, const std::string& images) {
  const std::string table = (folder / "predictions.csv").string();
  run_program({program, "predict", (folder / "lenet.sinter").string(), "--data", (folder / images).string(), "--out", table});
  const data::Table read = data::read_csv(table);
  std::vector<float> values;
  for (std::size_t row = 0; row < read.rows(); ++row)
    for (std::size_t column = 1; column < read.names.size(); ++column) values.push_back(std::stof(std::string(read.field(row, column))));
  return values;
}

void write_images(const std::filesystem::path& path, const Tensor& bytes) {
  const std::vector<std::uint8_t> pixels = bytes.to_vector<std::uint8_t>();
  const std::span<const std::byte> raw = std::as_bytes(std::span(pixels));
  data::write_npy(path, {DType::u8, {bytes.shape()[0].factor(), 784}, {raw.begin(), raw.end()}});
}

void run_command_line(const LeNet& net, Trainer& trainer, const Tensor& test, const Predictions& wanted, const RunSettings& settings,
                      Report& report) {
  if (settings.cli.empty()) return report.remark(net.name + ": the command line was not run, since no program sinter was given (--cli).");
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / str("sinter_lenet_", ::getpid());
  std::filesystem::create_directories(folder);
  trainer.set_metadata("task", "classes");  // as `sinter train` does, which trains perceptrons only
  trainer.save((folder / "lenet.sinter").string());
  write_images(folder / "all.npy", test);
  write_images(folder / "one.npy", slice(test, 0, 0, 1));
  const std::string row = net.name + ", command line";
  std::vector<float> together;
  const double seconds = seconds_of([&] { together = predict_by_command(settings.cli, folder, "all.npy"); });
  report.cell(row + ", all test images", "Sinter default", seconds, "s",
              str("sinter predict once, ", test.shape()[0].factor(), " images from a .npy file to a CSV file"));
  const Calls calls = repeat([&] { (void)predict_by_command(settings.cli, folder, "one.npy"); }, settings.quick ? 0.3 : 2, 3, 50);
  report.cell(row + ", one image", "Sinter default", calls.quantile(0.5), "s",
              "sinter predict once, with starting and loading; machine code from the cache");
  require_same(report, row + " against Trainer: all test images", together, wanted.together);
  std::filesystem::remove_all(folder);
}

void run(const Program& program, const Images& images, const RunSettings& settings, Report& report) {
  const LeNet& net = program.net;
  seed(1);
  Trainer trainer = lenet_trainer(net, settings.threads);
  const Dataset& train = images.train;
  double seconds = 0;
  for (const EpochResult& epoch :
       trainer.fit(train, {.epochs = program.epochs, .batch_size = net.batch, .steps_per_epoch = program.steps_per_epoch, .verbose = false}))
    seconds += epoch.seconds;
  const std::int64_t steps = program.epochs * (program.steps_per_epoch ? program.steps_per_epoch : (train.size() + net.batch - 1) / net.batch);
  report.cell(net.name + ", training", "Sinter default", seconds, "s",
              str(steps, " steps of ", net.batch, " images, without compiling; the article does not say how many"));
  const double accuracy = *trainer.evaluate(images.test).accuracy;
  report.cell(net.name + ", test accuracy", "Sinter default", 100 * accuracy, "%");
  if (images.is_mnist && !settings.quick) report.require(net.name + ": test accuracy, our own target", accuracy, program.least_accuracy, 1);

  std::vector<Parameter> trained;
  double parameters = 0;
  for (const Parameter& parameter : trainer.parameters())
    if (parameter.trainable()) trained.push_back(parameter), parameters += static_cast<double>(parameter.read().elements());
  const auto wanted_parameters = static_cast<double>(program.parameters);
  report.require(net.name + ": parameters", parameters, wanted_parameters, wanted_parameters);

  const Inputs test = inputs(images.test);
  const Level last = trainer_level(trainer);
  const Predictions wanted = predict(net, last, test, settings, report);
  for (const Level& level : {tensor_ops_level(net, settings.threads), layers_level(net, settings.threads)}) {
    for (std::size_t i = 0; i < trained.size(); ++i) level.weights[i].assign(trained[i].read());
    const Predictions found = predict(net, level, test, settings, report);
    const std::string text = net.name + ", " + level.name + " against Trainer: ";
    require_same(report, text + "all test images", found.together, wanted.together);
    require_same(report, text + "single images", found.singles, wanted.singles);
    report_step(net, level, train, settings, report);
  }
  run_command_line(net, trainer, images.test.x, wanted, settings, report);
  report_step(net, last, train, settings, report);
}

}  // namespace

void lenet(const RunSettings& settings, Report& report) {
  const Images images = mnist(settings, report);
  report.remark("The weights that the Trainer has trained are given to the other levels.");
  for (const Program& program : {keras_program(settings), tensorflow_program(settings)}) run(program, images, settings, report);
}

}  // namespace sinter::published
