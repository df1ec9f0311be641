// The published experiments from outside: the lines of the program, and the page that bench/published/run makes of them.
#include <cstdlib>
#include <fstream>

#include "tests/bench/published_lines.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::published_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// bench/published/run on these lines.
struct Page {
  TemporaryFolder folder;
  Finished finished;
  explicit Page(const std::vector<json>& lines) {
    std::ofstream out(folder / "in.jsonl");
    out << R"({"machine": "Machine: a <test>."})" << "\n";
    for (const json& line : lines) out << line << "\n";
    out.close();
    finished = run(SINTER_PUBLISHED_RUN, {"--lines", folder / "in.jsonl", "--out", folder / "page"});
  }
  std::string markdown() const { return text_of(folder / "page/published.md"); }
  std::string html() const { return text_of(folder / "page/published.html"); }
};

json figure(const std::string& column, double seconds, const std::string& note = "") {
  return {{"series", "regression"}, {"row", "10,000 steps, float32, seconds"}, {"column", column}, {"value", seconds}, {"unit", "s"}, {"note", note}};
}

TEST(Published, ListsItsSeries) { EXPECT_THAT(published({"--list"}), Prints(AllOf(HasSubstr("perceptron\n"), HasSubstr("regression\n")))); }

TEST(Published, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(published({"regression", "no_such"}), Fails(2, AllOf(HasSubstr("no series 'no_such'; there are "), HasSubstr("regression"))));
  EXPECT_THAT(published({}), Fails(2, HasSubstr("name a series; there are ")));
  EXPECT_THAT(published({"regression", "--mode", "fast"}), Fails(105, HasSubstr("fast")));
  EXPECT_THAT(published({"regression", "--data", "/no/such/folder"}), Fails(105, HasSubstr("Directory does not exist: /no/such/folder")));
}

TEST(Published, TheRegressionHasTheArticlesDigitsInAllModes) {
  const Finished finished = published({"regression", "--quick"});
  ASSERT_EQ(finished.status, 0) << finished;
  const std::vector<json> lines = lines_of(finished.out);
  EXPECT_EQ(assertions(lines, true), 8u);
  EXPECT_EQ(assertions(lines, false), 0u);
  const std::map<std::string, double> values = figures(lines);
  EXPECT_NEAR(values.at("closed form, w0|Sinter best"), 2.99536719, 5e-9);
  for (const char* mode : {"default", "best", "eager"})
    EXPECT_FLOAT_EQ(values.at(std::string("10,000 steps, float32, w0|Sinter ") + mode), 2.9598553f) << mode;
}

TEST(Published, TheModeChoosesTheColumns) {
  const Finished finished = published({"regression", "--mode", "best"});
  EXPECT_THAT(finished,
              Prints(AllOf(HasSubstr("all steps in one call"), Not(HasSubstr("Sinter eager")), Not(HasSubstr("one call of the compiled step")))));
}

TEST(Published, ThePerceptronOnGeneratedDataIsTheSameEveryTime) {
  const Finished first = published({"perceptron", "--quick", "--generated"}),
                 second = published({"perceptron", "--quick", "--generated", "--threads", "1"});
  ASSERT_EQ(first.status, 0) << first;
  ASSERT_EQ(second.status, 0) << second;
  const std::vector<json> lines = lines_of(first.out);
  EXPECT_THAT(first.out, AllOf(HasSubstr("accuracies mean nothing"), HasSubstr("all but: no gradient of the input"), HasSubstr("batch 5000")));
  EXPECT_EQ(assertions(lines, true), 3u);  // numbers of weights: nothing else is asserted of generated data
  const std::map<std::string, double> values = figures(lines);
  EXPECT_EQ(values, figures(lines_of(second.out)));
  EXPECT_GT(values.at("accuracy, test set|Sinter default"), 0.9);
  EXPECT_DOUBLE_EQ(values.at("learning rate after the last epoch|Sinter default"), 0.001 / 1 / (1 + 1e-6) / (1 + 2e-6));
  EXPECT_THAT(values, Contains(Key("NumPy program: mean |weight| by epoch|L2|3.0")));
}

TEST(Published, AFolderWithoutMnistIsSaid) {
  const TemporaryFolder folder;
  EXPECT_THAT(published({"perceptron", "--quick", "--data", folder.path, "--mode", "best"}),
              Prints(HasSubstr("since there is no folder mnist in --data")));
}

TEST(Published, ADamagedFolderIsAnError) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "mnist");
  EXPECT_THAT(published({"perceptron", "--data", folder.path}), Fails(1, HasSubstr("train-images-idx3-ubyte")));
}

