// The series of the published experiments that train networks: what holds on generated data, and what their files must be.
#include <cmath>
#include <fstream>

#include "tests/bench/published_lines.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::published_series_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A quick run on generated data, of which all assertions hold.
std::vector<json> quick(const std::string& series, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{series, "--quick", "--generated"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished finished = published(arguments);
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_EQ(assertions(lines_of(finished.out), false), 0u);
  return lines_of(finished.out);
}

/// The column's value in a row, or NaN.
double cell(const std::vector<json>& lines, const std::string& row, const std::string& column) {
  for (const json& line : lines)
    if (line.value("row", "") == row && line["column"] == column) return line["value"];
  return std::nan("");
}

std::size_t assertions_about(const std::vector<json>& lines, const std::string& words) {
  std::size_t count = 0;
  for (const json& line : lines) count += line.contains("assert") && line["assert"].get<std::string>().find(words) != std::string::npos;
  return count;
}

TEST(PublishedSeries, TheFraudAutoencoderFindsGeneratedFrauds) {
  const std::vector<json> lines = quick("fraud"), again = quick("fraud", {"--threads", "1"});
  EXPECT_EQ(assertions(lines, true), 3u);  // the source stream's rows and columns, and the parameters: nothing of generated data
  EXPECT_EQ(figures(lines), figures(again));
  EXPECT_GT(cell(lines, "AUC", "Sinter default"), 0.95);
  EXPECT_GT(cell(lines, "average precision", "Sinter default"), 0.3);
  const double frauds = cell(lines, "threshold 5: frauds found", "Sinter default") + cell(lines, "threshold 5: frauds missed", "Sinter default");
  const double normal = cell(lines, "threshold 5: normal, passed", "Sinter default") + cell(lines, "threshold 5: normal, flagged", "Sinter default");
  EXPECT_EQ(frauds + normal, 6000);
}

TEST(PublishedSeries, TheFraudTableIsReadAndChecked) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& amount, int rows) {
    std::ofstream out(folder / "creditcard.csv");
    out << "\"Time\"";
    for (int i = 1; i <= 28; ++i) out << ",\"V" << i << '"';
    out << ",\"Amount\",\"Class\"\n";
    for (int row = 0; row < rows; ++row) {
      out << row;
      for (int i = 1; i <= 28; ++i) out << ',' << row % 7 - 0.25 * i;
      out << ',' << amount << ",\"" << (row % 10 == 0) << "\"\n";
    }
  };
  write("1.5", 200);
  const Finished other = published({"fraud", "--quick", "--data", folder.path});
  EXPECT_EQ(other.status, 1);  // it is not the set of the article
  EXPECT_THAT(other.out, AllOf(HasSubstr("the credit card set"), HasSubstr(R"("assert":"fraud: rows","value":200.0)")));
  EXPECT_THAT(other.err, HasSubstr("an assertion does not hold"));
  write("12,5", 1);
  EXPECT_EQ(published({"fraud", "--data", folder.path}).status, 1);
  write("1.5x", 1);
  EXPECT_THAT(published({"fraud", "--data", folder.path}),
              Fails(1, HasSubstr("[creditcard.csv] column Amount must hold a number in each row, but most of its fields are none")));
  write("1.5", 200);
  std::ofstream(folder / "creditcard.csv", std::ios::app) << "200" << std::string(29, ',') << ",\"0\"\n";
  EXPECT_THAT(published({"fraud", "--data", folder.path}),
              Fails(1, HasSubstr("[creditcard.csv] column V1 must hold a number in each row, but of 201 fields 1 are missing")));
  write("1.5", 200);
  std::ofstream(folder / "creditcard.csv", std::ios::app) << "200,1.5x" << std::string(28, ',') << ",\"0\"\n";
  EXPECT_THAT(published({"fraud", "--data", folder.path}), Fails(1, AllOf(HasSubstr("column 'V1' holds numbers"), HasSubstr("line 202 '1.5x'"))));
}

TEST(PublishedSeries, AllLevelsOfLeNetPredictTheSameBytes) {
  const std::vector<json> lines = quick("lenet", {"--mode", "default", "--cli", SINTER_CLI_PROGRAM});
  EXPECT_EQ(assertions_about(lines, "differ in any bit"), 16u);
  EXPECT_EQ(assertions_about(lines, "command line against Trainer"), 2u);
  EXPECT_GT(cell(lines, "5/12 filters, test accuracy", "Sinter default"), 60);
}

