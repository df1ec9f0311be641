// Properties of the machine code: accuracy of its functions, the same bytes on every vector target, no leaks.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/math/functions.h"
#include "frontend/compile/variant.h"
#include "runtime/chrome_trace.h"
#include "tests/codegen/targets.h"
#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"

namespace sinter::test::native_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

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

using MakeOptimizer = std::function<std::shared_ptr<optim::Optimizer>()>;

template <class O, class Options>
std::pair<std::string, MakeOptimizer> named(const char* what, Options options) {
  return {what, [options] { return std::make_shared<O>(options); }};
}

/// Every optimizer, with what changes its formula.
std::vector<std::pair<std::string, MakeOptimizer>> optimizers() {
  using namespace optim;
  return {named<SGD>("sgd", SGDOptions{.learning_rate = 0.1}),
          named<SGD>("sgd, momentum", SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}),
          named<RMSprop>("rmsprop", RMSpropOptions{}),
          named<RMSprop>("rmsprop, centered", RMSpropOptions{.momentum = 0.9, .centered = true}),
          named<Adagrad>("adagrad", AdagradOptions{}),
          named<Adadelta>("adadelta", AdadeltaOptions{}),
          named<Adam>("adam", AdamOptions{.amsgrad = true}),
          named<AdamW>("adamw", AdamWOptions{.common = {.clip = {.global_norm = 0.5}, .average_decay = 0.9}}),
          named<NAdam>("nadam", NAdamOptions{}),
          named<Lion>("lion", LionOptions{.learning_rate = 1e-3, .weight_decay = 0.1})};
}

/// A classifier of 7 classes and the shape of its samples.
struct Network {
  const char* name;
  std::vector<std::int64_t> sample;
  int steps;
  std::function<nn::Sequential()> make;
};

const std::vector<Network>& networks() {
  static const std::vector<Network> all{
      {"dense",
       {20},
       100,
       [] { return nn::Sequential{nn::Dense(20, 70, Activation::sigmoid), nn::Dense(70, 30, Activation::tanh), nn::Dense(30, 7)}; }},
      {"convolutional", {12, 10, 8}, 5, [] {
         return nn::Sequential{nn::Conv2D(8, 20, {3}, Activation::relu, {.padding = Padding::same()}),  // with few multiplications
                               nn::BatchNorm(20),
                               nn::MaxPool2D({2}),
                               nn::Conv2D(20, 9, {3}, Activation::gelu, {.strides = {2}}),  // direct
                               nn::AveragePool2D({2}),
                               nn::Flatten(),
                               nn::Dense(9, 7)};
       }}};
  return all;
}

/// Losses, parameters and optimizer state of a training, ragged batches among them.
std::vector<float> trained(const Network& network, const MakeOptimizer& make_optimizer, int threads, const std::string& target) {
  const Environment environment("SINTER_TARGET", target.c_str());
  seed(3);
  nn::Sequential model = network.make();
  const std::vector<Parameter> weights = model.trainable_parameters();
  const auto optimizer = make_optimizer();
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        const nn::TrainingScope training;
        const Tensor loss = loss::categorical_crossentropy_from_logits(model(x), y) + loss::l2(1e-4f, {weights[0]});
        optimizer->update(weights, grad(loss, weights));
        return loss;
      },
      {.threads = threads, .force = true});
  std::vector<float> all;
  for (int i = 0; i < network.steps; ++i) {
    std::vector<Dim> shape{i % 3 ? 100 : 37};
    shape.insert(shape.end(), network.sample.begin(), network.sample.end());
    const auto stream = static_cast<std::uint64_t>(i);
    all.push_back(static_cast<float>(step(random(Shape(shape), stream), random_labels(shape[0].factor(), 7, 1000 + stream)).item()));
  }
  for (const auto& parameters : {model.parameters(), optimizer->state()})
    for (const Parameter& p : parameters)
      for (const float x : cast(p, DType::f32).to_vector<float>()) all.push_back(x);
  EXPECT_EQ(step.core()->last_threads(), threads);
  return all;
}

