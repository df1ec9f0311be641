// Card fraud, article C: an autoencoder that is trained on normal transactions only and flags those that it cannot reproduce, with the settings of
// the repository behind the article.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "bench/published/calls.h"
#include "frontend/core/random.h"

namespace sinter::published {

namespace {

constexpr std::size_t features = 30;  ///< Time, V1 ... V28, Amount
constexpr double published_threshold = 5;

/// Transactions in the order of the file.
struct Transactions {
  Tensor x;                         ///< f32 [rows, 30]
  std::vector<std::uint8_t> fraud;  ///< of each row
  bool is_real = false;

  std::size_t rows() const { return fraud.size(); }
};

std::vector<std::string> feature_names() {
  std::vector<std::string> names{"Time"};
  for (int i = 1; i <= 28; ++i) names.push_back("V" + std::to_string(i));
  names.push_back("Amount");
  return names;
}

/// The columns of the article's source stream that its preprocessing drops.
const std::vector<std::string> dropped{"Id", "Timestamp", "User"};

/// A table in the form of the real one: two days, 28 components of falling variance, amounts; frauds differ in some components. With the columns of
/// the source stream it is as that stream, and the fourth row has no class.
void write_generated(const std::filesystem::path& path, std::size_t rows, bool is_source = false) {
  RandomStream random(0, 120);
  std::vector<std::string> names = feature_names();
  names.push_back("Class");
  if (is_source) names.insert(names.begin(), dropped.begin(), dropped.end());
  data::Table table(names);
  for (std::size_t row = 0; row < rows; ++row) {
    const bool fraud = random.below(580) == 0;
    for (std::size_t i = 0; is_source && i < dropped.size(); ++i) table.add_field(str(dropped[i], " ", row));
    table.add_field(str(row * 172792 / rows));
    for (int component = 1; component <= 28; ++component) {
      const double deviation = 2 / std::sqrt(component), shift = fraud && component % 3 == 0 ? -6.5 : 0;
      table.add_field(str(static_cast<float>(deviation * (random.normal() + shift))));
    }
    table.add_field(str(static_cast<float>(std::exp(3 + 1.5 * random.normal()))));
    table.add_field(is_source && row == 3 ? "" : fraud ? "1" : "0");
    table.end_row();
  }
  data::write_csv(path, table);
}

/// Of all columns those of the features; Time and Amount are standardized over all rows, the others are components already. Rows with an empty class
/// are dropped, as the article's stream does.
Transactions read(const std::filesystem::path& path) {
  constexpr data::Scaling standard = data::Scaling::standard;
  const data::Table table = data::read_csv(path);
  const data::Encoder encoder = data::Encoder::fit(table, {.columns = feature_names(),
                                                           .keep = {"Class not empty"},
                                                           .scaling = data::Scaling::none,
                                                           .column_scaling = {{"Time", standard}, {"Amount", standard}}});
  for (const data::ColumnSummary& column : encoder.summary(table))
    if (column.categorical || column.missing)
      throw UserError("creditcard.csv", str("column ", column.name, " must hold a number in each row, but ",
                                            column.categorical ? std::string("most of its fields are none")
                                                               : str("of ", table.rows(), " fields ", column.missing, " are missing")));
  const std::vector<data::Condition> is_fraud{"Class != 0"};
  const std::vector<std::size_t> rows = encoder.kept_rows(table), frauds = data::rows_where(table, is_fraud);
  Transactions result{encoder.features(table), {}};
  for (const std::size_t row : rows) result.fraud.push_back(std::binary_search(frauds.begin(), frauds.end(), row));
  return result;
}

/// A file that is removed again.
class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / str("sinter_fraud_", ::getpid(), ".csv")) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Transactions transactions(const RunSettings& settings, Report& report) {
  const std::filesystem::path real = std::filesystem::path(settings.data) / "creditcard.csv";
  const bool is_there = !settings.generated && !settings.data.empty() && std::filesystem::is_regular_file(real);
  const TemporaryFile generated;
  if (!is_there) write_generated(generated.path(), settings.quick ? 30000 : 284807);
  Transactions result;
  const double seconds = seconds_of([&] { result = read(is_there ? real : generated.path()); });
  result.is_real = is_there;
  report.cell("reading the table", "Sinter default", seconds, "s", str(result.rows(), " rows of 31 columns"));
  report.remark(is_there
                    ? "Transactions: the credit card set, --data/creditcard.csv."
                    : "Transactions: generated in the form of the credit card set, which is not in --data (creditcard.csv); so no figure equals the "
                      "published ones, and none is asserted.");
  return result;
}

/// Of the source stream's 34 columns, three are dropped, and so are rows without a class.
void require_preprocessing(Report& report) {
  const TemporaryFile file;
  write_generated(file.path(), 10, true);
  const Transactions stream = read(file.path());
  report.require("fraud: rows of ten of the source stream, one of them without a class", static_cast<double>(stream.rows()), 9, 9);
  report.require("fraud: columns kept of the source stream's 34, with the class", static_cast<double>(stream.x.shape()[1].factor() + 1), 31, 31);
}

/// A fifth, at random, to test on, and the normal ones of the others to learn from.
struct Split {
  Dataset train, test;              ///< both from x to x
  std::vector<std::uint8_t> fraud;  ///< of the test rows
};

Split split(const Transactions& all) {
  data::RowSplit rows = data::split_rows(all.rows(), {.test = 0.2, .seed = 314});
  std::erase_if(rows.train, [&](std::size_t row) { return all.fraud[row]; });
  const Dataset reproduced{all.x, all.x};
  Split result{reproduced.select(rows.train), reproduced.select(rows.test), {}};
  for (const std::size_t row : rows.test) result.fraud.push_back(all.fraud[row]);
  return result;
}

Trainer autoencoder(Mode mode, const RunSettings& settings) {
  using enum nn::Activation;
  seed(1);
  return {nn::Sequential{nn::Dense(30, 14, tanh), nn::Dense(14, 7, relu), nn::Dense(7, 7, tanh), nn::Dense(7, 30, relu)},
          loss::mean_squared_error,
          optim::Adam(),
          {.mode = mode, .threads = settings.threads}};
}

/// The mean over the columns of (x - x̂)², of each row.
std::vector<float> errors(Trainer& trainer, const Dataset& data) {
  const Tensor x = data.x;
  return mean(square(trainer.predict(x) - x), {-1}).to_vector<float>();
}

double area_under_curve(const std::vector<float>& scores, const std::vector<std::uint8_t>& fraud) {
  const metric::RocCurve roc = metric::roc_curve(fraud, scores);
  return metric::area_under(roc.fpr, roc.tpr);
}

/// What a threshold makes of the test rows: greater scores are taken for frauds.
void report_threshold(Report& report, const std::string& where, const std::vector<float>& scores, const std::vector<std::uint8_t>& fraud,
                      double threshold) {
  metric::BinaryCounts counts;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool over = static_cast<double>(scores[i]) > threshold;
    (fraud[i] ? (over ? counts.true_positives : counts.false_negatives) : (over ? counts.false_positives : counts.true_negatives)) += 1;
  }
  for (const auto& [name, value] : {std::pair{"normal, passed", counts.true_negatives},
                                    {"normal, flagged", counts.false_positives},
                                    {"frauds found", counts.true_positives},
                                    {"frauds missed", counts.false_negatives},
                                    {"precision", counts.precision()},
                                    {"recall", counts.recall()}})
    report.cell(str(where, ": ", name), "Sinter default", value, "");
}

