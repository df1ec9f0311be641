// What a stream counts.
#include "frontend/serve/counters.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/frontend/helpers.h"

namespace sinter::test::counters_test {
namespace {

using serve::Answer;
using serve::Counters;
using serve::LatencyHistogram;
using testing::AllOf;
using testing::HasSubstr;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::vector<Answer> some_answers() { return {{"", 0.05}, {"", 0.5}, {"", none, true}, {"", 0.51}, {"", none, false, true}, {"", 7}, {"", 0.1}}; }

TEST(LatencyHistogram, QuantilesAreOffByLittle) {
  LatencyHistogram latencies;
  EXPECT_EQ(latencies.quantile(0.5), 0);
  double sum = 0;
  for (int i = 1; i <= 1000; ++i) latencies.add(i * 1e-6), sum += i * 1e-6;
  EXPECT_EQ(latencies.count(), 1000);
  EXPECT_NEAR(latencies.sum(), sum, 1e-12);
  for (const double q : {0.001, 0.5, 0.9, 0.99, 1.0}) EXPECT_NEAR(latencies.quantile(q), q * 1e-3, 0.0045 * q * 1e-3) << q;
  EXPECT_EQ(latencies.quantile(-1), latencies.quantile(0.001));
  // Each duration alone, from the smallest on.
  for (double seconds = 1e-9; seconds < 4000; seconds *= 1.037) {
    LatencyHistogram one;
    one.add(seconds, 3);
    EXPECT_NEAR(one.quantile(0.5), seconds, std::max(1e-9, 0.004 * seconds)) << seconds;
  }
  LatencyHistogram odd;
  odd.add(-1), odd.add(none), odd.add(1e9);
  EXPECT_EQ(odd.quantile(0.5), 0);
  EXPECT_NEAR(odd.quantile(1), std::ldexp(1e-9, 42), 20);
  odd.add(latencies);
  EXPECT_EQ(odd.count(), 1003);
}

TEST(Counters, CountRecordsByTheirAnswers) {
  Counters counters({0.1, 0.5, 1});
  counters.add(some_answers());
  EXPECT_EQ(counters.records(), 7);
  EXPECT_EQ(counters.errors(), 1);
  EXPECT_EQ(counters.skipped(), 1);
  EXPECT_EQ(counters.text(), "7 records, 1 error, 1 skipped, 0 results");
  counters.add_results(5);
  counters.add_latency(0.002, 6);
  counters.add_latency(1.5);
  EXPECT_EQ(counters.results(), 5);
  EXPECT_EQ(counters.latencies().count(), 7);
  EXPECT_EQ(counters.text(), "7 records, 1 error, 1 skipped, 5 results; latency p50 2 ms, p99 1.5 s, p99.9 1.5 s");
  counters.set("sinter_model_generation", "The number\nof the model.", 2);
  counters.set("sinter_model_generation", "", 3);
  Counters others({0.1, 0.5, 1});
  others.add(some_answers());
  others.set("another:one_2", "", 0.5);
  counters.add(others);
  EXPECT_THAT(
      counters.prometheus(),
      AllOf(HasSubstr("# TYPE sinter_records_total counter\nsinter_records_total 14\n"), HasSubstr("\nsinter_record_errors_total 2\n"),
            HasSubstr("\nsinter_records_skipped_total 2\n"), HasSubstr("\nsinter_results_total 5\n"),
            HasSubstr("# TYPE sinter_latency_seconds summary\nsinter_latency_seconds{quantile=\"0.5\"} 0.00"),
            HasSubstr("\nsinter_latency_seconds_count 7\n"), HasSubstr("\nsinter_score_bucket{le=\"0.1\"} 4\n"),
            HasSubstr("\nsinter_score_bucket{le=\"0.5\"} 6\n"), HasSubstr("\nsinter_score_bucket{le=\"1\"} 8\n"),
            HasSubstr("\nsinter_score_bucket{le=\"+Inf\"} 10\nsinter_score_sum 16.32\nsinter_score_count 10\n"),
            HasSubstr("# HELP sinter_model_generation The number\\nof the model.\n# TYPE sinter_model_generation gauge\nsinter_model_generation 3\n"),
            HasSubstr("\nanother:one_2 0.5\n")));
}

TEST(Counters, AreWrittenWhole) {
  const TemporaryFolder folder;
  const std::string path = folder / "metrics.prom";
  Counters counters;
  for (int i = 0; i < 2; ++i) {
    counters.add(some_answers());
    counters.write(path);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(text.str(), counters.prometheus());
  }
  EXPECT_THAT(error_of([&] { counters.write(folder / "none" / "metrics.prom"); }), HasSubstr("metrics.prom"));
}

TEST(Counters, RefuseWhatIsNone) {
  EXPECT_THAT(error_of([] { Counters({1, 1}); }), HasSubstr("the bounds of scores must be finite and ascend, but 1 is number 2"));
  EXPECT_THAT(error_of([] { Counters({none}); }), HasSubstr("must be finite and ascend"));
  Counters counters({1});
  EXPECT_THAT(error_of([&] { counters.add(Counters({2})); }), HasSubstr("must have the same bounds of scores"));
  for (const char* name : {"", "1a", "a-b", "ä"})
    EXPECT_THAT(error_of([&] { counters.set(name, "", 1); }), HasSubstr("is no name of a metric; use letters, digits and _")) << name;
}

}  // namespace
}  // namespace sinter::test::counters_test
