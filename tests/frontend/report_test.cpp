// What tells of a training: the page, and event files.
#include <cstring>
#include <filesystem>
#include <map>

#include "frontend/report/html.h"
#include "frontend/report/markup.h"
#include "frontend/train/tensorboard.h"
#include "ir/graph.h"
#include "tests/frontend/report_helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::report_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReportFiles : public testing::Test {
 protected:
  const TemporaryFolder folder_;
};

// ---- the page ----

TEST(TimeTable, HasARowANodeAndBarsToScale) {
  TimeReport times;
  times.rows = {
      {"%0 = dense f32[N,3]   # dense_1, a<b.cpp:1", "dense_1", 0, 30e-6}, {"%1 = relu f32[N,3]", "", 0, 10e-6}, {"%2 = sum f32[]", "", 1, 5e-6}};
  times.kernel_seconds = {20e-6, 2e-6};
  const std::string table = report::time_table(times);
  EXPECT_EQ(xml_error(table), "") << table;
  EXPECT_EQ(count(table, "<tbody>"), 2u);
  EXPECT_THAT(
      table,
      AllOf(HasSubstr("<td class=\"node\">%0 = dense f32[N,3]</td><td class=\"where\">dense_1, a&lt;b.cpp:1</td><td class=\"number\">30.0</td>"),
            HasSubstr("kernel 0</th><td class=\"number\">40.0</td><td class=\"number\">20.0</td>"),
            HasSubstr("kernel 1</th><td class=\"number\">5.0</td><td class=\"number\">2.0</td>"), HasSubstr("bar eager\" style=\"width:100.0%\""),
            HasSubstr("bar compiled\" style=\"width:50.0%\""), HasSubstr("bar eager part\" style=\"width:75.0%\""),
            HasSubstr("bar compiled\" style=\"width:5.0%\"")));
  times.kernel_seconds.clear();
  EXPECT_THAT(report::time_table(times),
              AllOf(Not(HasSubstr("compiled")), HasSubstr("kernel 1</th><td class=\"number\">5.0</td><td class=\"bars\">")));
}

TEST(ProfileBars, ArePiecesOfTheTimeAndOfTheArithmetic) {
  ProfileReport profile;
  profile.parts = {{"data", 1e-3, 0}, {"forward", 3e-3, 6e6}, {"backward", 4e-3, 18e6}, {"waiting", 1e-6, 0}};
  profile.seconds = 10e-3;
  profile.steps = 10;
  const std::string bars = report::profile_bars(profile);
  EXPECT_EQ(xml_error("<div>" + bars + "</div>"), "") << bars;
  EXPECT_THAT(bars,
              AllOf(HasSubstr("<div class=\"piece forward\" style=\"width:30.0%\" title=\"forward 30.0 %\"></div>"),
                    HasSubstr("<div class=\"piece forward\" style=\"width:25.0%\""), HasSubstr("<div class=\"piece backward\" style=\"width:75.0%\""),
                    HasSubstr("forward</td><td class=\"number\">300.0</td><td class=\"number\">30.0 %</td><td class=\"number\">25.0 %</td>"
                              "<td class=\"number\">2.00</td>"),
                    HasSubstr("waiting</td><td class=\"number\">0.1</td>"), Not(HasSubstr("<div class=\"piece waiting\""))));
  EXPECT_EQ(count(bars, "<div class=\"piece data\""), 1u);  // in the bar of the time alone
}

Dataset blobs(std::int64_t samples, std::uint64_t stream) { return {random({samples, 6}, stream), random_labels(samples, 3, stream)}; }

struct Fitted {
  nn::Sequential model{(seed(3), nn::Dense(6, 8, Activation::tanh)), nn::Dense(8, 3)};
  Trainer trainer;
  explicit Fitted(Mode mode) : trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode}) {}
};

