// A program may set a locale that groups digits and writes decimal commas: no byte of any file changes.
#include <filesystem>
#include <locale>
#include <map>

#include "frontend/data/csv.h"
#include "frontend/data/encoder.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/report/graph_drawing.h"
#include "frontend/report/html.h"
#include "frontend/weights/state_dict.h"
#include "ir/graph.h"
#include "ir/print.h"
#include "runtime/file/event_file.h"
#include "tests/frontend/report_helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::locale_test {
namespace {

namespace fs = std::filesystem;

/// Groups single digits, so that 12.5 is 1.2,5 and no number of two digits is as it was.
class Grouped : public std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\1"; }
};

class WithGroups {
 public:
  WithGroups() : before_(std::locale::global(std::locale(std::locale::classic(), new Grouped))) {}
  ~WithGroups() { std::locale::global(before_); }
  WithGroups(const WithGroups&) = delete;
  WithGroups& operator=(const WithGroups&) = delete;

 private:
  std::locale before_;
};

struct Fitted {
  Dataset data{random({1234, 12}, 1), random_labels(1234, 3, 2)};
  nn::Sequential model{(seed(3), nn::Dense(12, 34, Activation::tanh)), nn::Dense(34, 3)};
  Trainer trainer{model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = modes().back()}};
  Fitted() { trainer.fit(data, {.epochs = 1, .batch_size = 500, .verbose = false}); }
};

/// A file of every kind, and the texts that are hashed or shown, by names.
std::map<std::string, std::string> everything(Fitted& fitted) {
  const TemporaryFolder folder;
  std::map<std::string, std::string> result;
  const auto write = [&](const std::string& name, const auto& writer) {
    writer((folder / name).string());
    result[name] = read_bytes(folder / name);
  };
  Trainer& trainer = fitted.trainer;
  const std::vector<EpochResult> history = some_history();
  write("model.sinter", [&](const std::string& path) { trainer.save(path); });
  write("weights.npz", [&](const std::string& path) { weights::save(fitted.model, path); });
  write("weights.safetensors", [&](const std::string& path) { weights::save(fitted.model, path); });
  write("report.html", [&](const std::string& path) { report::write_html(path, trainer, history); });
  write("table.csv", [&](const std::string& path) {
    data::Table table({"name", "number"});
    table.add_row({"a", str(12345.25)});
    data::write_csv(path, table);
  });
  write("log.csv", [&](const std::string& path) {
    callback::CsvLog log(path);
    for (const EpochResult& epoch : history) log.on_epoch_end(trainer, epoch);
    EpochResult last = history.back();
    last.epoch = 12345, last.loss = 12345.5;
    log.on_epoch_end(trainer, last);
  });
  runtime::EventFile events(folder / "events", [] { return 1234567890.5; });
  events.scalar("loss", 12345, 0.25);
  events.histogram("weights", 12345, std::vector<float>{0.5f, 1234.5f});
  events.flush();
  result["events"] = read_bytes(events.path());
  const std::string name = events.path().filename().string();
  result["name of the events"] = name.substr(0, name.find('.', std::string("events.out.tfevents.").size()));
  trainer.fit(fitted.data,
              {.epochs = 1, .batch_size = 100, .verbose = false, .checkpoint = {.folder = (folder / "checkpoints").string(), .every_steps = 10}});
  for (const auto& file : fs::directory_iterator(folder / "checkpoints")) result["name of a checkpoint"] += file.path().filename().string() + " ";

  const data::HostArray array{DType::f32, {1000, 20}, std::vector<std::byte>(80'000)};
  const std::vector<std::byte> npy = data::npy_bytes(array, "array");
  result["array.npy"] = std::string(reinterpret_cast<const char*>(npy.data()), npy.size());
  data::Table table({"x", "y"});
  for (int i = 0; i < 20; ++i) table.add_row({str(i * 1000, ".5"), str(i % 2)});
  result["encoder.json"] = data::Encoder::fit(table, {.target = "y"}).to_json();
  Trainer loaded = Trainer::load(folder / "model.sinter");
  const ir::Graph& graph = loaded.train_step().traced_graph();
  result["graph.dot"] = ir::to_dot(graph);
  result["graph.svg"] = report::draw(graph);
  result["graph.txt"] = ir::to_text(graph);
  result["summary.txt"] = trainer.summary();
  metric::ConfusionMatrix matrix(11);
  matrix.add(random({500, 11}, 5), random_labels(500, 11, 6));
  result["matrix.txt"] = matrix.to_text();
  return result;
}

TEST(Locale, ChangesNoByteOfAnyFile) {
  Fitted first, second;  // everything() trains on
  const auto plain = everything(first);
  const WithGroups locale;
  ASSERT_EQ((std::ostringstream() << 12.5).str(), "1.2,5");
  const auto grouped = everything(second);
  ASSERT_EQ(plain.size(), grouped.size());
  for (const auto& [name, bytes] : plain) EXPECT_TRUE(grouped.at(name) == bytes) << name;
}

TEST(Locale, ChangesNothingThatIsRead) {
  const WithGroups locale;
  const TemporaryFolder folder;
  Fitted fitted;
  fitted.trainer.save(folder / "model.sinter");
  weights::save(fitted.model, folder / "weights.npz");
  Trainer again = Trainer::load(folder / "model.sinter", {.mode = Mode::eager});
  const Tensor x = slice(random({20, 12}, 9), 0, 0, 20);
  EXPECT_EQ(again.predict(x).to_vector<float>(), fitted.trainer.predict(x).to_vector<float>());
  weights::load(fitted.model, folder / "weights.npz");
  EXPECT_EQ(again.predict(x).to_vector<float>(), fitted.trainer.predict(x).to_vector<float>());
  data::Table table({"x", "y"});
  for (int i = 0; i < 20; ++i) table.add_row({str(i * 1000, ".5"), str(i % 2)});
  const data::Encoder encoder = data::Encoder::fit(table, {.target = "y"});
  EXPECT_EQ(data::Encoder::from_json(encoder.to_json()).features(table).to_vector<float>(), encoder.features(table).to_vector<float>());
}

}  // namespace
}  // namespace sinter::test::locale_test
