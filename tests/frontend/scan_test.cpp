// scan(): a loop over time, eagerly and compiled.
#include "frontend/core/scan.h"

#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::scan_test {
namespace {

/// A cell of two carries with weights that are parameters, over elements of 3 columns.
struct Cell {
  Parameter w{"w", random({3, 8}, 1)}, u{"u", random({4, 8}, 2)}, b{"b", random({8}, 3)};
  std::vector<Parameter> parameters() const { return {w, u, b}; }

  ScanStep step(const Tensor& before, const Tensor& memory, const Tensor& element) const {
    const std::vector<Tensor> parts = split(matmul(element, w) + matmul(before, u) + b, {4, 4});
    const Tensor next = sigmoid(parts[0]) * memory + tanh(parts[1]);
    return {{tanh(next), next}, {next * 2, tanh(next)}};
  }
  Scanned run(const Tensor& x, const Tensor& h, const Tensor& c, bool reverse = false) const {
    return scan([&](const Tensor& before, const Tensor& memory, const Tensor& element) { return step(before, memory, element); }, {h, c}, {x},
                {.reverse = reverse});
  }
};

void expect_near(const Tensor& a, const Tensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << what << " at " << i;
}

/// Without the pass that removes them.
TEST(Scan, OutputsThatNothingReadsLieInNoSequence) {
  NEEDS_CODEGEN();
  const Environment checked("SINTER_CHECKED", "1");
  const Cell cell;
  const auto last = [&](const Tensor& x, const Tensor& h, const Tensor& c) { return cell.run(x, h, c).carries[0]; };
  auto step = compile(last, {.without = {"trim_scans"}});
  const Tensor x = random({3000, 7, 3}, 4), h = random({3000, 4}, 5), c = random({3000, 4}, 6);
  expect_near(step(x, h, c), last(x, h, c), 1e-6, "the last carry");
}

TEST(Scan, EagerlyIsALoop) {
  const Cell cell;
  const Tensor x = random({5, 6, 3}, 4), h = random({5, 4}, 5), c = random({5, 4}, 6);
  for (const bool reverse : {false, true}) {
    const Scanned scanned = cell.run(x, h, c, reverse);
    std::vector<Tensor> carries{h, c};
    std::vector<std::vector<Tensor>> outputs(2, std::vector<Tensor>(6));
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t t = reverse ? 5 - i : i;
      const ScanStep made =
          cell.step(carries[0], carries[1], reshape(slice(x, 1, static_cast<std::int64_t>(t), static_cast<std::int64_t>(t) + 1), {5, 3}));
      carries = made.carries;
      for (std::size_t k = 0; k < 2; ++k) outputs[k][t] = made.outputs[k];
    }
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(scanned.carries[k].to_vector<float>(), carries[k].to_vector<float>());
      EXPECT_EQ(scanned.outputs[k].to_vector<float>(), stack(outputs[k], 1).to_vector<float>());
    }
  }
}

/// The results, and the gradients of a loss of all of them with respect to the parameters.
std::vector<Tensor> results_and_gradients(const Cell& cell, const Tensor& x, const Tensor& h, const Tensor& c, bool reverse) {
  const Scanned scanned = cell.run(x, h, c, reverse);
  std::vector<Tensor> results{scanned.carries[0], scanned.carries[1], scanned.outputs[0], scanned.outputs[1]};
  Tensor loss = sum(square(scanned.carries[0])) + sum(scanned.carries[1]) * 0.5f;
  for (const Tensor& output : scanned.outputs) loss = loss + sum(square(output)) * 0.1f;
  for (const Tensor& gradient : grad(loss, cell.parameters())) results.push_back(gradient);
  return results;
}

TEST(Scan, CompiledMakesWhatItMakesEagerly) {
  NEEDS_CODEGEN();
  const Cell cell;
  for (const bool reverse : {false, true}) {
    const auto function = [&](const Tensor& x, const Tensor& h, const Tensor& c) { return results_and_gradients(cell, x, h, c, reverse); };
    auto step = compile(function);
    for (const std::int64_t n : {1, 5, 70}) {
      const Tensor x = random({n, 6, 3}, 4), h = random({n, 4}, 5), c = random({n, 4}, 6);
      const std::vector<Tensor> eager = function(x, h, c), compiled = step(x, h, c);
      ASSERT_EQ(eager.size(), compiled.size());
      for (std::size_t i = 0; i < eager.size(); ++i) expect_near(compiled[i], eager[i], 1e-5, str("result ", i, " of ", n, " samples"));
    }
    EXPECT_EQ(step.compile_count(), 1u);
  }
}

/// Of every length, with one compile.
TEST(Scan, HasOneCompileForEveryLength) {
  NEEDS_CODEGEN();
  const Cell cell;
  const auto function = [&](const Tensor& x) {
    const Tensor zero = broadcast_to(Tensor(0.0f), {x.dim(0), 4});
    return results_and_gradients(cell, x, zero, zero, false);
  };
  auto step = compile(function, Spec::batch(DType::f32, {Spec::any_length, 3}));
  for (const std::int64_t length : {1, 2, 15, 150}) {
    const Tensor x = random({9, length, 3}, 4);
    const std::vector<Tensor> eager = function(x), compiled = step(x);
    for (std::size_t i = 0; i < eager.size(); ++i) expect_near(compiled[i], eager[i], 2e-5, str("result ", i, " of ", length, " steps"));
  }
  EXPECT_EQ(step.compile_count(), 1u);
}