double quantile(const std::vector<float>& sorted, double share) {
  return static_cast<double>(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]);
}

/// Trains for some epochs and keeps the best, as the repository does. Returns them.
std::vector<EpochResult> train(Trainer& trainer, const Split& data, std::int64_t batch_size, std::int64_t epochs, const std::string& column,
                               Report& report) {
  const auto best = std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.patience = epochs, .restore_best = true});
  std::vector<EpochResult> results =
      trainer.fit(data.train, {.epochs = epochs, .batch_size = batch_size, .validation = data.test, .verbose = false, .callbacks = {best}});
  double seconds = -trainer.train_step().compile_seconds();
  for (const EpochResult& epoch : results) seconds += epoch.seconds;
  const std::int64_t steps = epochs * ((data.train.size() + batch_size - 1) / batch_size);
  report.cell(str("batch ", batch_size, ", training step"), column, seconds / static_cast<double>(steps), "s",
              str(steps, " steps, without compiling"));
  return results;
}

void judge(Trainer& trainer, const Split& data, Report& report) {
  std::vector<float> scores = errors(trainer, data.test), sorted = scores;
  std::sort(sorted.begin(), sorted.end());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  report.cell("test error, mean", "Sinter default", mean, "");
  for (const auto& [share, name] : {std::pair{0.25, "first quartile"}, {0.5, "median"}, {0.75, "third quartile"}, {1.0, "greatest"}})
    report.cell(str("test error, ", name), "Sinter default", quantile(sorted, share), "");
  report.cell("AUC", "Sinter default", area_under_curve(scores, data.fraud), "");
  report.cell("average precision", "Sinter default", metric::average_precision(data.fraud, scores), "");
  report_threshold(report, "threshold 5", scores, data.fraud, published_threshold);
  std::vector<float> learned = errors(trainer, data.train);
  std::sort(learned.begin(), learned.end());
  report_threshold(report, "threshold of the 99th percentile of training errors", scores, data.fraud, quantile(learned, 0.99));
}