TEST(PublishedPage, SaysWhoIsAheadAndThePriceOfNotKnowing) {
  const Page page(std::vector<json>{figure("Sinter default", 0.02), figure("Sinter best", 0.01, "all at once"), figure("JAX default", 5),
                                    figure("JAX best", 0.03), figure("Python", 0.015)});
  EXPECT_THAT(page.finished, Prints(HasSubstr("5 figures, 0 assertions hold, 0 do not")));
  EXPECT_THAT(page.markdown(),
              AllOf(HasSubstr("Machine: a <test>."), HasSubstr("TensorFlow 1.198 s"),              // the published figure
                    HasSubstr("default 20 ms<br>best 10 ms (1)"), HasSubstr("- (1) all at once"),  //
                    HasSubstr("best: ahead of Python, 1.5 ×; default: behind Python, 1.3 ×"),      //
                    HasSubstr("| JAX | 1 | 167 × |"), HasSubstr("| Sinter | 1 | 2 × |"), HasSubstr("![regression-table-1](regression-table-1.svg)")));
  EXPECT_THAT(page.html(), AllOf(HasSubstr("a &lt;test&gt;"), HasSubstr("<svg"), HasSubstr("prefers-color-scheme:dark"), Not(HasSubstr("<script")),
                                 Not(HasSubstr("src="))));
  EXPECT_THAT(text_of(page.folder / "page/regression-table-1.svg"), HasSubstr("JAX best 30 ms"));
}

TEST(PublishedPage, WithoutPeersComparesWithTheArticle) {
  const Page page(std::vector<json>{figure("Sinter default", 0.01)});
  EXPECT_THAT(page.markdown(), HasSubstr("ahead of the article: TensorFlow, 120 ×"));
}

TEST(PublishedPage, RowsThatAreNotPublishedAndCurvesAreShownToo) {
  json row = figure("Sinter default", 3);
  row["row"] = "a further row | with a bar";
  row["unit"] = "";
  const Page page(std::vector<json>{row,
                                    {{"series", "regression"}, {"chart", "loss"}, {"curve", "mine"}, {"x", 1}, {"y", 0.5}},
                                    {{"series", "regression"}, {"chart", "loss"}, {"curve", "mine"}, {"x", 2}, {"y", 0.25}},
                                    {{"series", "regression"}, {"remark", "said once"}}});
  EXPECT_THAT(page.markdown(), AllOf(HasSubstr("### Further figures"), HasSubstr("a further row \\| with a bar"), HasSubstr("- said once\n"),
                                     HasSubstr("regression-chart-1.svg")));
  EXPECT_THAT(page.html(), AllOf(HasSubstr("<polyline class=\"curve l0\""), HasSubstr(">mine</text>")));
}

TEST(PublishedPage, AnAssertionThatDoesNotHoldEndsIt) {
  const json broken{{"series", "regression"}, {"assert", "weights of A"}, {"value", 5}, {"low", 6}, {"high", 7}, {"ok", false}};
  const Page page(std::vector<json>{figure("Sinter default", 0.01), broken});
  EXPECT_THAT(page.finished, Fails(1, HasSubstr("[published] does not hold: weights of A")));
  EXPECT_THAT(page.markdown(), HasSubstr("DOES NOT HOLD: weights of A: 5 in [6, 7]"));
}

TEST(PublishedPage, RunMakesItAndRefusesWhatItDoesNotKnow) {
  const TemporaryFolder folder;
  const std::string out = folder / "page";
  const auto make = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--program", SINTER_PUBLISHED_PROGRAM, "--out", out});
    return run(SINTER_PUBLISHED_RUN, arguments);
  };
  const Finished made = make({"regression", "--quick"});
  EXPECT_EQ(made.status, 0) << made;
  EXPECT_THAT(made.out, HasSubstr("8 assertions hold, 0 do not"));
  EXPECT_THAT(text_of(folder / "page/published.md"), AllOf(HasSubstr("No other framework was run (--python)"), HasSubstr("2.99536719")));
  EXPECT_EQ(run(SINTER_PUBLISHED_RUN, {"--lines", folder / "page/published.jsonl", "--out", folder / "again"}).status, 0);
  EXPECT_EQ(text_of(folder / "page/published.html"), text_of(folder / "again/published.html"));

  EXPECT_THAT(make({"no_such"}), Fails(1, HasSubstr("[published] there is no series no_such; there are ")));
  EXPECT_THAT(make({"regression", "--data", "/no/such/folder"}), Fails(1, HasSubstr("there is no folder /no/such/folder; give one")));
  EXPECT_THAT(make({"regression", "--python", "/no/such/python"}), Fails(1, HasSubstr("cannot run /no/such/python")));
  EXPECT_THAT(run(SINTER_PUBLISHED_RUN, {"--program", "/no/such/program"}), Fails(1, HasSubstr("cannot run /no/such/program; build it")));
  EXPECT_THAT(run(SINTER_PUBLISHED_RUN, {"--lines", "/no/such/lines"}), Fails(1, HasSubstr("cannot read the lines in /no/such/lines")));
}

TEST(PublishedPage, APeerThatFailsIsSaid) {
  const TemporaryFolder folder;
  const std::string python = folder / "python", out = folder / "page";
  std::ofstream(python) << "#!/bin/sh\ncase $3 in --list) echo Broken;; *) echo 'no module named broken' >&2; exit 3;; esac\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const Finished made = run(SINTER_PUBLISHED_RUN, {"regression", "--quick", "--python", python, "--program", SINTER_PUBLISHED_PROGRAM, "--out", out});
  EXPECT_EQ(made.status, 0) << made;
  EXPECT_THAT(made.err, HasSubstr("left out: Broken: no module named broken"));
  EXPECT_THAT(text_of(folder / "page/published.md"), HasSubstr("- Broken failed: no module named broken\n"));
}

}  // namespace
}  // namespace sinter::test::published_test
