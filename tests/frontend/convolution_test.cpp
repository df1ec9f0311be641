// Convolutions, eagerly and compiled, against the double reference.
#include <cmath>
#include <map>
#include <tuple>

#include "frontend/compile/bounds.h"
#include "frontend/core/apply.h"
#include "ir/graph.h"
#include "ir/winograd.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::convolution_test {
namespace {

/// Fails if a result is further from the double reference than the rounding of its sums allows.
void expect_reference(const ir::Op& op, const Tensor& a, const Tensor& b, const Tensor& got) {
  const Type types[] = {a.type(), b.type()};
  const Type type = ir::infer(op, types);
  ASSERT_EQ(got.type(), type);
  const Bounded x = exact(a), y = exact(b), *in[] = {&x, &y};
  const Bounded expected = evaluate_bounded(op, type, in, 1);
  const ir::Array values = exact(got).value;
  double worst = 0;
  const std::int64_t different = first_difference(values, expected, worst);
  if (different < 0) return;
  const auto i = static_cast<std::size_t>(different);
  FAIL() << ir::name(op) << ", element " << i << ": " << values.data[i] << " instead of " << expected.value.data[i] << " +- " << expected.error[i];
}

struct Case {
  std::int64_t images, height, width, channels, features, kernel_h, kernel_w, groups;
  Shape strides, dilations, pads;
  std::string text() const {
    return str(images, "x", height, "x", width, "x", channels, ", kernel ", kernel_h, "x", kernel_w, "x", features, ", strides ", strides,
               ", dilations ", dilations, ", pads ", pads, ", groups ", groups);
  }
};

/// Draws a whole number from low to high, which are among them.
auto numbers_of(RandomStream& random) {
  return [&random](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(high - low + 1)));
  };
}

Case random_case(RandomStream& random) {
  const auto pick = numbers_of(random);
  for (;;) {
    Case c;
    c.images = pick(1, 3);
    c.height = pick(1, 12);
    c.width = pick(1, 20);
    c.kernel_h = pick(1, 7);
    c.kernel_w = pick(1, 7);
    c.strides = {pick(1, 3), pick(1, 3)};
    c.dilations = {pick(1, 4) == 4 ? 2 : 1, pick(1, 4) == 4 ? 3 : 1};
    c.pads = {pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1), pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1)};
    c.groups = 1;
    const std::int64_t kind = pick(0, 9);
    c.channels = pick(1, kind < 3 ? 5 : 70);
    c.features = pick(1, kind == 3 ? 2 : 70);
    if (kind == 8) c.groups = c.features = c.channels;  // depthwise
    if (kind == 9) {
      c.groups = pick(2, 4);
      c.channels = c.groups * pick(1, 9);
      c.features = c.groups * pick(1, 9);
    }
    try {
      (void)ir::slide({c.images, c.height, c.width, c.channels}, {c.kernel_h, c.kernel_w}, c.strides, c.dilations, c.pads);
      return c;
    } catch (const UserError&) {  // no room for a window
    }
  }
}

/// Forward and both gradients of a case, from one function.
struct Convolutions {
  ir::Conv2D forward;
  ir::Conv2DTranspose image;
  ir::Conv2DWeight weight;
  Tensor x, w, dy;

  Convolutions(const Case& c, std::uint64_t stream)
      : forward{c.strides, c.dilations, c.pads, c.groups},
        image{c.strides, c.dilations, c.pads, c.groups, {c.height, c.width}},
        weight{c.strides, c.dilations, c.pads, c.groups, {c.kernel_h, c.kernel_w}},
        x(random({c.images, c.height, c.width, c.channels}, stream)),
        w(random({c.kernel_h, c.kernel_w, c.channels / c.groups, c.features}, stream + 1)),
        dy(random(ir::convolution_of(forward, x.shape(), w.shape()).y(), stream + 2)) {}

  std::vector<Tensor> operator()(std::span<const Tensor> in) const {
    const auto where = std::source_location::current();
    return {apply(forward, {&in[0], &in[1]}, where), apply(image, {&in[2], &in[1]}, where), apply(weight, {&in[0], &in[2]}, where)};
  }
  /// `explained`: how it was compiled.
  std::vector<Tensor> run(Mode mode, int threads = 1, std::string* explained = nullptr, InputKind images = InputKind::batch) const {
    StepCore step([this](std::span<const Tensor> in) { return (*this)(in); },
                  {.mode = mode, .threads = threads, .force = true, .kinds = {images, InputKind::fixed, images}}, std::source_location::current());
    const Tensor* in[] = {&x, &w, &dy};
    std::vector<Tensor> results = step.call(in);
    if (explained) *explained = step.explain();
    return results;
  }
  void expect(const std::vector<Tensor>& results) const {
    expect_reference(forward, x, w, results[0]);
    expect_reference(image, dy, w, results[1]);
    expect_reference(weight, x, dy, results[2]);
  }
};

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