TEST_F(ReportFiles, ThePageHoldsFiguresParametersAndKernels) {
  const std::string path = (folder_ / "page.html").string();
  for (const Mode mode : modes()) {
    Fitted fitted(mode);
    const Dataset data = blobs(90, 1);
    const auto history = fitted.trainer.fit(data, {.epochs = 3, .batch_size = 30, .validation = blobs(30, 2), .verbose = false});
    const std::vector<float> before = fitted.model.parameters()[0].read().to_vector<float>();
    report::write_html(path, fitted.trainer, history, {.title = "a <b> & \"c\"", .sample = &data, .batch_size = 16, .repeats = 2});
    EXPECT_EQ(before, fitted.model.parameters()[0].read().to_vector<float>());
    const std::string page = read_bytes(path);
    EXPECT_EQ(xml_error(page), "");
    EXPECT_THAT(page, AllOf(HasSubstr("<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>"), HasSubstr("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"),
                            Not(HasSubstr("<script")), Not(HasSubstr("src=")), Not(HasSubstr("href=")), HasSubstr("id=\"figures\""),
                            HasSubstr("id=\"curves\""), HasSubstr("id=\"model\""), HasSubstr("id=\"graph\"")));
    for (const EpochResult& epoch : history)
      for (const auto& [name, value] : epoch.values()) {
        EXPECT_THAT(page, HasSubstr("<th class=\"number\">" + name + "</th>"));
        EXPECT_THAT(page, HasSubstr(">" + report::significant(value, 6) + "</td>")) << name;
      }
    for (const Parameter& p : fitted.trainer.parameters()) EXPECT_THAT(page, HasSubstr(">" + p.name() + "</td><td class=\"node\">" + str(p.type())));
    EXPECT_THAT(page, HasSubstr("dense_1 (dense)"));
    EXPECT_THAT(page, AllOf(HasSubstr("id=\"profile\""), HasSubstr("2 steps, 32 samples, at most "), HasSubstr("piece backward")));
    if (mode == Mode::eager) {
      EXPECT_THAT(page, AllOf(HasSubstr("the training step ran eagerly"), Not(HasSubstr("id=\"times\"")), Not(HasSubstr("class=\"graph\""))));
      continue;
    }
    const ir::Graph& graph = fitted.trainer.train_step().graph();
    std::int32_t last = 0;
    for (const ir::NodeId id : graph.topological_order()) last = std::max(last, graph.node(id).kernel);
    for (std::int32_t kernel = 0; kernel <= last; ++kernel) {
      EXPECT_EQ(count(page, str(">kernel ", kernel, "</text>")), 1u);
      EXPECT_EQ(count(page, str(">kernel ", kernel, "</th>")), 1u);
    }
    EXPECT_THAT(page,
                AllOf(HasSubstr(report::escaped(ir::to_text(graph))), HasSubstr("id=\"times\""), HasSubstr("Shortest of 2 steps on 16 samples")));
    report::write_html(path, fitted.trainer, history);
    EXPECT_THAT(read_bytes(path),
                AllOf(HasSubstr("No profile: the report was given no samples"), HasSubstr("No times: the report was given no samples"),
                      HasSubstr("class=\"graph\""), HasSubstr("<h1>Training report</h1>")));
  }
}

TEST_F(ReportFiles, TheBestEpochIsThatOfTheLeastLoss) {
  Fitted fitted(modes().front());
  fitted.trainer.fit(blobs(20, 1), {.verbose = false});
  const std::string path = (folder_ / "page.html").string();
  auto history = some_history();  // the validation loss is least at epoch 4
  report::write_html(path, fitted.trainer, history);
  EXPECT_THAT(read_bytes(path), AllOf(HasSubstr("5 epochs, 2.5 s of training; the last is epoch 5, the best epoch 4, by validation loss"),
                                      HasSubstr("<div class=\"value\">1.22</div><div class=\"best\">epoch 4: 0.275</div>"),
                                      HasSubstr("<div class=\"name\">F&lt;1</div>"), HasSubstr("<tr class=\"best\"><td class=\"number\">4</td>")));
  for (EpochResult& r : history) r.validation_loss.reset();
  history[1].loss = -1;
  history[2].loss = std::nan("");
  report::write_html(path, fitted.trainer, history);
  EXPECT_THAT(read_bytes(path), AllOf(HasSubstr("the best epoch 2, by loss"), HasSubstr(">NaN</td>")));
  EXPECT_EQ(error_of([&] { report::write_html(path, fitted.trainer, {}); }), "[learning_curves] the history has no epochs; pass what fit returned");
  EXPECT_THAT(error_of([&] { report::write_html((folder_ / "no" / "p.html").string(), fitted.trainer, history); }),
              HasSubstr("cannot write the file"));
}

TEST_F(ReportFiles, OfATrainerFromAFile) {
  const std::string file = (folder_ / "model.sinter").string(), path = (folder_ / "page.html").string();
  const Dataset data = blobs(40, 1);
  {
    Fitted fitted(modes().back());
    fitted.trainer.fit(data, {.verbose = false});
    fitted.trainer.save(file);
  }
  Trainer loaded = Trainer::load(file, {.mode = modes().back()});
  const auto history = loaded.fit(data, {.verbose = false});
  report::write_html(path, loaded, history, {.sample = &data, .repeats = 2});
  EXPECT_EQ(xml_error(read_bytes(path)), "");
  EXPECT_THAT(read_bytes(path), AllOf(HasSubstr("dense_1 (dense)"), HasSubstr("dense_1.weight")));
}