TEST(Target, SameBytesForEveryOptimizerThreadCountAndVectorWidth) {
  std::vector<std::string> targets = runnable_targets();
  ASSERT_FALSE(targets.empty());
  targets.emplace_back();  // this machine's own
  for (const Network& network : networks())
    for (const auto& [name, make] : optimizers()) {
      const std::vector<float> wanted = trained(network, make, 1, targets.front());
      EXPECT_TRUE(std::all_of(wanted.begin(), wanted.end(), [](float x) { return std::isfinite(x); })) << name;
      for (const std::string& target : targets)
        for (const int threads : {1, 2, 3, 4})
          EXPECT_EQ(trained(network, make, threads, target), wanted)
              << network.name << ", " << name << ", " << threads << " threads, target '" << target << "'";
    }
}

/// A level that this CPU lacks is refused, one that it has is not.
TEST(Target, IsRefusedWhereTheCpuLacksIt) {
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    const Environment environment("SINTER_TARGET", level);
    SmallModel m;
    const std::string error = error_of([&] { m.step(random({4, 20}, 1), random_labels(4, 7, 2)); });
    if (cpu_has(level)) EXPECT_EQ(error, "");
    else EXPECT_THAT(error, AllOf(HasSubstr(str("this machine cannot run ", level, ": its CPU lacks ")), HasSubstr("; choose a lower level")));
  }
}

TEST(PerfMap, NamesTheKernels) {
  const Environment wish("SINTER_PERF_MAP", "1");
  SmallModel m;
  m.step(random({4, 20}, 1), random_labels(4, 7, 2));
  const std::string path = str("/tmp/perf-", getpid(), ".map");
  const std::string text = read_bytes(path);
  EXPECT_THAT(text, HasSubstr(" sinter:sinter_step\n"));
  EXPECT_THAT(text, HasSubstr(" sinter:kernel_0\n"));
  fs::remove(path);
}

/// A phase of many loops has functions that only the step itself calls; in checked steps they are part of it.
TEST(PerfMap, NamesFunctionsThatAreLocal) {
  const Environment wish("SINTER_PERF_MAP", "1"), unchecked("SINTER_CHECKED", "0");
  const std::vector<Parameter> parameters(40, Parameter("p", random({7, 5}, 1)));
  auto step = compile(
      [&](const Tensor& x) {
        std::vector<Tensor> results;
        for (const Parameter& p : parameters) results.push_back(sum(sin(p * (1.f + static_cast<float>(results.size()))), {0}));
        results.push_back(mean(x));
        return results;
      },
      {.force = true});
  step(random({4, 20}, 1));
  const std::string path = str("/tmp/perf-", getpid(), ".map");
  std::istringstream lines(read_bytes(path));
  fs::remove(path);
  std::map<std::uint64_t, std::uint64_t> functions;  // where each begins and ends
  std::set<std::string> names;
  std::uint64_t begin = 0, size = 0;
  for (std::string name; lines >> std::hex >> begin >> size >> name; names.insert(name)) functions[begin] = begin + size;
  EXPECT_THAT(names, IsSupersetOf({"sinter:sinter_step", "sinter:kernel_0", "sinter:loops"}));
  for (auto next = functions.begin(), function = next++; next != functions.end(); function = next++) EXPECT_LE(function->second, next->first);
}

TEST(PerfMap, IsWrittenToNoFileButTheUsersOwn) {
  const Environment wish("SINTER_PERF_MAP", "1");
  const std::string path = str("/tmp/perf-", getpid(), ".map");
  const TemporaryFolder folder;
  const std::string other = folder.path + "/other";
  write_bytes(other, "mine");
  const auto expect_refused = [&](const char* what, const auto& make) {
    fs::remove(path);
    ASSERT_EQ(make(), 0) << what;
    SmallModel m;
    EXPECT_THAT(error_of([&] { m.step(random({4, 20}, 1), random_labels(4, 7, 2)); }),
                HasSubstr("[SINTER_PERF_MAP] " + path + " is no file of this user's own, or cannot be made; remove it"))
        << what;
    EXPECT_EQ(read_bytes(other), "mine") << what;
  };
  expect_refused("a symbolic link", [&] { return ::symlink(other.c_str(), path.c_str()); });
  if (fs::equivalent("/tmp", fs::path(other).parent_path().parent_path()))
    expect_refused("another name of a file", [&] { return ::link(other.c_str(), path.c_str()); });
  expect_refused("a pipe", [&] { return ::mkfifo(path.c_str(), 0600); });
  if (::geteuid() == 0)
    expect_refused("another user's", [&] {
      std::ofstream(path).close();
      return ::chown(path.c_str(), 12345, 12345);
    });
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
}  // namespace sinter::test::native_test