/// Rows of a kernel that are contracted in parts, since one panel of them fills the second-level cache; windows that overlap and that do not.
Case long_kernel(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t height = pick(1, 3), taps = pick(20, 60), before = pick(0, taps - 1);
  Case c{2, height, taps + pick(20, 60), pick(40, 100), pick(30, 90), pick(1, height), taps, 1, {1, pick(1, 4)}, {1, 1}, {}};
  c.pads = {0, before, 0, taps - 1 - before};
  return c;
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

/// One that may be computed with few multiplications.
Case small_kernel(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t taps = pick(1, 3) == 3 ? 5 : 3, most = taps - 1;
  Case c{pick(1, 5), pick(taps, 20), pick(taps, 20), pick(8, 70), pick(8, 70), taps, taps, 1, {1, 1}, {1, 1}, {}};
  c.pads = {pick(0, most), pick(0, most), pick(0, most), pick(0, most)};
  return c;
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

/// One whose kernel is so large that it is read for the windows of several images; some of images that are copied in parts.
Case large_kernel(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t size = pick(1, 3), stride = pick(1, 4) == 1 ? 2 : 1, dilation = pick(1, 4) == 1 ? 2 : 1;
  Case c{pick(1, 9), pick(2, 6), pick(2, 6), pick(64, 300), pick(65, 200), size, pick(1, 3), 1, {stride, pick(1, 2)}, {dilation, 1}, {}};
  if (pick(1, 6) == 1) c.images = 1, c.height = 40, c.width = pick(28, 40), c.channels = pick(40, 60), c.kernel_h = c.kernel_w = 4;
  c.pads = {pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1), pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1)};
  if (c.height < 5) c.pads = {dilation * (c.kernel_h - 1), c.kernel_w - 1, dilation * (c.kernel_h - 1), c.kernel_w - 1};
  return c;
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

/// One of several groups, with more or fewer channels and features a group than a vector has lanes, or parts of one; some of images that are copied
/// in blocks.
Case grouped(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t groups = pick(2, 12), size = pick(1, 4), dilation = pick(1, 4) == 1 ? 2 : 1, most = pick(1, 3) == 1 ? 40 : 9;
  // With one channel a group it is depthwise: nine features are no part of a vector.
  constexpr std::int64_t parts[] = {1, 2, 4, 8, 16};
  const bool in_parts = pick(1, 2) == 1;
  const std::int64_t channels = in_parts ? parts[pick(0, 4)] : pick(1, most), features = channels == 1 ? 9
                                                                                         : in_parts    ? parts[pick(0, 4)]
                                                                                                       : pick(1, most);
  Case c{pick(1, 3), size + pick(0, 6), (size - 1) * dilation + pick(1, 30), groups * channels, groups * features, size, size, groups, {}, {}, {}};
  if (pick(1, 8) == 1) c.height = 60, c.width = 80, c.channels = groups * pick(20, 40);
  c.strides = {pick(1, 3), pick(1, 5)};
  c.dilations = {1, dilation};
  if (pick(1, 3) > 1) c.pads = {pick(0, size - 1), pick(0, size - 1), pick(0, size - 1), pick(0, size - 1)};
  else c.pads = {0, 0, 0, 0};
  return c;
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

/// One of so long rows that a gradient of the kernel adds up parts of them.
TEST(Convolution, PartsOfRows) {
  NEEDS_CODEGEN();
  RandomStream random(21, 1);
  const auto pick = numbers_of(random);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t groups = pick(1, 3), taps = pick(1, 4), stride = pick(1, 2);
    Case c{pick(1, 2),      pick(1, 2), stride * pick(2040, 3200), groups * pick(1, 6), groups * pick(1, 9), 1, taps, groups, {1, stride},
           {1, pick(1, 2)}, {}};
    if (i % 4 == 0) c.features = c.groups = 1;
    c.pads = {0, pick(0, taps - 1), 0, pick(0, taps - 1)};
    SCOPED_TRACE(str(i, ": ", c.text()));
    const Convolutions conv(c, static_cast<std::uint64_t>(10 * i));
    conv.expect(conv.run(Mode::graph, i % 2 + 1));
    if (testing::Test::HasFatalFailure()) return;
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

/// A depthwise one of rows of several tiles; some with a kernel too long for these, or with more features a channel than a vector holds.
Case depthwise(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t taps_h = pick(1, 5), taps_w = pick(1, 10), channels = pick(2, 40), dilation = pick(1, 4) == 1 ? pick(2, 4) : 1;
  constexpr std::int64_t several[] = {1, 1, 2, 2, 4, 8, 3};
  const std::int64_t features = channels * several[pick(0, 6)];
  Case c{pick(1, 3), taps_h + pick(0, 6), (taps_w - 1) * dilation + pick(1, 40), channels, features, taps_h, taps_w, channels, {}, {}, {}};
  c.strides = {pick(1, 3), pick(1, 2) == 1 ? 1 : pick(2, 5)};
  c.dilations = {1, dilation};
  c.pads = {pick(0, taps_h - 1), pick(0, taps_w - 1), pick(0, taps_h - 1), pick(0, taps_w - 1)};
  return c;
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

/// One of few features and windows of many numbers; some of images that are read where they lie, some of a single long row.
Case few_features(RandomStream& random) {
  const auto pick = numbers_of(random);
  const bool is_long = pick(1, 3) == 1;
  const std::int64_t size = pick(1, 4), dilation = pick(1, 5) == 1 ? 2 : 1;
  Case c{pick(1, 4), is_long ? 1 : pick(4, 12), is_long ? pick(230, 500) : pick(7, 20), pick(10, 90), pick(1, 8), is_long ? 1 : size, size, 1, {}, {},
         {}};
  c.strides = {is_long ? 1 : pick(1, 3), is_long ? 1 : pick(1, 3)};
  c.dilations = {1, dilation};
  c.pads = pick(1, 2) == 1 ? Shape{0, 0, 0, 0} : Shape{c.kernel_h - 1, size - 1, 0, size / 2};
  return c;
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
