// The benchmark of random shapes from outside: the program that answers requests, and bench/sweep with a peer that is none.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/support/expect_program.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::sweep_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The answers to these lines, one each.
std::vector<json> answers(const std::string& lines) {
  const TemporaryFolder folder;
  const std::string path = folder / "lines";
  std::ofstream(path) << lines;
  const Finished finished = run(SINTER_SWEEP_PROGRAM, {}, [&] { ::dup2(::open(path.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO); });
  EXPECT_EQ(finished.status, 0) << finished;
  std::vector<json> result;
  std::istringstream out(finished.out);
  for (std::string line; std::getline(out, line);) result.push_back(json::parse(line));
  return result;
}

std::string error_of(const std::string& line) {
  const std::vector<json> all = answers(line + "\n");
  return all.size() == 1 ? all[0].value("error", "no error") : "not one answer";
}

/// One small request of each kind, without its form.
const std::vector<std::string>& requests() {
  static const std::vector<std::string> all{
      R"("kind":"dense","batch":3,"inputs":5,"units":7,"activation":"tanh")",
      R"("kind":"conv","batch":2,"height":6,"width":5,"channels":3,"features":4,"kernel_height":3,)"
      R"("kernel_width":2,"stride":2,"padding":1,"activation":"relu")",
      R"("kind":"conv1d","batch":2,"length":9,"channels":3,"features":4,"kernel":3,"stride":1,"padding":1,"activation":"none")",
      R"("kind":"grouped","batch":2,"height":6,"width":5,"channels":6,"features":4,"groups":2,"kernel_height":3,)"
      R"("kernel_width":3,"stride":1,"padding":1,"activation":"none")",
      R"("kind":"depthwise","batch":2,"height":6,"width":5,"channels":3,"features":6,"kernel_height":3,)"
      R"("kernel_width":3,"stride":1,"padding":1,"activation":"relu")",
      R"("kind":"pool","op":"max","batch":2,"height":6,"width":5,"channels":3,"kernel_height":2,"kernel_width":3,"stride":2,"padding":1)",
      R"("kind":"pool","op":"global_average","batch":2,"height":6,"width":5,"channels":3)",
      R"("kind":"normalization","op":"batch_norm","batch":2,"height":6,"width":5,"features":3)",
      R"("kind":"normalization","op":"layer_norm","batch":2,"height":6,"width":1,"features":3)",
      R"("kind":"softmax","op":"log_softmax","batch":2,"length":1,"features":3)",
      R"("kind":"embedding","batch":2,"length":4,"entries":9,"features":3)",
      R"("kind":"elementwise","ops":["add","tanh","mul","gain","bias","exp"],"batch":2,"length":4,"features":3)",
      R"("kind":"recurrent","cell":"gru","batch":2,"length":4,"inputs":3,"units":5)",
      R"("kind":"recurrent","cell":"lstm","batch":2,"length":4,"inputs":3,"units":5)"};
  return all;
}

TEST(Sweep, TimesEachKind) {
  std::string lines;
  for (const std::string& request : requests())
    for (const char* form : {"call", "step"}) lines += "{" + request + R"(,"form":")" + form + R"(","seconds":0.001})" + "\n";
  const std::vector<json> all = answers(lines);
  ASSERT_EQ(all.size(), requests().size() * 2);
  for (const json& answer : all) {
    ASSERT_TRUE(answer.contains("min")) << answer;
    EXPECT_GT(answer["min"], 0) << answer;
    EXPECT_GE(answer["median"], answer["min"]) << answer;
    EXPECT_GE(answer["n"], 3) << answer;
    EXPECT_GT(answer["gflops"], 0) << answer;
    EXPECT_THAT(answer["bound"].get<std::string>(), HasSubstr(" % of the ")) << answer;
  }
}

TEST(Sweep, TellsWhatACallAndAStepCompute) {
  std::string lines;
  for (const std::string& request : requests())
    for (const char* form : {"call", "step"}) lines += "{" + request + R"(,"form":")" + form + R"(","check":true})" + "\n";
  const std::vector<json> all = answers(lines + lines);
  ASSERT_EQ(all.size(), requests().size() * 4);
  for (std::size_t i = 0; i < all.size() / 2; ++i) {
    const json& figures = all[i].at("figures");
    EXPECT_EQ(figures, all[i + all.size() / 2].at("figures"));
    EXPECT_EQ(figures.contains("output"), i % 2 == 0) << figures;
    EXPECT_EQ(figures.contains("loss"), i % 2 == 1) << figures;
    for (const auto& [name, figure] : figures.items()) EXPECT_GT(figure.at(1), 0) << name << " of " << figures;
  }
  // The product with random numbers, the norm and the number of a 3 x 7 output as PyTorch computes it.
  const json& dense = all[0]["figures"]["output"];
  EXPECT_NEAR(dense[0], 1.1419852583, 1e-5);
  EXPECT_NEAR(dense[1], 2.0124394725, 1e-5);
  EXPECT_EQ(dense[2], 21);
  EXPECT_TRUE(all[1]["figures"].contains("change of weight"));
}

TEST(Sweep, AnswersWhatItRefusesAndGoesOn) {
  const std::string sound = "{" + requests()[0] + R"(,"form":"call","seconds":0.001})";
  const std::vector<json> all = answers(sound + "\n\n{broken\n[1]\n" + sound + "\n" + R"({"kind":"dens","form":"call"})" + "\n" + sound);
  ASSERT_EQ(all.size(), 7u);
  for (const std::size_t i : {0u, 4u, 6u}) EXPECT_TRUE(all[i].contains("min")) << all[i];
  EXPECT_THAT(all[1].value("error", ""),
              StartsWith("[sweep] a request must be a JSON object in one line, got an empty line; send one like {\"kind\""));
  EXPECT_THAT(all[2].value("error", ""), HasSubstr("got \"{broken\"; send one"));
  EXPECT_THAT(all[3].value("error", ""), HasSubstr("got \"[1]\"; send one"));
  EXPECT_THAT(all[5].value("error", ""),
              AllOf(StartsWith("[sweep] 'kind' must be one of dense, conv, "), HasSubstr("got \"dens\"; the nearest is 'dense'")));
}

TEST(Sweep, RefusesFieldsThatAreWrong) {
  const std::string dense = R"({"kind":"dense","form":"call","batch":3,"inputs":5,)";
  EXPECT_EQ(error_of(dense + R"("activation":"none"})"),
            "[sweep] 'units' must be a whole number from 1 to 1048576, but the request has no such field; add it");
  EXPECT_EQ(error_of(dense + R"("units":0,"activation":"none"})"), "[sweep] 'units' must be a whole number from 1 to 1048576, got 0; change it");
  EXPECT_THAT(error_of(dense + R"("units":2.5,"activation":"none"})"), HasSubstr("got 2.5; change it"));
  EXPECT_THAT(error_of(dense + R"("units":18446744073709551615,"activation":"none"})"), HasSubstr("got 18446744073709551615; change it"));
  EXPECT_THAT(error_of(dense + R"("units":2,"activation":"rely"})"),
              AllOf(StartsWith("[sweep] 'activation' must be one of none, relu, sigmoid, tanh, got \"rely\"; the nearest is 'relu'")));
  EXPECT_EQ(error_of(dense + R"("units":2,"activation":"relu","strid":1})"),
            "[sweep] a request of kind 'dense' has no field 'strid', got 1; it has activation, batch, form, inputs, kind, units");
  EXPECT_THAT(error_of(R"({"form":"call"})"), StartsWith("[sweep] 'kind' must be a word, but the request has no such field"));
  EXPECT_THAT(error_of(R"({"kind":3,"form":"call"})"), HasSubstr("'kind' must be a word, got 3; put it in quotes"));
  EXPECT_THAT(error_of(dense + R"("units":2,"activation":"relu","seconds":0})"),
              HasSubstr("'seconds' must be a number above 0 and at most 60, got 0"));
  EXPECT_THAT(error_of(dense + R"("units":2,"activation":"relu","check":1})"), HasSubstr("'check' must be true or false, got 1"));
  EXPECT_THAT(error_of(R"({"kind":"elementwise","form":"call","ops":[],"batch":1,"length":1,"features":1})"),
              HasSubstr("'ops' must be a list of 1 to 8 words, got []; the words are "));
  EXPECT_THAT(error_of(R"({"kind":"elementwise","form":"call","ops":["relu",3],"batch":1,"length":1,"features":1})"),
              HasSubstr("got 3; give one of these words"));
}

TEST(Sweep, RefusesShapesThatAskForTooMuchAndThatSinterRefuses) {
  EXPECT_EQ(error_of(R"({"kind":"dense","form":"call","batch":60000,"inputs":100000,"units":10,"activation":"none"})"),
            "[sweep] a call must take at most 20 GFLOP and 2000 MB, but this shape asks for 120 GFLOP and 24006 MB; make it smaller");
  EXPECT_THAT(error_of(R"({"kind":"pool","op":"max","form":"call","batch":1,"height":4,"width":4,"channels":3,"kernel_height":7,"kernel_width":7,)"
                       R"("stride":1,"padding":0})"),
              AllOf(HasSubstr("a window of 7 rows does not fit into the padded input of 4; "), StartsWith("[")));
  const auto grouped = [](int groups) {
    return error_of(str(R"({"kind":"grouped","form":"call","batch":1,"height":4,"width":4,"channels":4,"features":4,"groups":)", groups,
                        R"(,"kernel_height":1,"kernel_width":1,"stride":1,"padding":0,"activation":"none"})"));
  };
  EXPECT_THAT(grouped(3), HasSubstr("groups must divide channels and features, got 3 groups for 4 channels and 4 features"));
  EXPECT_EQ(grouped(5), "[sweep] 'groups' must be a whole number from 1 to 4, got 5; change it");
}

/// bench/sweep with this shell script as the Python of its peer.
Finished sweep(const std::string& script, const std::vector<std::string>& more) {
  const TemporaryFolder folder;
  const std::string peer = folder / "peer";
  std::ofstream(peer) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(peer, std::filesystem::perms::owner_all);
  std::vector<std::string> arguments{"dense", "--count", "2", "--max-seconds", "0.001", "--program", SINTER_SWEEP_PROGRAM, "--python", peer};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(SINTER_SWEEP, arguments);
}

constexpr const char* answers_all = R"(while read line; do echo '{"min": 1.0, "median": 1.0, "n": 3, "mode": "eager"}'; done)";

TEST(SweepDriver, PrintsRatios) {
  const TemporaryFolder folder;
  const Finished finished = sweep(answers_all, {"--lines", folder / "lines"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("| dense, calls | 2 | "), HasSubstr("| dense, steps | 2 | "), HasSubstr("The worst:\n"),
                                  HasSubstr("PyTorch 1 s (eager); batch="), Not(HasSubstr("failed"))));
  std::ifstream in(folder / "lines");
  std::vector<json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(json::parse(line));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["form"], "call");
  EXPECT_EQ(rows[0]["shape"], rows[1]["shape"]);
  EXPECT_GT(rows[3]["ratio"], 1);
}

