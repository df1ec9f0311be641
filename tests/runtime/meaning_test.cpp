// The corners of the ops' meaning: NaN, infinity, conversions, integers, broadcasting, aliasing, indices out of range.
#include <limits>

#include "tests/runtime/helpers.h"

namespace sinter::runtime::meaning_test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

ir::Array floats(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return array(DType::f32, {count}, std::move(values));
}

void expect_values(const Tensor& got, const std::vector<double>& expected) {
  const std::vector<double> values = got.values();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(values[i])) << "element " << i << " is " << values[i];
    else EXPECT_EQ(values[i], expected[i]) << "element " << i;
  }
}

TEST(Meaning, NanPassesThroughReluClipAndMax) {
  for_each_target([] {
    expect_values(run(ir::Relu{}, {floats({nan, -1, 0, 2, -inf, inf})}), {nan, 0, 0, 2, 0, inf});
    ir::Clip clip;
    clip.low = -1, clip.high = 1;
    expect_values(run(clip, {floats({nan, -5, 0.5, 5, -inf, inf})}), {nan, -1, 0.5, 1, -1, 1});
    ir::Max max;
    max.first = 1, max.last = 2;
    expect_values(run(max, {array(DType::f32, {3, 3}, {1, nan, 3, -7, -5, -6, -inf, -inf, -inf})}), {nan, -5, -inf});
    max.first = 0, max.last = 1;
    expect_values(run(max, {array(DType::f32, {3, 3}, {1, nan, 3, -7, -5, -6, -inf, -inf, -inf})}), {1, nan, 3});
  });
}

TEST(Meaning, ArgmaxTakesTheFirstNanElseTheFirstGreatest) {
  for_each_target([] {
    expect_values(run(ir::Argmax{}, {array(DType::f32, {4, 4}, {1, 9, 9, 2, 3, nan, 9, nan, -4, -3, -3, -9, -inf, -inf, -inf, -inf})}), {1, 1, 1, 0});
  });
}

TEST(Meaning, ExpLogSqrtTanhAndSigmoidAtTheEndsOfTheirRange) {
  for_each_target([] {
    expect_values(run(ir::Exp{}, {floats({nan, inf, -inf, 89, -88, 0, 1000, -1000})}), {nan, inf, 0, inf, 0, 1, inf, 0});
    EXPECT_NEAR(run(ir::Exp{}, {floats({88.7228})}).get(0) / std::exp(static_cast<double>(88.7228f)), 1, 1e-6);
    EXPECT_NEAR(run(ir::Exp{}, {floats({-87.33})}).get(0) / std::exp(static_cast<double>(-87.33f)), 1, 1e-6);
    expect_values(run(ir::Log{}, {floats({nan, inf, -inf, 0, 1, -1})}), {nan, inf, nan, -inf, 0, nan});
    expect_values(run(ir::Sqrt{}, {floats({nan, inf, 0, 4, 2.25, -1})}), {nan, inf, 0, 2, 1.5, nan});
    expect_values(run(ir::Tanh{}, {floats({nan, inf, -inf, 0, 40, -40})}), {nan, 1, -1, 0, 1, -1});
    expect_values(run(ir::Sigmoid{}, {floats({nan, inf, -inf, 0, 100, -100})}), {nan, 1, 0, 0.5, 1, 0});
  });
}

/// Bounds over a dense set of arguments of every size.
TEST(Meaning, VectorMathStaysWithinThreeUlps) {
  std::vector<double> values;
  for (std::uint32_t bits = 0x00800000; bits < 0x42b00000; bits += 40009) {  // from the least normal number to 88
    float x;
    std::memcpy(&x, &bits, 4);
    if (x > 87) break;
    values.push_back(x);
    values.push_back(-x);
  }
  const ir::Array x = floats(values);
  std::vector<double> positive = values;
  for (double& v : positive) v = std::abs(v);
  const auto check = [](const ir::Op& op, const ir::Array& in, double bound) {
    const Tensor out = run(op, {in});
    const ir::Array expected = reference(op, out.type, {in});
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
      const double y = expected.data[static_cast<std::size_t>(i)];
      if (std::abs(y) < 1.2e-38) continue;
      const double ulp = std::ldexp(1.0, std::ilogb(y) - 23);
      ASSERT_LE(std::abs(out.get(i) - y) / ulp, bound) << ir::name(op) << " of " << in.data[static_cast<std::size_t>(i)];
    }
  };
  for_each_target([&] {
    check(ir::Exp{}, x, 2);
    check(ir::Tanh{}, x, 2.5);
    check(ir::Sigmoid{}, x, 3);
    check(ir::Log{}, floats(positive), 2);
    check(ir::Sqrt{}, floats(positive), 0.5);
  });
}

