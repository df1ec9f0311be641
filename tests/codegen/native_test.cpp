// Properties of the machine code: accuracy of its functions, the same bytes on every vector target, no leaks.
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/math/functions.h"
#include "frontend/compile/variant.h"
#include "runtime/chrome_trace.h"
#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A dense sample of all floats, and the special ones.
std::vector<float> sample_floats() {
  const float least = std::numeric_limits<float>::min(), greatest = std::numeric_limits<float>::max();
  std::vector<float> x;
  for (const float size :
       {0.0f, 1e-44f, least, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 8388607.5f, 8388609.0f, 16777215.0f, 16777216.0f, greatest, INFINITY, NAN})
    x.insert(x.end(), {size, -size});
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 4099) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return x;
}

/// sinter_math does the same for every float there is.
TEST(VectorMath, StaysWithinItsBoundsAndEqualsEager) {
  const std::vector<float> x = sample_floats();
  const Tensor in(x, {static_cast<std::int64_t>(x.size())});
  for (const bench::Function& function : bench::functions()) {
    auto step = compile([&](const Tensor& t) { return function.apply(t); });
    const auto compiled = step(in).to_vector<float>(), eager = function.apply(in).to_vector<float>();
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double off = bench::ulps_off(compiled[i], function.exact(bench::flushed(x[i])));
      ASSERT_LE(off, function.bound) << function.name << " of " << x[i] << ": " << compiled[i];
      worst = std::max(worst, off);
      if (!std::isnan(compiled[i]) || !std::isnan(eager[i])) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(compiled[i]), std::bit_cast<std::uint32_t>(eager[i])) << function.name << " of " << x[i];
      }
    }
    EXPECT_LE(worst, function.bound) << function.name;
  }
}

/// The special cases of IEEE 754-2019 (9.2.1), as the C library has them.
TEST(VectorMath, PowersOfSpecialNumbers) {
  const std::vector<float> special{0.0f, 0.5f, 1.0f, 2.0f, 2.5f, 3.0f, 4.0f, 1e30f, 16777215.0f, 8388607.5f, INFINITY, NAN};
  std::vector<float> x, y;
  for (const float a : special)
    for (const float b : special)
      for (const float sign_a : {1.0f, -1.0f})
        for (const float sign_b : {1.0f, -1.0f}) {
          x.push_back(sign_a * a);
          y.push_back(sign_b * b);
        }
  const auto count = static_cast<std::int64_t>(x.size());
  auto step = compile([](const Tensor& a, const Tensor& b) { return pow(a, b); });
  const auto got = step(Tensor(x, {count}), Tensor(y, {count})).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = std::pow(double{x[i]}, double{y[i]});
    EXPECT_LE(bench::ulps_off(got[i], wanted), ir::Pow::ulps) << x[i] << " to the " << y[i] << ": " << got[i] << " for " << wanted;
    if (!std::isnan(wanted)) {
      EXPECT_EQ(std::signbit(got[i]), std::signbit(wanted)) << x[i] << " to the " << y[i];
    }
  }
}

/// Parameters and optimizer state after 200 steps of a trainer, ragged batches among them.
std::vector<float> trained(const optim::Optimizer& optimizer, int threads, const char* target) {
  const Environment environment("SINTER_TARGET", target);
  seed(3);
  nn::Sequential model{nn::Dense(20, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::tanh), nn::Dense(30, 7)};
  std::vector<Parameter> parameters = model.parameters();
  std::shared_ptr<optim::Optimizer> mine;
  if (const auto* sgd = dynamic_cast<const optim::SGD*>(&optimizer)) mine = std::make_shared<optim::SGD>(*sgd);
  else mine = std::make_shared<optim::RMSprop>(dynamic_cast<const optim::RMSprop&>(optimizer));
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor loss = loss::categorical_crossentropy_from_logits(model(x), y) + loss::l2(1e-4f, {parameters[0]});
        mine->update(parameters, grad(loss, parameters));
        return loss;
      },
      {.threads = threads, .force = true});
  std::vector<float> all;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t n = i % 3 ? 300 : 37;
    all.push_back(
        static_cast<float>(step(random({n, 20}, static_cast<std::uint64_t>(i)), random_labels(n, 7, static_cast<std::uint64_t>(1000 + i))).item()));
  }
  for (const Parameter& p : mine->state()) parameters.push_back(p);
  for (const Parameter& p : parameters)
    for (const float x : p.read().to_vector<float>()) all.push_back(x);
  EXPECT_EQ(step.core()->last_threads(), threads);
  return all;
}

