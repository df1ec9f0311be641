// Convolutions that are compiled with few multiplications, of images whose numbers differ widely: what one pixel holds stays in the windows that hold
// it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/frontend/helpers.h"

namespace sinter::test::winograd_range_test {
namespace {

using testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Images [3, size, size, channels] of a convolution with padding, its kernel, and a gradient of its result.
struct Images {
  std::int64_t size, taps, channels, features;
  Tensor x = random({3, size, size, channels}, 1), w = random({taps, taps, channels, features}, 2), dy = random({3, size, size, features}, 3);

  struct Results {
    std::vector<float> y, dx;
  };
  static auto function(std::int64_t taps) {
    return [pad = taps / 2](const Tensor& x, const Tensor& w, const Tensor& dy) {
      const Tensor watched = watch(x), y = conv2d(watched, w, {.padding = Padding::around({pad, pad})});
      return std::pair(y, grad(sum(y * dy), std::array{watched})[0]);
    };
  }
  Results run(Mode mode) const {
    auto step = compile(function(taps), {.mode = mode, .kinds = {InputKind::batch, InputKind::fixed, InputKind::batch}});
    if (mode == Mode::graph) {
      step(x, w, dy);
      EXPECT_THAT(step.explain(), HasSubstr("Winograd"));
      const VerifyReport report = step.verify(x, w, dy);
      EXPECT_TRUE(report.ok()) << report;
    }
    const auto [y, dx] = step(x, w, dy);
    return {y.to_vector<float>(), dx.to_vector<float>()};
  }
  static Tensor with(const Tensor& x, const std::vector<std::int64_t>& place, float value) {
    std::vector<float> data = x.to_vector<float>();
    std::int64_t at = 0;
    for (std::size_t i = 0; i < place.size(); ++i) at = at * x.shape()[i].factor() + place[i];
    data[static_cast<std::size_t>(at)] = value;
    return {data, x.shape()};
  }
};

/// Every form of the transforms, with channels that fill vectors and that don't, and tiles that reach over the edge.
std::vector<Images> forms() { return {{6, 3, 64, 64}, {13, 3, 20, 24}, {16, 3, 32, 17}, {14, 5, 9, 40}}; }

/// Compares results whose windows hold marked pixels or don't: errors of at most `hot` in the first, of `tame` in the others, and the same non-finite
/// ones.
void expect_alike(const std::vector<float>& got, const std::vector<float>& wanted, const std::vector<float>& marked, double hot, double tame) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isfinite(wanted[i])) ASSERT_NEAR(got[i], wanted[i], marked[i] == 0 ? tame : hot) << i;
    else if (std::isnan(wanted[i])) ASSERT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else ASSERT_EQ(got[i], wanted[i]) << i;
  }
}

/// Compiled results against eager ones; `x` and `dy` mark pixels with other numbers than 0.
void expect_as_eager(const Images& images, const Tensor& x, const Tensor& dy, double hot, double tame) {
  SCOPED_TRACE(str("images of ", images.size, ", kernel of ", images.taps));
  Images marks = images;
  marks.x = x;
  marks.dy = dy;
  marks.w = Tensor::filled(images.w.type(), 1);
  const Images::Results eager = images.run(Mode::eager), compiled = images.run(Mode::graph), marked = marks.run(Mode::eager);
  expect_alike(compiled.y, eager.y, marked.y, hot, tame);
  expect_alike(compiled.dx, eager.dx, marked.dx, hot, tame);
}

class WinogradRange : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { NEEDS_CODEGEN(); }
  Environment target_{"SINTER_TARGET", GetParam()};
};

constexpr double rounding = 1e-4;  // of sums of some hundred terms of about 1

