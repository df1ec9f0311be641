// What is printed to a stream of the user's.
#include <iomanip>
#include <sstream>

#include "tests/frontend/helpers.h"

namespace sinter::test::printing_test {
namespace {

TimeReport times() {
  TimeReport report;
  report.eager_seconds = 1.25e-3;
  report.graph_seconds = 0.5e-3;
  report.rows = {{"%4 = sigmoid", "dense_1", 0, 1e-3}};
  report.parallelism = {{16, 7.5, "dense"}};
  report.kernel_seconds = {0.4e-3};
  return report;
}

VerifyReport errors() {
  VerifyReport report;
  report.nodes = 52;
  report.worst = 0.123456;
  return report;
}

VerifyReport disagreements() {
  VerifyReport report = errors();
  report.disagreements = {{"kernels", "%4 = sigmoid", 7, 0.5, 0.25, 1e-6, 123456}};
  return report;
}

template <class T>
void expect_untouched(const T& value) {
  std::ostringstream plain, set;
  plain << value;
  EXPECT_EQ(plain.precision(), 6);
  EXPECT_EQ(plain.flags(), std::ostringstream().flags());
  EXPECT_EQ(plain.fill(), ' ');
  set << std::scientific << std::hex << std::setprecision(3) << std::setfill('_');
  const auto flags = set.flags();
  set << value;
  EXPECT_EQ(set.precision(), 3);
  EXPECT_EQ(set.flags(), flags);
  EXPECT_EQ(set.fill(), '_');
}

TEST(Printing, LeavesTheStreamAsItWas) {
  expect_untouched(times());
  expect_untouched(errors());
  expect_untouched(disagreements());
  expect_untouched(Tensor({1.5f, 2.0f}, {2}));
  expect_untouched(Shape{Dim::batch(), 3});
  expect_untouched(Type{DType::f32, {3}});
}

/// Reports have a form of their own, whatever the stream is set to.
TEST(Printing, OfReportsIsTheSameOnEveryStream) {
  std::ostringstream plain, set;
  plain << times() << errors() << disagreements();
  set << std::scientific << std::hex << std::setprecision(1) << times() << errors() << disagreements();
  EXPECT_EQ(set.str(), plain.str());
  EXPECT_THAT(plain.str(), testing::HasSubstr("eager 1250.0 us, graph 500.0 us (2.50x)"));
}

}  // namespace
}  // namespace sinter::test::printing_test
