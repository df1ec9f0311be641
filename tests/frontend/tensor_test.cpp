#include "ir/ops.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::tensor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tensor, KeepsDenseDataInRowMajorOrder) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(to_string(x.type()), "f32[2,3]");
  EXPECT_EQ(x.dim(-1), Dim(3));
  EXPECT_EQ(str(x), "f32[2,3] {1, 2, 3, 4, 5, 6}");
}

TEST(Tensor, OperatorsBroadcast) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT((x * 2.0f + Tensor({1, 0, -1}, {3})).to_vector<float>(), ElementsAre(3, 4, 5, 9, 10, 11));
  EXPECT_THAT((1 - x).to_vector<float>(), ElementsAre(0, -1, -2, -3, -4, -5));
  EXPECT_THAT(where(x > 3, x, 0).to_vector<float>(), ElementsAre(0, 0, 0, 4, 5, 6));
}

TEST(Tensor, GeluInBothForms) {
  const Tensor x({-3, -1, 0, 1, 3}, {5});
  const std::vector<float> exact = gelu(x).to_vector<float>(), approximate = gelu(x, true).to_vector<float>();
  const std::vector<float> wanted{-0.00404951f, -0.15865529f, 0, 0.84134471f, 2.9959507f},
      wanted_tanh{-0.00363752f, -0.15880796f, 0, 0.84119201f, 2.9963627f};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(exact[i], wanted[i], 1e-6);
    EXPECT_NEAR(approximate[i], wanted_tanh[i], 1e-6);
  }
}

/// Values of torch.nn.functional and of NumPy.
TEST(Tensor, ActivationsAndSteps) {
  const Tensor x({-7, -1.5, -0.25, 0, 0.5, 2, 100}, {7});
  const auto expect = [&](const char* what, const Tensor& got, const std::vector<float>& wanted) {
    const std::vector<float> values = got.to_vector<float>();
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 2e-6 * (1 + std::abs(wanted[i]))) << what << " " << i;
  };
  expect("leaky_relu", leaky_relu(x, 0.1f), {-0.7f, -0.15f, -0.025f, 0, 0.5f, 2, 100});
  expect("elu", elu(x), {-0.99908811f, -0.77686983f, -0.22119921f, 0, 0.5f, 2, 100});
  expect("selu", selu(x), {-1.7564961f, -1.3658143f, -0.38889018f, 0, 0.52535051f, 2.101402f, 105.0701f});
  expect("softplus", softplus(x), {0.00091147f, 0.20141328f, 0.57593942f, 0.69314718f, 0.97407699f, 2.126928f, 100});
  expect("softsign", softsign(x), {-0.875f, -0.6f, -0.2f, 0, 1.0f / 3, 2.0f / 3, 100.0f / 101});
  expect("silu", silu(x), {-0.00637736f, -0.27363828f, -0.10945588f, 0, 0.31122967f, 1.7615942f, 100});
  expect("mish", mish(x), {-0.00638029f, -0.29809976f, -0.12992696f, 0, 0.37524524f, 1.9439591f, 100});
  expect("relu6", relu6(x), {0, 0, 0, 0, 0.5f, 2, 6});
  expect("hard_sigmoid", hard_sigmoid(x), {0, 0.25f, 2.75f / 6, 0.5f, 3.5f / 6, 5.0f / 6, 1});
  expect("hard_silu", hard_silu(x), {0, -0.375f, -0.25f * 2.75f / 6, 0, 0.5f * 3.5f / 6, 10.0f / 6, 100});
  expect("hard_tanh", hard_tanh(x), {-1, -1, -0.25f, 0, 0.5f, 1, 1});
  expect("abs", abs(x), {7, 1.5f, 0.25f, 0, 0.5f, 2, 100});
  expect("sign", sign(x), {-1, -1, -1, 0, 1, 1, 1});
  expect("floor", floor(x), {-7, -2, -1, 0, 0, 2, 100});
  expect("ceil", ceil(x), {-7, -1, 0, 0, 1, 2, 100});
  expect("round", round(x), {-7, -2, 0, 0, 0, 2, 100});
  expect("minimum", minimum(x, 0.25), {-7, -1.5f, -0.25f, 0, 0.25f, 0.25f, 0.25f});
  EXPECT_EQ(cast(logical_and(x > -1, logical_or(x < 0, logical_not(x < 50))), DType::f32).to_vector<float>(),
            (std::vector<float>{0, 0, 1, 0, 0, 0, 1}));
  EXPECT_THAT(error_of([&] { logical_and(x > 0, x); }), HasSubstr("logical_and needs bool operands, got f32[7]; compare first, as in x > 0"));
}