// ---- callbacks ----

TEST_F(ReportFiles, TheCallbackWritesThePageOfAllEpochs) {
  const std::string path = (folder_ / "page.html").string();
  Fitted fitted(modes().back());
  const auto report = std::make_shared<callback::Report>(path, report::Options{.title = "twice"});
  fitted.trainer.fit(blobs(40, 1), {.epochs = 2, .verbose = false, .callbacks = {report}});
  EXPECT_THAT(read_bytes(path), HasSubstr("2 epochs, "));
  fitted.trainer.fit(blobs(40, 1), {.epochs = 1, .verbose = false, .callbacks = {report}});
  EXPECT_THAT(read_bytes(path), AllOf(HasSubstr("3 epochs, "), HasSubstr("<h1>twice</h1>")));
  EXPECT_THAT(error_of([] { callback::Report(""); }), HasSubstr("[Report] the path is empty"));
  EXPECT_THAT(error_of([] { callback::Report("/nowhere/page.html"); }), HasSubstr("page.html] cannot write the file: failed to create it"));
}

/// The payloads of a TFRecord file, if its framing is right.
std::vector<std::string> records(const std::string& bytes) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto number = [&](std::size_t from) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + from, sizeof value);
      return value;
    };
    const auto masked = [&](std::size_t from, std::size_t size) {
      const std::uint32_t crc = runtime::crc32c(std::as_bytes(std::span(bytes).subspan(from, size)));
      return (crc >> 15 | crc << 17) + 0xa282ead8u;
    };
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    if (at + size + 16 > bytes.size() || number(at + 8) != masked(at, 8) || number(at + 12 + size) != masked(at + 12, size)) {
      ADD_FAILURE() << "no record at byte " << at;
      return result;
    }
    result.push_back(bytes.substr(at + 12, size));
    at += size + 16;
  }
  return result;
}

TEST_F(ReportFiles, TensorBoardGetsKerasLayout) {
  Fitted fitted(modes().back());
  const auto board = std::make_shared<callback::TensorBoard>((folder_ / "logs").string(), callback::TensorBoardOptions{.histograms_every = 2});
  fitted.trainer.fit(blobs(40, 1), {.epochs = 3, .validation = blobs(20, 2), .verbose = false, .callbacks = {board}});
  std::map<std::string, std::vector<std::string>> events;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "logs"))
    if (entry.is_regular_file()) {
      EXPECT_THAT(entry.path().filename().string(), testing::StartsWith("events.out.tfevents."));
      auto& found = events[entry.path().parent_path().filename().string()];
      EXPECT_TRUE(found.empty()) << "two files in " << entry.path().parent_path();
      found = records(read_bytes(entry.path()));
    }
  ASSERT_EQ(events.size(), 2u);
  const auto with = [&](const std::string& part, const std::string& text) {  // a tag stands behind its length
    const std::string tag = static_cast<char>(text.size()) + text;
    return std::count_if(events[part].begin(), events[part].end(),
                         [&](const std::string& event) { return event.find("\x0a" + tag) != std::string::npos; });
  };
  EXPECT_THAT(events["train"].at(0), HasSubstr("brain.Event:2"));
  EXPECT_THAT(events["validation"].at(0), HasSubstr("brain.Event:2"));
  for (const char* tag : {"epoch_loss", "epoch_accuracy"}) {
    EXPECT_EQ(with("train", tag), 3) << tag;
    EXPECT_EQ(with("validation", tag), 3) << tag;
  }
  EXPECT_EQ(with("train", "epoch_learning_rate"), 3);
  EXPECT_EQ(with("train", "epoch_seconds"), 3);
  std::size_t histograms = 0;
  for (const Parameter& p : fitted.trainer.parameters()) {
    const bool of_the_model = p.name().starts_with("dense_");
    histograms += of_the_model;
    EXPECT_EQ(with("train", p.name()), of_the_model ? 1 : 0) << p.name();
  }
  EXPECT_EQ(histograms, 4u);
  EXPECT_EQ(events["train"].size(), 1 + 3 * 4 + histograms);
  EXPECT_EQ(events["validation"].size(), 1u + 3 * 2);
  EXPECT_THAT(error_of([] { callback::TensorBoard("x", {.histograms_every = -1}); }), HasSubstr("must be 0 (none) or a number of epochs, got -1"));
  EXPECT_THAT(error_of([] { callback::TensorBoard(""); }), HasSubstr("the folder's name is empty"));
}

}  // namespace
}  // namespace sinter::test::report_test