TEST(Scan, SameBytesOnAnyNumberOfThreads) {
  NEEDS_CODEGEN();
  const Cell cell;
  const Tensor x = random({70, 12, 3}, 4), h = random({70, 4}, 5), c = random({70, 4}, 6);
  std::vector<std::vector<float>> first;
  for (const char* checked : {"0", "1"})
    for (const int threads : {1, 2, 3, 4}) {
      const Environment environment("SINTER_CHECKED", checked);
      auto step = compile([&](const Tensor& x, const Tensor& h, const Tensor& c) { return results_and_gradients(cell, x, h, c, true); },
                          {.threads = threads, .force = true});
      std::vector<std::vector<float>> bytes;
      for (const Tensor& result : step(x, h, c)) bytes.push_back(result.to_vector<float>());
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << threads << " threads, checked " << checked;
    }
}

/// What a step captures: a value with N, a scalar, a table by an index, another tensor's gradient.
TEST(Scan, ReadsWhatItCaptures) {
  NEEDS_CODEGEN();
  const Parameter table("table", random({5, 4}, 1)), scale("scale", Tensor(0.5f));
  const auto function = [&](const Tensor& x, const Tensor& index, const Tensor& bias) {
    const Tensor start = broadcast_to(Tensor(0.0f), {x.dim(0), 4}), twice = bias * 2;
    const Scanned scanned = scan(
        [&](const Tensor& h, const Tensor& element, const Tensor& row) {
          const Tensor next = tanh(h * scale + element + gather_rows(table, row) + twice * twice);
          return std::pair(next, sum(next, {-1}));
        },
        {start}, {x, index});
    const Tensor loss = sum(square(scanned.carries[0])) + sum(scanned.outputs[0]);
    std::vector<Tensor> results{scanned.carries[0], scanned.outputs[0]};
    for (const Tensor& gradient : grad(loss, {table, scale})) results.push_back(gradient);
    return results;
  };
  auto step = compile(function);
  const Tensor x = random({6, 5, 4}, 2), bias = random({6, 4}, 3);
  std::vector<std::int32_t> rows(30);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i * 7 % 5);
  const Tensor index(rows, {6, 5});
  const std::vector<Tensor> eager = function(x, index, bias), compiled = step(x, index, bias);
  for (std::size_t i = 0; i < eager.size(); ++i) expect_near(compiled[i], eager[i], 1e-5, str("result ", i));
  const VerifyReport report = step.verify(x, index, bias);
  EXPECT_TRUE(report.ok()) << report;
}

TEST(Scan, IsVerifiedStepByStep) {
  NEEDS_CODEGEN();
  const Cell cell;
  const auto function = [&](const Tensor& x, const Tensor& h, const Tensor& c) { return results_and_gradients(cell, x, h, c, false); };
  const Tensor x = random({3, 200, 3}, 4), h = random({3, 4}, 5), c = random({3, 4}, 6);
  auto step = compile(function);
  const VerifyReport report = step.verify(x, h, c);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_LT(report.worst, 1);
}

TEST(Scan, AFaultInAStepIsNamedWithTheStep) {
  NEEDS_CODEGEN();
  for (const bool reverse : {false, true}) {
    auto step = compile([&](const Tensor& x, const Tensor& h) {
      return scan([](const Tensor& before, const Tensor& element) { return tanh(before) + element; }, {h}, {x}, {.reverse = reverse}).carries[0];
    });
    const Tensor x = random({3, 200, 8}, 4), h = random({3, 8}, 5);
    const Environment fault("SINTER_FAULT", "%0/%1");  // the sum, of the first node
    const VerifyReport report = step.verify(x, h);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.first().part, "kernels");
    // What the first step makes is the carry before the second.
    EXPECT_THAT(report.first().node, ::testing::HasSubstr(reverse ? ", step 198" : ", step 1"));
  }
}

TEST(Scan, HasNamesForAProfiler) {
  NEEDS_CODEGEN();
  const Environment named("SINTER_PERF_MAP", "1"), no_cache("SINTER_CACHE", "off");
  const Cell cell;
  auto step = compile([&](const Tensor& x, const Tensor& h, const Tensor& c) { return results_and_gradients(cell, x, h, c, false); });
  EXPECT_NO_THROW(step(random({3, 7, 3}, 4), random({3, 4}, 5), random({3, 4}, 6)));
}

TEST(Scan, IsSavedWithItsStep) {
  NEEDS_CODEGEN();
  const TemporaryFolder folder;
  const Cell cell;
  const Tensor x = random({3, 7, 3}, 4), h = random({3, 4}, 5), c = random({3, 4}, 6);
  auto step = compile([&](const Tensor& x, const Tensor& h, const Tensor& c) { return results_and_gradients(cell, x, h, c, false); });
  const std::vector<Tensor> expected = step(x, h, c);
  step.save(folder / "step.sinter");
  const auto loaded = load_step(folder / "step.sinter");
  const Tensor* in[] = {&x, &h, &c};
  const std::vector<Tensor> got = loaded->call(in);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>()) << i;
}