TEST(PublishedSeries, WithoutTheCommandLineLeNetSaysSo) {
  EXPECT_THAT(published({"lenet", "--cli", "/no/such/program"}), Fails(105, HasSubstr("/no/such/program")));
  const TemporaryFolder folder;
  const std::string broken = folder / "broken";
  std::ofstream(broken) << "no program";
  EXPECT_THAT(published({"lenet", "--quick", "--generated", "--cli", broken}), Fails(1, AllOf(HasSubstr(broken), HasSubstr("cannot be started"))));
}

TEST(PublishedSeries, TheRosettaNetsAreTheRepositorys) {
  const std::vector<json> lines = quick("rosetta", {"--mode", "default"});
  EXPECT_EQ(assertions(lines, true), 4u);
  EXPECT_EQ(assertions_about(lines, "relu_past_pool"), 1u);
  for (const char* row : {"CNN, ReLU after the pool, training step", "CNN, ReLU before the pool, training step",
                          "CNN, own generator that shuffles batches, training step", "CNN, own generator that shuffles observations, training step",
                          "GRU, training step"})
    EXPECT_GT(cell(lines, row, "Sinter default"), 0) << row;
}

/// A .npy file of numbers that are all the same.
void write_npy(const std::string& path, const std::string& dtype, const std::string& shape, const std::string& element, std::size_t count) {
  std::string header = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  std::ofstream out(path, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n';
  for (std::size_t i = 0; i < count; ++i) out << element;
}

TEST(PublishedSeries, ReviewsMustBeWordNumbersOfTheVocabulary) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "imdb");
  const auto write = [&](int words, const std::string& word) {
    for (const std::string set : {"train", "test"}) {
      write_npy(folder / ("imdb/" + set + "-x.npy"), "<i4", "2, " + std::to_string(words), word, 2 * static_cast<std::size_t>(words));
      write_npy(folder / ("imdb/" + set + "-y.npy"), "|u1", "2,", std::string(1, '\0'), 2);
    }
  };
  const auto error = [&] { return published({"rosetta", "--quick", "--mode", "best", "--data", folder.path}); };
  write(100, std::string(4, '\0'));
  EXPECT_THAT(error(), Fails(1, HasSubstr("train-x.npy] must be i32[2,150] for the labels beside it, but is i32[2,100]")));
  write(150, std::string("\x30\x75\0\0", 4));
  EXPECT_THAT(error(), Fails(1, HasSubstr("train-x.npy] has the word number 30000; they must be in [0, 30000)")));
}

TEST(PublishedSeries, EagerAndGraphHaveTheSameLosses) {
  const std::vector<json> lines = quick("eager_graph");
  EXPECT_EQ(assertions_about(lines, ": parameters"), 10u);
  EXPECT_EQ(assertions_about(lines, "eager against graph, greatest relative difference"), 4u);
  EXPECT_GT(cell(lines, "small × small, train_on_batch", "Sinter eager"), 0);
  EXPECT_GT(cell(lines, "small × small, one series, median", "Sinter best"), 0);
}

TEST(PublishedSeries, FullAndQuickExcludeEachOther) {
  EXPECT_THAT(published({"fraud", "--full", "--quick"}), Fails(108, HasSubstr("--quick excludes --full")));
}

TEST(PublishedSeries, RunCountsTheLinesOfCodeOfEachLevel) {
  const TemporaryFolder folder;
  const std::string program = folder / "program", out = folder / "page";
  std::ofstream(program)
      << "#!/bin/sh\ncase $1 in --list) echo lenet;; *) echo \"{\\\"series\\\": \\\"lenet\\\", \\\"remark\\\": \\\"called with $*\\\"}\";; esac\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Finished made = run(SINTER_PUBLISHED_RUN, {"--program", program, "--cli", program, "--full", "--out", out});
  EXPECT_EQ(made.status, 0) << made;
  std::ifstream page(folder / "page/published.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  EXPECT_THAT(text,
              AllOf(HasSubstr("lenet --threads 2 --full --cli " + program), HasSubstr("| lines of code: tensor ops |"),
                    HasSubstr("| lines of code: Trainer |"), HasSubstr("| lines of code: Keras |"), Not(HasSubstr("10,000 images one by one"))));
}

}  // namespace
}  // namespace sinter::test::published_series_test