/// One transaction at a time, to its score.
void score_singly(Trainer& trainer, const Split& data, const RunSettings& settings, Report& report) {
  const std::vector<float> x = data.test.x.only().to_vector<float>();
  std::vector<float> out(features);
  std::size_t row = 0;
  double sum = 0;
  const auto score = [&] {
    const std::span<const float> in = std::span(x).subspan(row * features, features);
    row = (row + 1) % data.fraud.size();
    trainer.predict_one(in, out);
    for (std::size_t i = 0; i < features; ++i) sum += static_cast<double>((in[i] - out[i]) * (in[i] - out[i]));
  };
  if (settings.has("best"))
    report_calls(report, "scoring one transaction", "Sinter best", repeat(score, settings.quick ? 0.2 : 1, 100, 1000000), "predict_one");
  const Tensor all = data.test.x;
  if (settings.has("default")) {
    const Calls calls = repeat(
        [&] {
          const Tensor one = slice(all, 0, 0, 1);
          sum += mean(square(trainer.predict(one) - one)).item();
        },
        settings.quick ? 0.2 : 1, 100, 1000000);
    report_calls(report, "scoring one transaction", "Sinter default", calls, "predict and tensor ops");
  }
}

}  // namespace

void fraud(const RunSettings& settings, Report& report) {
  require_preprocessing(report);
  const Transactions all = transactions(settings, report);
  const Split data = split(all);
  report.remark(
      str(all.rows(), " rows, of which ", std::accumulate(all.fraud.begin(), all.fraud.end(), std::size_t{0}), " are frauds; ", data.train.size(),
          " normal ones to learn from, ", data.test.size(),
          " to test on. The penalty of 1e-7 times the absolute outputs of the first layer is left out: it is about a millionth of the loss."));
  Trainer trainer = autoencoder(Mode::graph, settings);
  double parameters = 0;
  for (const Parameter& parameter : trainer.parameters()) parameters += parameter.trainable() ? static_cast<double>(parameter.read().elements()) : 0;
  report.require("fraud: parameters", parameters, 835, 835);
  const std::vector<EpochResult> epochs = train(trainer, data, 32, settings.quick ? 1 : 5, "Sinter default", report);
  for (const EpochResult& epoch : epochs) {
    report.point("Fraud: loss", "Sinter, training", static_cast<double>(epoch.epoch), epoch.loss);
    report.point("Fraud: loss", "Sinter, validation", static_cast<double>(epoch.epoch), *epoch.validation_loss);
  }
  judge(trainer, data, report);
  if (all.is_real) report.require("fraud: rows", static_cast<double>(all.rows()), 284807, 284807);
  if (all.is_real && !settings.quick) {
    report.require("fraud: validation loss after 5 epochs at batch 32", *epochs.back().validation_loss, 0.73, 0.77);
    report.require("fraud: AUC", area_under_curve(errors(trainer, data.test), data.fraud), 0.91, 0.95);
  }
  score_singly(trainer, data, settings, report);
  if (settings.has("default")) {
    Trainer large = autoencoder(Mode::graph, settings);
    train(large, data, 128, 1, "Sinter default", report);
  }
  if (settings.has("eager")) {
    Trainer eager = autoencoder(Mode::eager, settings);
    train(eager, {data.train.slice(0, std::min<std::int64_t>(data.train.size(), 32 * 500)), data.test, {}}, 32, 1, "Sinter eager", report);
  }
}

}  // namespace sinter::published