TEST(Tensor, Reductions) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(sum(x).item(), 21);
  EXPECT_THAT(sum(x, {0}).to_vector<float>(), ElementsAre(5, 7, 9));
  EXPECT_THAT(mean(x, {-1}).to_vector<float>(), ElementsAre(2, 5));
  EXPECT_EQ(to_string(max(x, {1}, true).shape()), "[2,1]");
  EXPECT_THAT(argmax(x).to_vector<std::int32_t>(), ElementsAre(2, 2));
  const Tensor deep = reshape(x, {1, 2, 3});
  EXPECT_THAT(sum(deep, {0, 2}).to_vector<float>(), ElementsAre(6, 15));
}

TEST(Tensor, MoreReductions) {
  const Tensor x({1, 2, 3, 4, -5, 6}, {2, 3});
  EXPECT_THAT(min(x, {-1}).to_vector<float>(), ElementsAre(1, -5));
  EXPECT_THAT(prod(x, {0}).to_vector<float>(), ElementsAre(4, -10, 18));
  EXPECT_THAT(variance(Tensor({1, 3, 2, 2}, {2, 2}), {-1}).to_vector<float>(), ElementsAre(1, 0));
  EXPECT_NEAR(logsumexp(Tensor({1000, 1000}, {2})).item(), 1000.6931, 1e-3);
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(logsumexp(Tensor({-inf, -inf}, {2})).item(), -inf);
  EXPECT_EQ(logsumexp(Tensor({inf, 0}, {2})).item(), inf);
  EXPECT_EQ(to_string(logsumexp(x, {-1}).shape()), "[2]");
  EXPECT_EQ(to_string(logsumexp(x, {-1}, true).shape()), "[2,1]");
  EXPECT_THAT(cumsum(x).to_vector<float>(), ElementsAre(1, 3, 6, 4, -1, 5));
  EXPECT_THAT(cumsum(x, 0).to_vector<float>(), ElementsAre(1, 2, 3, 5, -3, 9));
}

TEST(Tensor, OfUnsignedNumbers) {
  const std::vector<std::uint32_t> numbers{0, 7, 4000000000u};
  const Tensor tensor(numbers, {3});
  EXPECT_EQ(tensor.dtype(), DType::u32);
  EXPECT_EQ(tensor.to_vector<std::uint32_t>(), numbers);
}