TEST(Meaning, CastTruncatesSaturatesAndWraps) {
  const ir::Array x = floats({nan, 1.9, -1.9, 3e9, -3e9, 5e9, 255.9, 256, 2147483648.0, 4294967296.0, inf, -inf});
  const auto cast = [](DType to, const ir::Array& in) {
    ir::Cast op;
    op.dtype = to;
    return run(op, {in});
  };
  for_each_target([&] {
    expect_values(cast(DType::i32, x),
                  {0, 1, -1, 2147483647, -2147483648.0, 2147483647, 255, 256, 2147483647, 2147483647, 2147483647, -2147483648.0});
    expect_values(cast(DType::u32, x), {0, 1, 0, 3e9, 0, 4294967295.0, 255, 256, 2147483648.0, 4294967295.0, 4294967295.0, 0});
    expect_values(cast(DType::u8, x), {0, 1, 0, 255, 0, 255, 255, 255, 255, 255, 255, 0});
    expect_values(cast(DType::boolean, floats({nan, 0, -0.0, 0.5})), {1, 0, 0, 1});
    expect_values(cast(DType::u8, array(DType::i32, {4}, {-1, 256, 300, 7})), {255, 0, 44, 7});
    expect_values(cast(DType::boolean, array(DType::i32, {3}, {-256, 0, 256})), {1, 0, 1});
    expect_values(cast(DType::f32, array(DType::u32, {2}, {4294967295.0, 3})), {4294967296.0, 3});
    expect_values(cast(DType::i32, array(DType::u32, {1}, {4294967295.0})), {-1});
  });
}

TEST(Meaning, IntegersWrapAndCompareAsTheirTypeDoes) {
  for_each_target([] {
    expect_values(run(ir::Add{}, {array(DType::i32, {2}, {2147483647, -5}), array(DType::i32, {2}, {1, 3})}), {-2147483648.0, -2});
    expect_values(run(ir::Sub{}, {array(DType::u32, {2}, {0, 9}), array(DType::u32, {2}, {1, 4})}), {4294967295.0, 5});
    expect_values(run(ir::Mul{}, {array(DType::u32, {1}, {65536}), array(DType::u32, {1}, {65537})}), {65536});
    expect_values(run(ir::Neg{}, {array(DType::i32, {2}, {5, -2147483648.0})}), {-5, -2147483648.0});
    expect_values(run(ir::Less{}, {array(DType::u32, {2}, {4294967295.0, 1}), array(DType::u32, {2}, {1, 2})}), {0, 1});
    expect_values(run(ir::Less{}, {array(DType::i32, {2}, {-1, 1}), array(DType::i32, {2}, {1, 1})}), {1, 0});
    expect_values(run(ir::LessEqual{}, {array(DType::u8, {3}, {200, 1, 7}), array(DType::u8, {3}, {100, 1, 9})}), {0, 1, 1});
    expect_values(run(ir::Equal{}, {array(DType::boolean, {2}, {1, 0}), array(DType::boolean, {2}, {1, 1})}), {1, 0});
  });
}

TEST(Meaning, ComparisonsWithNanAreFalseExceptNotEqual) {
  const ir::Array x = floats({nan, 1, nan}), y = floats({1, nan, nan});
  for_each_target([&] {
    expect_values(run(ir::Less{}, {x, y}), {0, 0, 0});
    expect_values(run(ir::LessEqual{}, {x, y}), {0, 0, 0});
    expect_values(run(ir::Equal{}, {x, y}), {0, 0, 0});
    expect_values(run(ir::NotEqual{}, {x, y}), {1, 1, 1});
  });
}

TEST(Meaning, SelectMovesAnyType) {
  const ir::Array condition = array(DType::boolean, {3}, {1, 0, 1});
  for_each_target([&] {
    expect_values(run(ir::Select{}, {condition, array(DType::u8, {3}, {1, 2, 3}), array(DType::u8, {3}, {7, 8, 9})}), {1, 8, 3});
    expect_values(run(ir::Select{}, {condition, array(DType::i32, {3}, {-1, -2, -3}), array(DType::i32, {}, {5})}), {-1, 5, -3});
    expect_values(run(ir::Select{}, {condition, floats({nan, 1, 2}), floats({0, nan, 0})}), {nan, nan, 2});
  });
}

TEST(Meaning, OperandsOfAllKindsBroadcast) {
  std::mt19937 random(2);
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes{
      {{1, 70}, {9, 1}},   {{5, 1, 9}, {4, 9}}, {{7, 1}, {1, 1}}, {{3, 1, 1}, {4, 1}}, {{2, 3, 4, 5}, {3, 1, 5}}, {{2, 3, 4, 5}, {2, 1, 4, 1}},
      {{6, 4}, {2, 6, 1}}, {{1}, {40}},         {{8, 1}, {8, 3}}};
  for (const auto& [a, b] : shapes) {
    const std::vector<ir::Array> in{random_array({DType::f32, Shape::fixed(a)}, -2, 2, random),
                                    random_array({DType::f32, Shape::fixed(b)}, 1, 2, random)};
    for_each_target([&] {
      for (const ir::Op& op : {ir::Op(ir::Sub{}), ir::Op(ir::Less{})}) {
        const Tensor out = run(op, in);
        ASSERT_TRUE(out.pads_are_zero());
        const ir::Array expected = reference(op, out.type, in);
        for (std::int64_t i = 0; i < expected.elements(); ++i)
          ASSERT_NEAR(out.get(i), expected.data[static_cast<std::size_t>(i)], 1e-6) << Shape::fixed(a) << Shape::fixed(b);
      }
    });
  }
}