TEST(Scan, NamesTheStepThatMakesNoNumber) {
  NEEDS_CODEGEN();
  auto step = compile(
      [](const Tensor& x, const Tensor& h) {
        return scan([](const Tensor& before, const Tensor& element) { return sqrt(before) - element; }, {h}, {x}).carries[0];
      },
      {.find_non_finite = true});
  const Tensor x({0, 0, 5, 0, 0}, {1, 5, 1}), h({4}, {1, 1});
  EXPECT_THAT(error_of([&] { step(x, h); }), ::testing::HasSubstr("nan at [0, 0] of f32[1,1] from f32[1,1] from "));
  EXPECT_THAT(error_of([&] { step(x, h); }), ::testing::HasSubstr(" in step 3"));
}

TEST(Scan, RefusesWhatDoesNotFit) {
  const Tensor x = random({2, 3, 4}, 1), h = random({2, 4}, 2);
  const auto keep = [](const Tensor& before, const Tensor&) { return before; };
  const auto error = [&](auto step, std::vector<Tensor> carries, std::vector<Tensor> sequences) {
    return error_of([&] { (void)scan(step, carries, sequences); });
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(error([](const Tensor& before) { return before; }, {h}, {}),
              HasSubstr("scan: needs at least one sequence, [N, length, ...], whose steps it takes; got none"));
  EXPECT_THAT(error(keep, {h}, {random({2}, 1)}), HasSubstr("scan: sequence 0 is [N, length, ...], got f32[2]"));
  EXPECT_THAT(error([](const Tensor& before, const Tensor&, const Tensor&) { return before; }, {h}, {x, random({2, 5, 4}, 1)}),
              HasSubstr("scan: sequences are of one length and one batch, got f32[2,3,4] and f32[2,5,4] as sequence 1; pad the shorter one"));
  EXPECT_THAT(error(keep, {h}, {Tensor::zeros({DType::f32, {2, 0, 4}})}), HasSubstr("scan: sequences have at least one step, got f32[2,0,4]"));
  EXPECT_THAT(error(keep, {Tensor::zeros({DType::i32, {2, 4}})}, {x}), HasSubstr("scan: carry 0 is i32[2,4]; carries are f32, cast it"));
  EXPECT_THAT(error(keep, {random({3, 4}, 1)}, {x}), HasSubstr("scan: carry 0 has a value for each of the 2 samples of f32[2,3,4], got f32[3,4]"));
  EXPECT_THAT(error([](const Tensor& before, const Tensor&) { return concat({before, before}, 1); }, {h}, {x}),
              HasSubstr("scan: carry 0 is f32[2,4], and the step returned f32[2,8]; each step gets what the one before returned"));
  EXPECT_THAT(error([](const Tensor&, const Tensor&) { return ScanStep({}, {}); }, {h}, {x}),
              HasSubstr("scan: the step got 1 carry and returned 0; return one for each"));
  EXPECT_THAT(error([](const Tensor& before, const Tensor&) { return std::pair(before, sum(before)); }, {h}, {x}),
              HasSubstr("scan: output 0 of the step has a value for each of 2 samples, got f32[]"));
  EXPECT_THAT(error([](const Tensor& before) { return before; }, {h}, {x}),
              HasSubstr("scan: the step takes 1 tensor, but it gets 1 carry and an element of 1 sequence"));
  EXPECT_THAT(error([](const Tensor&, const Tensor&) { return Tensor(); }, {h}, {x}),
              HasSubstr("scan: carry 0 that the step returned was never set"));
  EXPECT_THAT(error([](const Tensor& before, const Tensor&) { return std::pair(before, Tensor()); }, {h}, {x}),
              HasSubstr("scan: output 0 of the step was never set"));
  EXPECT_THAT(error(keep, {Tensor()}, {x}), HasSubstr("scan: carry 0 was never set"));
  const Parameter p("p", Tensor(0.0f));
  EXPECT_THAT(error(
                  [&](const Tensor& before, const Tensor&) {
                    p.assign(p + 1);
                    return before;
                  },
                  {h}, {x}),
              HasSubstr("the step of a scan cannot assign 'p'; return what it computes as a carry or an output, and assign after the scan"));
}

TEST(Scan, RefusesToMixSamples) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x, const Tensor& h) {
    return scan([](const Tensor& before, const Tensor& element) { return before - mean(before, 0) + element; }, {h}, {x}).carries[0];
  });
  const std::string error = error_of([&] { step(random({2, 3, 4}, 1), random({2, 4}, 2)); });
  EXPECT_THAT(error, ::testing::HasSubstr("scan_test.cpp:"));
  EXPECT_THAT(error,
              ::testing::HasSubstr("scan: a carry has a value for each sample, which depends on that sample alone, but sum: f32[4] mixes samples"));
}

}  // namespace
}  // namespace sinter::test::scan_test
