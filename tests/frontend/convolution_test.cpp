// Convolutions, eagerly and compiled, against the double reference.
#include "tests/frontend/convolutions.h"

#include <cmath>
#include <map>
#include <tuple>

#include "ir/winograd.h"

namespace sinter::test::convolution_test {
namespace {

TEST(Convolution, ThreeHundredRandomShapes) {
  for (const Mode mode : modes()) {
    RandomStream random(11, 1);
    for (int i = 0; i < 300; ++i) {
      const Case c = random_case(random);
      SCOPED_TRACE(str(mode == Mode::graph ? "compiled, " : "eager, ", i, ": ", c.text()));
      const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
      conv.expect(conv.run(mode));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Convolution, LongRowsOfAKernel) {
  NEEDS_CODEGEN();
  RandomStream random(14, 1);
  for (int i = 0; i < 12; ++i) {
    const Case c = long_kernel(random);
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    conv.expect(conv.run(Mode::graph));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Convolution, FewMultiplications) {
  NEEDS_CODEGEN();
  RandomStream random(13, 1);
  std::map<std::pair<std::int64_t, std::int64_t>, int> forms;
  for (int i = 0; i < 80; ++i) {
    Case c = small_kernel(random);
    if (i % 5 == 0 && c.kernel_h == 3) c.height = 2, c.pads = {1, 1, 1, 1};  // little for tiles of four rows
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    const ir::Winograd* form = ir::winograd_of(ir::convolution_of(conv.forward, conv.x.shape(), conv.w.shape()), false);
    if (form) ++forms[{form->results, form->taps}];
    conv.expect(conv.run(Mode::graph));
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(forms.size(), 3u);
  for (const auto& [form, times] : forms) EXPECT_GT(times, 3) << "F(" << form.first << ", " << form.second << ")";
}

/// Of few tiles the transformed kernel, four times as many numbers, takes longer to read than they save.
TEST(Convolution, OfFewPixelsIsDirect) {
  const auto is_direct = [](std::int64_t size, std::int64_t channels, std::int64_t features) {
    const ir::Conv2D op{.pads = {1, 1, 1, 1}};
    return !ir::winograd_of(ir::convolution_of(op, Shape{Dim::batch(), size, size, channels}, Shape{3, 3, channels, features}), false);
  };
  EXPECT_TRUE(is_direct(4, 48, 12)) << "a layer of a DenseNet";
  EXPECT_TRUE(is_direct(8, 48, 12));
  EXPECT_FALSE(is_direct(16, 48, 12));
  EXPECT_TRUE(is_direct(4, 64, 64));
  EXPECT_FALSE(is_direct(8, 64, 64));
  EXPECT_TRUE(is_direct(4, 512, 512)) << "the last layers of a ResNet-18";
}

TEST(Convolution, LargeKernels) {
  NEEDS_CODEGEN();
  RandomStream random(15, 1);
  std::map<std::string, int> times;
  for (int i = 0; i < 40; ++i) {
    const Case c = large_kernel(random);
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    std::string explained;
    conv.expect(conv.run(Mode::graph, 1, &explained));
    if (testing::Test::HasFatalFailure()) return;
    for (const char* of : {"conv2d, windows", "conv2d_transpose, windows", "conv2d_weight, transposed windows"})
      times[of] += explained.find(of) != std::string::npos;
  }
  EXPECT_GT(times["conv2d, windows"], 10);
  EXPECT_GT(times["conv2d_transpose, windows"], 5);
  EXPECT_GT(times["conv2d_weight, transposed windows"], 5);
}

TEST(Convolution, Groups) {
  NEEDS_CODEGEN();
  RandomStream random(18, 1);
  std::map<std::string, int> times;
  for (int i = 0; i < 120; ++i) {
    const Case c = grouped(random);
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    std::string explained;
    conv.expect(conv.run(Mode::graph, i % 2 + 1, &explained));
    if (testing::Test::HasFatalFailure()) return;
    for (const char* op : {"conv2d, ", "conv2d_transpose, ", "conv2d_weight, "})
      for (const char* how : {" groups, windows of", " groups in lanes"})
        times[str(op, how)] += explained.find(str(op, c.groups, how)) != std::string::npos;
  }
  for (const auto& [how, count] : times) EXPECT_GT(count, 20) << how;
  EXPECT_EQ(times["conv2d_weight,  groups, windows of"] + times["conv2d_weight,  groups in lanes"], 120);
}

/// One over images of one column, which is computed as of one row.
TEST(Convolution, OneColumn) {
  RandomStream random(19, 1);
  for (int i = 0; i < 40; ++i) {
    Case c = random_case(random);
    c.width = c.kernel_w = 1;
    c.pads = {c.pads[0], 0, c.pads[2], 0};
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    for (const Mode mode : modes()) conv.expect(conv.run(mode));
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Some with one feature, and some depthwise, of few taps a row or many.
TEST(Convolution, PartsOfRows) {
  NEEDS_CODEGEN();
  RandomStream random(21, 1);
  const auto pick = numbers_of(random);
  for (int i = 0; i < 24; ++i) {
    const std::int64_t stride = pick(1, 2);
    Case c{pick(1, 2), pick(1, 2), stride * pick(1020, 3200), pick(1, 6), pick(1, 9), 1, pick(1, 4), 1, {1, stride}, {1, pick(1, 2)}, {}};
    if (i % 4 == 0) c.features = 1;
    if (i % 4 == 1) c.groups = pick(2, 3), c.channels *= c.groups, c.features *= c.groups;
    if (i % 4 == 2) c.groups = c.channels = c.features = pick(2, 20), c.kernel_w = pick(0, 1) ? pick(1, 9) : pick(10, 12);
    c.pads = {0, pick(0, c.kernel_w - 1), 0, pick(0, c.kernel_w - 1)};
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    conv.expect(conv.run(Mode::graph, i % 2 + 1));
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Each term that follows 2^24 in its chain is lost: a gradient of a kernel adds up rows of windows in chains of 1,024 at most.
TEST(Convolution, ChainsOfLongRows) {
  struct Form {
    std::int64_t channels, features, groups, taps;
  };
  for (const auto& [channels, features, groups, taps] : {Form{3, 20, 1, 1}, Form{3, 1, 1, 1}, Form{16, 16, 16, 1}, Form{16, 16, 16, 11}})
    for (const std::int64_t windows : {1500, 2000, 5000}) {
      std::vector<float> x(static_cast<std::size_t>((windows + taps - 1) * channels), 1.0f);
      std::fill_n(x.begin(), channels, 0x1p24f);
      Convolutions conv({1, 1, windows + taps - 1, channels, features, 1, taps, groups, {1, 1}, {1, 1}, {0, 0, 0, 0}}, 1);
      conv.x = Tensor(x, conv.x.shape());
      conv.dy = Tensor::filled(conv.dy.type(), 1);
      for (const Mode mode : modes()) {
        const float of_first_tap = conv.run(mode)[2].to_vector<float>()[0];
        EXPECT_NEAR(of_first_tap, 0x1p24 + static_cast<double>(windows - 1), 1024) << windows << ", " << groups << " groups, " << taps << " taps";
      }
    }
}

/// One whose windows are rows of a matrix: parts of rows of the images, or several whole ones.
TEST(Convolution, WindowsAsRows) {
  RandomStream random(20, 1);
  const auto pick = numbers_of(random);
  for (int i = 0; i < 60; ++i) {
    const bool are_parts = i % 2 == 0;
    const std::int64_t taps_h = are_parts ? 1 : pick(1, 4), taps_w = pick(1, 6);
    const Case c{
        pick(1, 20), taps_h * pick(1, 3), taps_w * (are_parts ? pick(1, 9) : 1), pick(1, 30), pick(1, 40), taps_h, taps_w, 1, {taps_h, taps_w},
        {1, 1},      {0, 0, 0, 0}};
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    for (const Mode mode : modes()) conv.expect(conv.run(mode, i % 3 + 1, nullptr, i % 5 ? InputKind::batch : InputKind::fixed));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Convolution, Depthwise) {
  NEEDS_CODEGEN();
  RandomStream random(16, 1);
  std::map<std::string, int> times;
  for (int i = 0; i < 80; ++i) {
    const Case c = depthwise(random);
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    std::string explained;
    conv.expect(conv.run(Mode::graph, 1, &explained));
    if (testing::Test::HasFatalFailure()) return;
    for (const char* of : {"conv2d, depthwise", "conv2d_transpose, depthwise", "conv2d_weight, depthwise"})
      times[of] += explained.find(of) != std::string::npos;
  }
  for (const auto& [of, count] : times) {
    EXPECT_GT(count, 30) << of;
    EXPECT_LT(count, 80) << of;
  }
  EXPECT_EQ(times.size(), 3u);
}

/// Padding wider than a window, so that the first and the last ones see nothing else; windows that overlap, and that lie apart. The images are small:
/// loops over few rows are unrolled.
TEST(Convolution, WindowsInThePadding) {
  RandomStream random(20, 1);
  const auto pick = numbers_of(random);
  for (int i = 0; i < 240; ++i) {
    Case c = i % 3 ? random_case(random) : i % 2 ? grouped(random) : depthwise(random);
    c.kernel_h = pick(1, 3), c.kernel_w = pick(1, 3);
    c.dilations = {1, pick(1, 2)};
    c.strides = {pick(1, 5), pick(1, 5)};
    const std::int64_t reach_h = c.kernel_h, reach_w = (c.kernel_w - 1) * c.dilations[1].factor() + 1;
    c.height = reach_h + pick(0, 4), c.width = reach_w + pick(0, 4);
    const auto padding = [&](std::int64_t reach) { return pick(0, 2) ? pick(reach, 2 * reach + 2) : 0; };
    c.pads = {padding(reach_h), padding(reach_w), padding(reach_h), padding(reach_w)};
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    for (const Mode mode : modes()) conv.expect(conv.run(mode));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Convolution, FewFeatures) {
  NEEDS_CODEGEN();
  RandomStream random(17, 1);
  int in_lanes = 0;
  for (int i = 0; i < 80; ++i) {
    Case c = few_features(random);
    if (i % 10 == 0) c = {1, c.kernel_h, c.width, c.channels, 1, c.kernel_h, c.width, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}};  // a single number
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    std::string explained;
    conv.expect(conv.run(Mode::graph, 1, &explained, i % 2 ? InputKind::batch : InputKind::fixed));
    if (testing::Test::HasFatalFailure()) return;
    in_lanes += explained.find("conv2d, sums of products in lanes") != std::string::npos;
  }
  EXPECT_GT(in_lanes, 20);
  EXPECT_LT(in_lanes, 75);
}

/// The error against the direct convolution's, both as root mean squares over random numbers: what docs/design.md states.
TEST(Convolution, FewMultiplicationsRoundLittleMore) {
  NEEDS_CODEGEN();
  for (const auto& [size, taps, most] : {std::tuple(2, 3, 1.5), std::tuple(16, 3, 2.5), std::tuple(16, 5, 1.9)}) {
    const Convolutions conv({4, size, size, 64, 64, taps, taps, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}}, 5);
    const std::vector<Tensor> direct = conv.run(Mode::eager), compiled = conv.run(Mode::graph);
    const Bounded x = exact(conv.x), w = exact(conv.w), *in[] = {&x, &w};
    const Bounded expected = evaluate_bounded(conv.forward, direct[0].type(), in, 1);
    const auto error = [&](const Tensor& t) {
      const std::vector<float> values = t.to_vector<float>();
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i) sum += std::pow(values[i] - expected.value.data[i], 2);
      return std::sqrt(sum / static_cast<double>(values.size()));
    };
    EXPECT_LT(error(compiled[0]), most * error(direct[0])) << size << ", " << taps;
    EXPECT_GT(error(compiled[0]), 0);
  }
}

TEST(Convolution, SameBytesForAnyNumberOfThreadsAndTarget) {
  NEEDS_CODEGEN();
  RandomStream random(12, 1);
  for (int i = 0; i < 65; ++i) {
    Case c = i < 30   ? random_case(random)
             : i < 35 ? small_kernel(random)
             : i < 37 ? long_kernel(random)
             : i < 40 ? large_kernel(random)
             : i < 45 ? depthwise(random)
             : i < 55 ? few_features(random)
                      : grouped(random);
    c.images = i % 3 ? 9 : 3;  // few are cut into pieces
    SCOPED_TRACE(c.text());
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    const auto bytes = [&](int threads, const char* target) {
      const Environment environment("SINTER_TARGET", target);
      std::vector<float> all;
      for (const Tensor& t : conv.run(Mode::graph, threads))
        for (const float v : t.to_vector<float>()) all.push_back(v);
      return all;
    };
    const std::vector<float> one = bytes(1, "x86-64-v3");
    EXPECT_EQ(bytes(3, "x86-64-v3"), one);
    EXPECT_EQ(bytes(2, ""), one);
  }
}

// ---- functions and layers ----

TEST(Convolution, SeveralImagesASample) {
  NEEDS_CODEGEN();
  for (const std::int64_t features : {3, 20}) {
    const Parameter w("w", random({3, 3, 9, features}, 1));
    auto step = compile([&](const Tensor& x) {
      const Tensor y = conv2d(concat({x, x * 2.0f}, 0), w, {.padding = Padding::same()}), loss = sum(square(y));
      const std::vector<Tensor> d = grad(loss, std::vector<Parameter>{w});
      return std::pair(max_pool2d(y, {2}), d[0]);
    });
    const Tensor x = random({5, 6, 8, 9}, 2);
    EXPECT_EQ(step(x).first.shape(), Shape({10, 3, 4, features}));
    const VerifyReport report = step.verify(x);
    EXPECT_TRUE(report.ok()) << features << "\n" << report;
  }
}

}  // namespace
}  // namespace sinter::test::convolution_test
