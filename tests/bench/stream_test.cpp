// The benchmark of streams from outside: all records and all damaged lines are answered. Whether it is fast enough depends on what else runs.
#include <algorithm>

#include "tests/support/expect_program.h"

namespace sinter::test::stream_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(StreamBench, AnswersAllRecords) {
  const Finished finished = run(SINTER_STREAM_PROGRAM, {"--cli", SINTER_CLI_PROGRAM, "--records", "3000", "--damaged", "2000", "--calls", "100"});
  EXPECT_LE(finished.status, 1) << finished;
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 5) << finished;
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr(R"("format":"raw","who":"sinter","records":12000,"answered":12000,)"), HasSubstr(R"("records":1500,"answered":1500,)"),
                    HasSubstr(R"("lines":2000,"answered":2000,"status":0,"holds":true)"), HasSubstr(R"("measure":"scorer","calls":100,)")));
}

TEST(StreamBench, TellsAProgramThatAnswersNothing) {
  const Finished finished = run(SINTER_STREAM_PROGRAM, {"--cli", "/bin/true", "--records", "10", "--damaged", "10", "--calls", "1"});
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.out, HasSubstr(R"("answered":0,"records_per_s":0.0,)"));
}

}  // namespace
}  // namespace sinter::test::stream_test