TEST(Target, SameBytesForEveryOptimizerThreadCountAndVectorWidth) {
  const std::vector<std::function<std::vector<float>(int, const char*)>> runs{
      [](int threads, const char* target) { return trained(optim::SGD({.learning_rate = 0.1f}), threads, target); },
      [](int threads, const char* target) { return trained(optim::SGD({.learning_rate = 0.1f, .momentum = 0.9f}), threads, target); },
      [](int threads, const char* target) { return trained(optim::RMSprop({.learning_rate = 1e-3f}), threads, target); }};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<float> wanted = runs[i](1, "x86-64-v3");
    for (const char* target : {"x86-64-v3", "x86-64-v4", ""})
      for (const int threads : {1, 2, 3, 4}) {
        std::vector<float> got;
        const std::string error = error_of([&] { got = runs[i](threads, target); });
        if (error.find("cannot run") != error.npos) continue;
        EXPECT_EQ(error, "");
        EXPECT_EQ(got, wanted) << "optimizer " << i << ", " << threads << " threads, target '" << target << "'";
      }
  }
}

TEST(PerfMap, NamesTheKernels) {
  const Environment wish("SINTER_PERF_MAP", "1");
  SmallModel m;
  m.step(random({4, 20}, 1), random_labels(4, 7, 2));
  const std::string path = str("/tmp/perf-", getpid(), ".map");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(" sinter:sinter_step\n"));
  EXPECT_THAT(text.str(), HasSubstr(" sinter:kernel_0\n"));
  fs::remove(path);
}

TEST(Profile, IsAChromeTraceOfTheKernels) {
  const std::string path = (fs::temp_directory_path() / str("sinter_profile_", getpid(), ".json")).string();
  const Environment wish("SINTER_PROFILE", path.c_str());
  SmallModel m;
  for (int i = 0; i < 3; ++i) m.step(random({100, 20}, 1), random_labels(100, 7, 2));
  runtime::ChromeTrace::at(path).write();
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  fs::remove(path);
  EXPECT_EQ(trace["otherData"]["dropped_spans"], 0);
  double flops = 0, units = 0;
  std::set<int> lanes, named;
  for (const auto& event : trace["traceEvents"]) {
    (event["ph"] == "M" ? named : lanes).insert(event["tid"].get<int>());
    if (event["ph"] != "X" || event["name"] != "dense + sigmoid") continue;
    EXPECT_EQ(event["args"]["N"], 100);
    EXPECT_GE(event["dur"], 0.0);
    EXPECT_GT(event["args"]["bytes"], 0.0);
    flops += event["args"]["flops"].get<double>();
    units += event["args"]["units"][1].get<double>() - event["args"]["units"][0].get<double>();
  }
  EXPECT_EQ(lanes, named);
  EXPECT_EQ(units, 3 * 2 * 100) << "each sample once a step and layer";
  EXPECT_NEAR(flops, 3 * 100 * (2 * 20 * 33 + 33 + 2 * 33 * 7 + 7), 1) << "2 a multiply-add, 1 a sigmoid";
}

TEST(Profile, UnwritableFile) {
  const Environment wish("SINTER_PROFILE", "/no/such/folder/trace.json");
  SmallModel m;
  EXPECT_THAT(error_of([&] { m.step(random({4, 20}, 1), random_labels(4, 7, 2)); }),
              HasSubstr("[SINTER_PROFILE] cannot write /no/such/folder/trace.json; name a file in a folder that you may write to"));
}

TEST(Target, Errors) {
  const Environment environment("SINTER_TARGET", "pentium");
  SmallModel m;
  EXPECT_THAT(error_of([&] { m.step(random({4, 20}, 1), random_labels(4, 7, 2)); }),
              HasSubstr("[SINTER_TARGET] must be x86-64-v3 or x86-64-v4, got 'pentium'"));
}

/// Resident memory in pages.
long resident() {
  std::ifstream file("/proc/self/statm");
  long size = 0, pages = 0;
  file >> size >> pages;
  return pages;
}

TEST(Code, IsFreedWithItsStep) {
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer keeps what was freed";
  const Tensor x = random({4, 20}, 1), y = random_labels(4, 7, 2);
  const auto compile_and_drop = [&](int times) {
    for (int i = 0; i < times; ++i) SmallModel().step(x, y);
  };
  compile_and_drop(20);
  const long before = resident();
  compile_and_drop(60);
  EXPECT_LT(resident() - before, 60 * 8) << "pages more after 60 steps were compiled and dropped";  // a step's code alone is more than 8 pages
}

}  // namespace
}  // namespace sinter::test