TEST_P(WinogradRange, AHotPixelStaysInItsWindows) {
  for (Images images : forms()) {
    const Tensor mark_x = Images::with(images.x * 0, {1, 1, 1, 5}, 1), mark_dy = Images::with(images.dy * 0, {1, 1, 0, 7}, 1);
    images.x = images.x + mark_x * 1e6;
    images.dy = images.dy + mark_dy * 1e6;
    expect_as_eager(images, mark_x, mark_dy, 1e6 * rounding, rounding);
  }
}

TEST_P(WinogradRange, WhatIsNotFiniteSpoilsItsWindowsOnly) {
  for (const Images& tame : forms())
    for (const float value : {infinity, -infinity, std::nanf("")}) {
      Images images = tame;
      images.x = Images::with(images.x, {1, 1, 1, 5}, value);
      images.dy = Images::with(images.dy, {2, 0, 1, 7}, value);
      expect_as_eager(images, images.x, images.dy, rounding, rounding);
    }
}

TEST_P(WinogradRange, DoesNotOverflowWhereTheSumDoesNot) {
  for (Images images : forms()) {
    images.x = images.x * 1e37;
    images.dy = images.dy * 1e37;
    const Images::Results eager = images.run(Mode::eager), compiled = images.run(Mode::graph);
    const auto expect_near = [](const std::vector<float>& got, const std::vector<float>& wanted) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (std::abs(wanted[i]) > 1e38) continue;  // partial sums may overflow
        ASSERT_NEAR(got[i], wanted[i], 1e37 * rounding) << i;
      }
    };
    expect_near(compiled.y, eager.y);
    expect_near(compiled.dx, eager.dx);
  }
}

// They are sums over all windows, and never computed directly (docs/design.md).
TEST_P(WinogradRange, GradientsOfKernelsMayOverflowInTheirTransforms) {
  const Images images{16, 3, 16, 16};
  const Tensor x = Images::with(images.x, {0, 1, 1, 3}, 1e38f), dy = images.dy * 0 + 1;
  auto step = compile(
      [](const Tensor& image, const Tensor& w, const Tensor& dy) {
        const Tensor watched = watch(w), y = conv2d(image, watched, {.padding = Padding::around({1, 1})});
        return grad(sum(y * dy), std::array{watched})[0];
      },
      {.kinds = {InputKind::batch, InputKind::fixed, InputKind::batch}});
  const auto is_finite = [&] {
    const std::vector<float> all = step(x, images.w, dy).to_vector<float>();
    return std::all_of(all.begin(), all.end(), [](float v) { return std::isfinite(v); });
  };
  EXPECT_FALSE(is_finite());
  EXPECT_THAT(step.explain(), HasSubstr("Winograd"));
  // In the tiles, in their sums, or only on the way from these to the kernel.
  for (float scale = 1; scale > 0.05f; scale /= 1.03f) {
    const VerifyReport report = step.verify(x * scale, images.w, dy);
    EXPECT_TRUE(report.ok()) << scale << "\n" << report;
  }
  step.core()->set_mode(Mode::eager);
  EXPECT_TRUE(is_finite()) << "the sums themselves fit";
}

TEST_P(WinogradRange, KernelsThatAreNotFinite) {
  for (Images images : forms()) {
    images.w = Images::with(images.w, {0, 1, 3, 2}, infinity);
    expect_as_eager(images, images.x, images.dy, rounding, rounding);
  }
}

TEST_P(WinogradRange, WindowsOfZerosAreZero) {
  for (Images images : forms()) {
    std::vector<float> sparse(static_cast<std::size_t>(images.x.shape().elements().factor()));
    for (std::size_t i = 3; i < sparse.size(); i += 977) sparse[i] = 1 + static_cast<float>(i % 7);
    images.x = Tensor(sparse, images.x.shape());
    expect_as_eager(images, images.x, images.dy, rounding, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Target, WinogradRange, testing::Values("", "x86-64-v3"),
                         [](const auto& info) { return std::string(*info.param ? "v3" : "native"); });

}  // namespace
}  // namespace sinter::test::winograd_range_test