TEST(SweepDriver, CountsFailuresOfThePeer) {
  const Finished finished = sweep(R"(while read line; do echo '{"error": "no such op"}'; done)", {"--form", "call"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("torch failed on dense call, index 0: no such op; batch="), HasSubstr("PyTorch failed on 2 of 2")));
}

TEST(SweepDriver, StartsAPeerAgainThatEnded) {
  const Finished finished = sweep(R"(read line; exit 3)", {"--form", "call", "--rounds", "1"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("torch failed on dense call, index 1: torch ended with status 3 instead of answering"),
                                  HasSubstr("PyTorch failed on 2 of 2")));
}

TEST(SweepDriver, GivesUpOnAPeerThatOnlyEnds) {
  EXPECT_THAT(sweep("exit 3", {}),
              Fails(1, HasSubstr("[sweep] torch ended with status 3 instead of answering; it failed so 3 times in a row, look at ")));
  EXPECT_THAT(sweep("echo hello; cat > /dev/null", {}), Fails(1, HasSubstr("has times, figures or an error, got b'hello'; it failed so 3 times")));
  EXPECT_THAT(sweep(answers_all, {"--program", "/no/such/program"}),
              Fails(1, HasSubstr("[sweep] sinter cannot be started, /no/such/program: No such file or directory; build it, or name it")));
}

TEST(SweepDriver, AFailureOfSinterIsOneOfTheSweep) {
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  std::ofstream(program) << "#!/bin/sh\n" << R"(while read line; do echo '{"error": "[conv2d] refused"}'; done)" << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Finished finished = sweep(answers_all, {"--program", program});
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("sinter failed on dense step, index 1: [conv2d] refused; batch="), HasSubstr("Sinter failed on 4 of 4")));
}

TEST(SweepDriver, TellsWhatDiffers) {
  const Finished finished =
      sweep(R"(while read line; do echo '{"figures": {"eager": {"output": [0.5, 1.0, 21]}}}'; done)", {"--form", "call", "--check"});
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("differs: dense call, index 0: output: Sinter ["), HasSubstr("dense: 0 of 2 agree")));
}

TEST(SweepDriver, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(run(SINTER_SWEEP, {"dens"}), Fails(2, HasSubstr("dens")));
  EXPECT_THAT(run(SINTER_SWEEP, {"dense", "--count", "0"}), Fails(1, HasSubstr("[sweep] --count, --rounds and --threads must be at least 1")));
}

}  // namespace
}  // namespace sinter::test::sweep_test
