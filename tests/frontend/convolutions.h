// Convolutions of random shapes, by what they are computed as, with their references.
#pragma once

#include "frontend/compile/bounds.h"
#include "frontend/core/apply.h"
#include "ir/graph.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::convolution_test {

/// Fails if a result is further from the double reference than the rounding of its sums allows.
inline void expect_reference(const ir::Op& op, const Tensor& a, const Tensor& b, const Tensor& got) {
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
inline auto numbers_of(RandomStream& random) {
  return [&random](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(high - low + 1)));
  };
}

inline Case random_case(RandomStream& random) {
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

/// Rows of a kernel that are contracted in parts, since one panel of them fills the second-level cache; windows that overlap and that do not.
inline Case long_kernel(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t height = pick(1, 3), taps = pick(20, 60), before = pick(0, taps - 1);
  Case c{2, height, taps + pick(20, 60), pick(40, 100), pick(30, 90), pick(1, height), taps, 1, {1, pick(1, 4)}, {1, 1}, {}};
  c.pads = {0, before, 0, taps - 1 - before};
  return c;
}

/// One that may be computed with few multiplications.
inline Case small_kernel(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t taps = pick(1, 3) == 3 ? 5 : 3, most = taps - 1;
  Case c{pick(1, 5), pick(taps, 20), pick(taps, 20), pick(8, 70), pick(8, 70), taps, taps, 1, {1, 1}, {1, 1}, {}};
  c.pads = {pick(0, most), pick(0, most), pick(0, most), pick(0, most)};
  return c;
}

/// One whose kernel is so large that it is read for the windows of several images; some of images that are copied in parts.
inline Case large_kernel(RandomStream& random) {
  const auto pick = numbers_of(random);
  const std::int64_t size = pick(1, 3), stride = pick(1, 4) == 1 ? 2 : 1, dilation = pick(1, 4) == 1 ? 2 : 1;
  Case c{pick(1, 9), pick(2, 6), pick(2, 6), pick(64, 300), pick(65, 200), size, pick(1, 3), 1, {stride, pick(1, 2)}, {dilation, 1}, {}};
  if (pick(1, 6) == 1) c.images = 1, c.height = 40, c.width = pick(28, 40), c.channels = pick(40, 60), c.kernel_h = c.kernel_w = 4;
  c.pads = {pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1), pick(0, c.kernel_h - 1), pick(0, c.kernel_w - 1)};
  if (c.height < 5) c.pads = {dilation * (c.kernel_h - 1), c.kernel_w - 1, dilation * (c.kernel_h - 1), c.kernel_w - 1};
  return c;
}

/// One of several groups, with more or fewer channels and features a group than a vector has lanes, or parts of one; some of images that are copied
/// in blocks.
inline Case grouped(RandomStream& random) {
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

/// A depthwise one of rows of several tiles; some with a kernel too long for these, or with more features a channel than a vector holds.
inline Case depthwise(RandomStream& random) {
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

/// One of few features and windows of many numbers; some of images that are read where they lie, some of a single long row.
inline Case few_features(RandomStream& random) {
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

}  // namespace sinter::test::convolution_test