TEST(Meaning, PointwiseResultsMayReplaceAnOperand) {
  std::mt19937 random(4);
  for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{37, 70}, {37, 1}, {5}, {700, 70}}) {
    const ir::Array a = random_array({DType::f32, Shape::fixed(extents)}, -2, 2, random),
                    row = random_array({DType::f32, Shape{extents.back()}}, -2, 2, random);
    for (const ir::Array* b : {&a, &row}) {
      const Tensor expected = run(ir::Mul{}, {a, *b});
      const Tensor x(a), y(*b);
      const View in[] = {x.view(), b == &a ? x.view() : y.view()};
      evaluate(ir::Mul{}, in, x.view());
      EXPECT_EQ(x.bytes(), expected.bytes());
    }
  }
}

TEST(Meaning, DenormalNumbersCountAsZeroOnlyInside) {
  const double denormal = 1e-39;
  EXPECT_EQ(run(ir::Mul{}, {floats({denormal}), floats({2})}).get(0), 0);
  EXPECT_EQ(run(ir::Mul{}, {floats({1e-20}), floats({1e-19})}).get(0), 0);
  volatile float small = 1e-20f, smaller = 1e-19f;
  EXPECT_GT(small * smaller, 0.0f);
}

TEST(Meaning, ScalarsAreWrittenInTheirType) {
  const auto constant = [](double value, DType dtype) { return run(ir::Constant{value, dtype}, {}).get(0); };
  EXPECT_EQ(constant(2.5, DType::f32), 2.5);
  EXPECT_EQ(constant(-7, DType::i32), -7);
  EXPECT_EQ(constant(4294967295.0, DType::u32), 4294967295.0);
  EXPECT_EQ(constant(200, DType::u8), 200);
  EXPECT_EQ(constant(1, DType::boolean), 1);
  EXPECT_EQ(run(ir::Extent{Dim(500)}, {}).get(0), 500);
}

template <class F>
void expect_user_error(F&& f, const std::string& text) {
  try {
    f();
    FAIL() << "expected: " << text;
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), text.c_str());
  }
}

TEST(Indices, OutOfRangeAreUserErrors) {
  const ir::Array table = array(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}), vector = floats({1, 2, 3});
  const auto index = [](DType dtype, double value) { return array(dtype, {2}, {0, value}); };
  expect_user_error([&] { run(ir::GatherRows{}, {table, index(DType::i32, 3)}); }, "index 3 is outside [0, 3), at [1] of the indices");
  expect_user_error([&] { run(ir::GatherRows{}, {vector, index(DType::i32, -1)}); }, "index -1 is outside [0, 3), at [1] of the indices");
  expect_user_error([&] { run(ir::GatherRows{}, {table, index(DType::u32, 4294967295.0)}); },
                    "index 4294967295 is outside [0, 3), at [1] of the indices");
  ir::ScatterAddRows scatter;
  scatter.rows = 2;
  expect_user_error([&] { run(scatter, {index(DType::u8, 200), floats({1, 2})}); }, "index 200 is outside [0, 2), at [1] of the indices");
  ir::OneHot one_hot;
  one_hot.depth = 10;
  expect_user_error([&] { run(one_hot, {index(DType::i32, 10)}); }, "index 10 is outside [0, 10), at [1] of the indices");
}

TEST(Copies, DenseMemoryRoundTrips) {
  std::vector<std::vector<std::int64_t>> shapes{{}, {1}, {5}, {70}, {9, 1}, {9, 5}, {9, 70}, {3, 4, 17}};
  for (std::int64_t columns = 2; columns <= 40; ++columns)
    for (const std::int64_t rows : {1, 2, 60}) shapes.push_back({rows, columns});
  for (const std::vector<std::int64_t>& extents : shapes) {
    for (const DType dtype : {DType::f32, DType::u8}) {
      SCOPED_TRACE(str(Shape::fixed(extents), " ", dtype));
      Tensor tensor(Type{dtype, Shape::fixed(extents)});
      constexpr std::byte untouched{0xee};
      std::vector<std::byte> dense(static_cast<std::size_t>(tensor.view().layout().elements()) * size_of(dtype)), back(dense.size() + 128, untouched);
      for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<std::byte>(i * 7 + 1);
      copy_from_dense(dense.data(), tensor.view());
      EXPECT_TRUE(tensor.pads_are_zero());
      copy_to_dense(tensor.view(), back.data());
      dense.resize(back.size(), untouched);  // nothing is written behind the last row
      EXPECT_EQ(dense, back);
    }
  }
}

}  // namespace
}  // namespace sinter::runtime::meaning_test