TEST(Tensor, PartsAndWholes) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3}), y({7, 8}, {2, 1});
  EXPECT_THAT(concat({x, y}, -1).to_vector<float>(), ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
  EXPECT_THAT(concat({x, x, x, x, x, x}).to_vector<float>(), testing::SizeIs(36));
  EXPECT_EQ(to_string(stack({x, x, x}, 1).shape()), "[2,3,3]");
  EXPECT_THAT(stack({y, y}, -1).to_vector<float>(), ElementsAre(7, 7, 8, 8));
  EXPECT_THAT(slice(x, 1, -2, 3).to_vector<float>(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(pad(y, -1, 1, 0, 9).to_vector<float>(), ElementsAre(9, 7, 9, 8));
  const auto parts = split(x, {1, 2});
  EXPECT_THAT(parts[1].to_vector<float>(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(iota({2, 2}).to_vector<std::uint32_t>(), ElementsAre(0u, 1u, 2u, 3u));
  EXPECT_THAT(error_of([&] { concat({x, y}, 0); }), HasSubstr("operands must be equal except along axis 0, got f32[2,3] and f32[2,1]"));
  EXPECT_THAT(error_of([&] { concat({}); }), HasSubstr("concat needs at least 1 tensor, got none"));
  EXPECT_THAT(error_of([&] { slice(x, 1, 2, 2); }), HasSubstr("slice [2, 2) of axis 1 of f32[2,3] is empty or outside"));
  EXPECT_THAT(error_of([&] { slice(x, 4, 0, 1); }), HasSubstr("axis 4 does not exist in a tensor of 2 dimensions"));
  EXPECT_THAT(error_of([&] { split(x, {1, 1}); }), HasSubstr("the sizes must add up to 3, axis 1 of f32[2,3], got 2"));
  EXPECT_THAT(error_of([&] { pad(x, 0, -1, 0); }), HasSubstr("cannot pad by -1 and 0 elements; slice removes some"));
}

TEST(Tensor, PicksAlongRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x({3, 1, 2, 5, nan, 5}, {2, 3}), index(std::vector<std::int32_t>{2, 0, 1, 1}, {2, 2});
  const TopK best = top_k(x, 2);
  EXPECT_THAT(best.indices.to_vector<std::int32_t>(), ElementsAre(0, 2, 1, 0));
  EXPECT_EQ(best.values.to_vector<float>()[1], 2);
  EXPECT_THAT(take_along(x, index).to_vector<float>()[1], 3);
  EXPECT_THAT(scatter_add_along(index, Tensor({1, 2, 3, 4}, {2, 2}), 3).to_vector<float>(), ElementsAre(2, 0, 1, 0, 7, 0));
  EXPECT_THAT(error_of([&] { top_k(x, 4); }), HasSubstr("k must be from 1 to the 3 elements of a row, got 4"));
  EXPECT_THAT(error_of([&] { take_along(x, index + 5); }), HasSubstr("index 7 is outside [0, 3)"));
}

TEST(Tensor, ProductsOfManyMatrices) {
  const Tensor a({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  EXPECT_THAT(matmul(a, a).to_vector<float>(), ElementsAre(7, 10, 15, 22, 67, 78, 91, 106));
  EXPECT_THAT(matmul(a, a, false, true).to_vector<float>(), ElementsAre(5, 11, 11, 25, 61, 83, 83, 113));
  EXPECT_THAT(matmul(a, slice(a, 0, 0, 1)).to_vector<float>(), ElementsAre(7, 10, 15, 22, 23, 34, 31, 46));
}

TEST(Tensor, ReshapeInfersOneDimension) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(to_string(reshape(x, {3, -1}).shape()), "[3,2]");
  EXPECT_THAT(error_of([&] { reshape(x, {4, -1}); }), HasSubstr("cannot fit [2,3] with what is left to -1"));
  EXPECT_THAT(error_of([&] { reshape(x, {-1, -1}); }), HasSubstr("only one dimension may be -1"));
}

TEST(Tensor, IsMadeOfDoublesAnd64BitIntegersAndTruth) {
  const std::vector<double> numbers{1, 0.1, -1e30};
  EXPECT_EQ(to_string(Tensor(numbers, {3}).type()), "f32[3]");
  EXPECT_THAT(Tensor(numbers, {3}).to_vector<float>(), ElementsAre(1, 0.1f, -1e30f));
  const std::vector<std::int64_t> whole{1, -2147483648, 2147483647};
  EXPECT_EQ(to_string(Tensor(whole, {3}).type()), "i32[3]");
  EXPECT_THAT(Tensor(whole, {3}).to_vector<std::int32_t>(), ElementsAre(1, -2147483647 - 1, 2147483647));
  const Tensor yes(std::vector<bool>{true, false, true}, {3});
  EXPECT_EQ(str(yes), "bool[3] {true, false, true}");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Tensor(std::vector<double>{std::numeric_limits<double>::infinity()}, {1}).to_vector<float>(), ElementsAre(inf));
  EXPECT_THAT(error_of([] { Tensor(std::vector<double>{1, 1e39}, {2}); }),
              testing::AllOf(HasSubstr("tensor_test.cpp:"), HasSubstr("element 1 is 1e+39, which is too large for f32; scale the data")));
  EXPECT_THAT(error_of([] { Tensor(std::vector<std::int64_t>{7, 2147483648}, {2}); }),
              testing::AllOf(HasSubstr("tensor_test.cpp:"), HasSubstr("element 1 is 2147483648, which does not fit i32; store smaller numbers")));
}

TEST(Tensor, TakesAShapeOf64BitIntegers) {
  const std::vector<std::int64_t> extents{2, 3};
  EXPECT_EQ(Shape(extents), (Shape{2, 3}));
  EXPECT_EQ(to_string(Tensor({1, 2, 3, 4, 5, 6}, extents).type()), "f32[2,3]");
  EXPECT_EQ(to_string(Tensor::zeros({DType::u8, extents}).type()), "u8[2,3]");
  EXPECT_THAT(error_of([] { (void)Shape(std::vector<std::int64_t>{2, -1}); }), HasSubstr("a dimension cannot be negative, got -1"));
}

TEST(Tensor, IsTrueOrFalseByItsOneElement) {
  EXPECT_TRUE(bool(Tensor(2.0f) > 1));
  EXPECT_FALSE(bool(Tensor({1}, {1}) == 2));
  const Tensor x({1, 2}, {2});
  const auto line = std::to_string(__LINE__ + 1);
  const Tensor larger = x > 1;
  EXPECT_THAT(error_of([&] {
                if (larger) return;
              }),
              HasSubstr(str("[tensor_test.cpp:", line, "] if (tensor) needs one element, got bool[2]; reduce it, as min (are all true?)")));
  EXPECT_EQ(std::to_string(larger.made().line()), line);
  const auto made = std::to_string(__LINE__ + 1);
  Tensor data({1, 2}, {2});
  EXPECT_THAT(error_of([&] { (void)bool(data); }), HasSubstr(str("[tensor_test.cpp:", made, "] if (tensor) needs one element")));
  data.set_made(larger.made());
  EXPECT_EQ(data.made().line(), larger.made().line());
  EXPECT_THAT(error_of([&] { (void)larger.item(); }),
              testing::AllOf(HasSubstr("tensor_test.cpp:"), HasSubstr("item() needs one element, got bool[2]")));
}

TEST(TensorErrors, NameRuleAndValuesAndLine) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3}), y({1, 2}, {2});
  EXPECT_THAT(error_of([&] { x + y; }), HasSubstr("tensor_test.cpp:"));
  EXPECT_THAT(error_of([&] { x + y; }), HasSubstr("add: shapes [2,3] and [2] do not broadcast: 3 against 2"));
  EXPECT_THAT(error_of([&] { matmul(x, x); }), HasSubstr("the contracted dimensions differ: 3 of [2,3] against 2 of [2,3]"));
  EXPECT_THAT(error_of([&] { x + equal(x, x); }), HasSubstr("operands must have one element type, got f32[2,3] and bool[2,3]"));
  EXPECT_THAT(error_of([&] { x.item(); }), HasSubstr("item() needs one element, got f32[2,3]"));
  EXPECT_THAT(error_of([&] { sum(x, {2}); }), HasSubstr("axis 2 does not exist in [2,3], which has 2 dimensions"));
  EXPECT_THAT(error_of([&] { sum(x, {0, 0}); }), HasSubstr("axis 0 is listed twice"));
  EXPECT_THAT(error_of([&] { Tensor({1, 2, 3}, {2}); }), HasSubstr("shape [2] has 2 elements, got 3"));
  EXPECT_THAT(error_of([&] { Tensor() + x; }), HasSubstr("operand 0 was never set"));
  EXPECT_THAT(error_of([&] { clip(x, 1, 0); }), HasSubstr("clip needs low <= high, got 1 and 0"));
  EXPECT_THAT(error_of([&] { one_hot(Tensor(std::vector<std::int32_t>{3}, {1}), 3); }), HasSubstr("[0, 3)"));
}

TEST(ParameterSnapshots, DoNotChange) {
  const Parameter p("p", Tensor({1, 2}, {2}));
  const Tensor before = p;
  p.assign(before * 3.0f);
  EXPECT_THAT(before.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(p.read().to_vector<float>(), ElementsAre(3, 6));
  EXPECT_GT(p.version(), 0u);
  EXPECT_THAT(error_of([&] { p.assign(Tensor(1.0f)); }), HasSubstr("cannot assign f32[] to 'p', which is f32[2]"));
}

TEST(ParameterNames, AreTheirPaths) {
  nn::Sequential model{nn::Dense(4, 3), nn::Dense(3, 2), nn::Sequential{nn::Dense(2, 2)}};
  std::vector<std::string> names;
  for (const Parameter& p : model.parameters()) names.push_back(p.name());
  EXPECT_THAT(names, ElementsAre("dense_1.weight", "dense_1.bias", "dense_2.weight", "dense_2.bias", "sequential_1.dense_1.weight",
                                 "sequential_1.dense_1.bias"));
  EXPECT_THAT(error_of([&] { model.parameter("dense_3.weight"); }), HasSubstr("there is no parameter 'dense_3.weight'; there are dense_1.weight"));
  EXPECT_THAT(error_of([&] { model(Tensor::zeros({DType::f32, {5, 9}})); }),
              HasSubstr("[dense_1] input has 9 features but the layer was built for 4; make it Dense(9, 3)"));
  EXPECT_THAT(error_of([] { nn::Dense(0, 3); }), HasSubstr("[Dense] needs at least 1 input and 1 unit, got 0 and 3"));
}

TEST(Random, PhiloxMatchesItsPublishedVectors) {
  // Known answers of Random123: philox4x32-10 of zeros, and of all ones.
  const auto zeros = philox(0, 0, 0);
  EXPECT_THAT(zeros, ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  const auto ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_THAT(ones, ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  // philox2x32-7: the first words.
  const auto word = [](std::uint32_t index, std::uint32_t draw, std::uint32_t key) {
    return ir::Philox{{}, key}.eval(ir::Word(index), ir::Word(draw)).value;
  };
  EXPECT_EQ(word(0, 0, 0), 0x257a3673u);
  EXPECT_EQ(word(~0u, ~0u, ~0u), 0xab302c4du);
  EXPECT_EQ(word(0x243f6a88, 0x85a308d3, 0x13198a2e), 0xbedbbe6bu);
}

TEST(Random, DrawsAreSpreadAsTheySay) {
  const Shape shape{100, 70};
  const auto moments = [](const Tensor& x) { return std::pair{mean(x).item(), variance(x).item()}; };
  const auto [uniform_mean, uniform_variance] = moments(random_uniform(shape, 3, 1));
  EXPECT_NEAR(uniform_mean, 0.5, 0.015);
  EXPECT_NEAR(uniform_variance, 1.0 / 12, 0.004);
  const auto [normal_mean, normal_variance] = moments(random_normal(shape, 3, 1));
  EXPECT_NEAR(normal_mean, 0, 0.05);
  EXPECT_NEAR(normal_variance, 1, 0.05);
  const auto bits = [&](double draw, std::uint64_t stream) { return random_bits(shape, draw, stream).to_vector<std::uint32_t>(); };
  EXPECT_EQ(bits(3, 1), bits(3, 1));
  EXPECT_NE(bits(3, 1), bits(4, 1));
  EXPECT_NE(bits(3, 1), bits(3, 2));
}

TEST(InitialValues, HaveTheirVariance) {
  const Shape shape{120, 80};
  const auto check = [&](const Initializer& make, double mean_wanted, double variance_wanted) {
    seed(11);
    const Tensor x = make(shape);
    EXPECT_NEAR(mean(x).item(), mean_wanted, 0.02);
    EXPECT_NEAR(variance(x).item(), variance_wanted, 0.05 * variance_wanted + 1e-6);
    seed(11);
    EXPECT_EQ(make(shape).to_vector<float>(), x.to_vector<float>());
  };
  check(init::constant(2), 2, 0);
  check(init::uniform(-1, 1), 0, 1.0 / 3);
  check(init::normal(1, 0.5), 1, 0.25);
  check(init::truncated_normal(0, 1), 0, 0.774);
  check(init::glorot_uniform(), 0, 2.0 / 200);
  check(init::glorot_normal(), 0, 2.0 / 200);
  check(init::he_uniform(), 0, 2.0 / 120);
  check(init::he_normal(), 0, 2.0 / 120);
  check(init::lecun_uniform(), 0, 1.0 / 120);
  check(init::lecun_normal(), 0, 1.0 / 120);
  const Tensor q = init::orthogonal(2)(Shape{7, 5}), gram = matmul(q, q, true);
  for (int i = 0; i < 25; ++i) EXPECT_NEAR(gram.to_vector<float>()[static_cast<std::size_t>(i)], i % 6 ? 0 : 4, 1e-5);
  EXPECT_THAT(error_of([] { init::he_normal()(Shape{5}); }),
              HasSubstr("initializers that scale with the fans need a weight [..., in, out], got [5]"));
  EXPECT_THAT(error_of([] { init::normal(0, -1); }), HasSubstr("the deviation must be at least 0, got -1"));
}

}  // namespace
}  // namespace sinter::test::tensor_test
