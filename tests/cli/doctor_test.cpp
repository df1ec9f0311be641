// sinter doctor: what it tells of a machine.
#include <cstdlib>

#include "tests/cli/cli.h"

namespace sinter::test::doctor_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Doctor : public Cli {
 protected:
  /// With a cache of the test's own.
  std::function<void()> settings(std::vector<std::pair<std::string, std::string>> more = {}) const {
    return [more, cache = folder.path] {
      ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
      for (const auto& [name, value] : more) ::setenv(name.c_str(), value.c_str(), 1);
    };
  }
};

TEST_F(Doctor, TellsWhatThereIs) {
  EXPECT_THAT(
      sinter_with({"doctor"}, settings()),
      Prints(AllOf(StartsWith("sinter     "), ContainsRegex("\nprocessor  .+\ntarget     .+\nthreads    [0-9]+ thread.* at most, by "),
                   ContainsRegex("\nmemory     [0-9.]+ [KMG]B of [0-9.]+ [KMG]B available"),
                   HasSubstr("/sinter (not made yet) holds 0 entries, 0 bytes of at most 536.9 MB\n"),
                   ContainsRegex("\nspeed      [0-9.]+ GFLOP/s of f32 multiply-adds on 1 thread, [0-9.]+ on [0-9]+; [0-9.]+ GB/s of memory\n"),
                   ContainsRegex("\nvariable   XDG_CACHE_HOME=.*: folder that the object cache is in\n"))));
}

TEST_F(Doctor, MeasuresNothingIfAsked) {
  EXPECT_THAT(sinter_with({"doctor", "--quick"}, settings({{"OMP_NUM_THREADS", "3"}, {"SINTER_CHACHE", "off"}})),
              Prints(AllOf(HasSubstr("threads    3 threads at most, by OMP_NUM_THREADS: "), Not(HasSubstr("GFLOP/s of f32")),
                           HasSubstr("warning    there is no setting SINTER_CHACHE; the nearest is 'SINTER_CACHE'\n"))));
}

TEST_F(Doctor, PrintsJson) {
  EXPECT_THAT(sinter_with({"doctor", "--json", "--quick"}, settings({{"SINTER_CACHE", "off"}})),
              Prints(AllOf(StartsWith("{\n  \"version\": \""), HasSubstr("\"problem\": \"is switched off by SINTER_CACHE=off\""),
                           HasSubstr("\"name\": \"SINTER_CACHE\",\n      \"value\": \"off\",\n      \"meaning\": \"off: no object cache\""),
                           HasSubstr("\"warnings\": ["))));
}

TEST_F(Doctor, SaysWhichSettingIsWrong) {
  EXPECT_THAT(sinter_with({"doctor", "--quick"}, settings({{"SINTER_MODE", "fast"}})),
              Fails(failure, HasSubstr("[SINTER_MODE] must be 'eager' or 'graph'")));
  EXPECT_THAT(sinter_with({"doctor", "--quick"}, settings({{"OMP_NUM_THREADS", "none"}})),
              Fails(failure, HasSubstr("[OMP_NUM_THREADS] must be a number of threads of at least 1, got 'none'")));
}

}  // namespace
}  // namespace sinter::test::doctor_test
