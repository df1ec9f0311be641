// Functions of tensors: what the elementwise ones compute, and what is refused.
#include <cmath>

#include "frontend/core/counted.h"
#include "frontend/core/nearest.h"
#include "frontend/core/warn.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::function_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Function, OfOneNumberAsTheCLibraryHasThem) {
  struct Case {
    const char* name;
    std::function<Tensor(const Tensor&)> f;
    std::function<double(double)> exact;
    double low, high;
  };
  const std::vector<Case> cases{{"exp2", [](const Tensor& x) { return exp2(x); }, [](double x) { return std::exp2(x); }, -5, 5},
                                {"expm1", [](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); }, -1, 1},
                                {"log1p", [](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); }, -0.5, 3},
                                {"sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }, -7, 7},
                                {"cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }, -7, 7},
                                {"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); }, -3, 3},
                                {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9}};
  for (const Case& c : cases)
    for (const Mode mode : modes()) {
      auto step = compile([&](const Tensor& x) { return c.f(x); }, {.mode = mode});
      const Tensor x = random({40}, 3, c.low, c.high);
      const auto in = x.to_vector<float>(), out = step(x).to_vector<float>();
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double wanted = c.exact(static_cast<double>(in[i]));
        EXPECT_NEAR(out[i], wanted, 4e-7 * std::max(1.0, std::abs(wanted))) << c.name << " of " << in[i];
      }
    }
}

TEST(Function, OfTwoNumbers) {
  const Tensor a({1, 5, -2, 3}, {4}), b({2, 5, -3, 0}, {4});
  EXPECT_THAT(maximum(a, b).to_vector<float>(), ElementsAre(2, 5, -2, 3));
  EXPECT_THAT(maximum(a, 2).to_vector<float>(), ElementsAre(2, 5, 2, 3));
  EXPECT_THAT(not_equal(a, b).to_vector<std::uint8_t>(), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(broadcast_to(Tensor({1, 2}, {2, 1}), {3, 2, 2}).to_vector<float>(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2));
}

TEST(Function, ScatterAddsRowsAtTheirIndex) {
  const Tensor index(std::vector<std::int32_t>{2, 0, 2}, {3}), rows({1, 2, 10, 20, 100, 200}, {3, 2});
  EXPECT_THAT(scatter_add_rows(index, rows, 4).to_vector<float>(), ElementsAre(10, 20, 0, 0, 101, 202, 0, 0));
  EXPECT_THAT(error_of([&] { scatter_add_rows(index, rows, 2); }), HasSubstr("index 2 is outside [0, 2)"));
}

/// What functions take: a tensor, a parameter or a number, with the line of the call.
TEST(Function, TakesNumbersForTensors) {
  const Arg number(2.5), tensor(Tensor({1, 2}, {2}));
  EXPECT_TRUE(number.is_number());
  EXPECT_FALSE(tensor.is_number());
  EXPECT_EQ(number.as(DType::f32).item(), 2.5);
  EXPECT_EQ(number.where().line(), tensor.where().line());
  EXPECT_THAT(std::string(number.where().file_name()), HasSubstr("function_test.cpp"));
  EXPECT_THAT(Axes({-1, 0}).resolve({2, 3, 4}), ElementsAre(0u, 2u));
  EXPECT_THAT(Axes().resolve({2, 3}), ElementsAre(0u, 1u));
}

TEST(FunctionErrors, OfShapesAndCounters) {
  const char* rest = " has a dimension without a value outside of compiled functions; take it from a tensor, x.dim(0), which serves both";
  const Tensor x = Tensor::zeros({DType::f32, {4, 6}});
  EXPECT_THAT(error_of([&] { reshape(x, {Dim::batch(), 3, 2}); }), HasSubstr(str("reshape: [N,3,2]", rest)));
  EXPECT_THAT(error_of([&] { broadcast_to(x, {Dim::batch(), 6}); }), HasSubstr(str("broadcast_to: [N,6]", rest)));
  EXPECT_THAT(error_of([&] { random_normal({3}, Tensor::zeros({DType::i32, {}}), 1); }),
              HasSubstr("random numbers: draw must be a u32 scalar, as a counter that each step increments is, got i32[]"));
}

TEST(Function, NearestNamesAreThoseWithFewestEdits) {
  const std::vector<std::string> known{"relu", "sigmoid", "tanh"};
  EXPECT_EQ(nearest_name("rleu", known), "relu");
  EXPECT_EQ(nearest_name("than", known), "tanh");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_hint("sigmod", known), "; the nearest is 'sigmoid'");
  EXPECT_EQ(nearest_hint("x", {}), "");
  const std::vector<std::string> names{"factors.mean", "embedding_1.weight", "embedding_2.weight"};
  EXPECT_EQ(nearest_name("embeding_*", names), "embedding_1.weight") << "a pattern, of which the rest is any text";
  EXPECT_EQ(nearest_name("*.waight", names), "embedding_1.weight");
  EXPECT_EQ(nearest_name("factor?.maen", names), "factors.mean");
}

TEST(Function, CountsAreSingularOrPlural) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(std::size_t{2}, "row"), "2 rows");
}

TEST(Function, WarningsGoToTheLogOrToStderr) {
  std::vector<std::string> lines;
  const Log log = [&](const std::string& line) { lines.push_back(line); };
  testing::internal::CaptureStderr();
  warn(log, "one");
  warn({}, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "two\n");
  EXPECT_EQ(lines, std::vector<std::string>{"one"});
}

TEST(Padding, CountsThePlacesAlongAnAxis) {
  EXPECT_THAT(Padding::valid().along(0, 2, 10, 3, 1), ElementsAre(0, 0));
  EXPECT_THAT(Padding::same().along(0, 2, 10, 3, 1), ElementsAre(1, 1));
  EXPECT_THAT(Padding::same().along(0, 2, 10, 4, 3), ElementsAre(1, 2)) << "the odd place comes behind";
  EXPECT_THAT(Padding::around({1, 2}).along(1, 2, 10, 3, 1), ElementsAre(2, 2));
  EXPECT_THAT(Padding::sides({{0, 3}}).along(0, 1, 10, 3, 1), ElementsAre(0, 3));
  EXPECT_TRUE(Padding::same().is_same());
  EXPECT_FALSE(Padding::valid().is_same());
}

TEST(ConvolutionFunctions, DilationsSpreadTheKernel) {
  const Tensor x({1, 2, 3, 4, 5, 6}, {1, 6, 1}), kernel({1, 10}, {2, 1, 1});
  EXPECT_THAT(conv1d(x, kernel, {.dilations = {3}}).to_vector<float>(), ElementsAre(41, 52, 63));
}

TEST(FunctionErrors, OfImages) {
  const Tensor image = Tensor::zeros({DType::f32, {1, 4, 4, 2}}), kernel = Tensor::zeros({DType::f32, {3, 3, 2, 1}}),
               series = Tensor::zeros({DType::f32, {1, 4, 2}});
  expect_errors({{"[padding] needs numbers for 2 axes, got 1", [&] { conv2d(image, kernel, {.padding = Padding::around({1})}); }},
                 {"[padding] must not be negative, got -1 and -1", [&] { conv2d(image, kernel, {.padding = Padding::around({-1, 0})}); }},
                 {"[window] sizes, strides and dilations must be at least 1, got 0", [&] { conv2d(image, kernel, {.strides = {0}}); }},
                 {"[window] sizes and strides must be at least 1, got 0 and 0", [&] { max_pool1d(series, 0); }},
                 {"[image] the input must be [batch, height, width, channels], got f32[1,4,2]", [&] { conv2d(series, kernel); }},
                 {"[kernel] must be [height, width, channels / groups, features], got f32[1,4,2]", [&] { conv2d(image, series); }},
                 {"[padding] leaves nothing of the result: -1 elements along axis 1",
                  [&] { conv2d_transpose(Tensor::zeros({DType::f32, {1, 1, 1, 1}}), kernel, {.padding = Padding::around({2, 2})}); }}});
}

TEST(FunctionErrors, OfShapesAndTypes) {
  const Tensor x = random({2, 3}, 1), whole(std::vector<std::int32_t>{1, 2}, {2});
  expect_errors({{"the number 2.5 is not exact in i32", [&] { (void)(whole + 2.5); }},
                 {"there is no arithmetic on bool, got bool[2,3]; convert it with cast", [&] { (void)((x > 0) + (x > 1)); }},
                 {"both choices must have one element type, got f32[2,3] and i32[2]; convert one with cast", [&] { where(x > 0, x, whole); }},
                 {"stack needs at least 1 tensor, got none", [] { stack({}); }},
                 {"concat needs at least 1 tensor, got none", [] { concat({}); }},
                 {"the contracted dimensions differ: 3 of [2,3] against 2 of [2,1]", [&] { matmul(x, random({2}, 1)); }},
                 {"needs at least 1 dimension, got a scalar", [] { softmax(Tensor(1.0f)); }},
                 {"needs at least 2 dimensions, got [2]", [] { transpose(random({2}, 1)); }},
                 {"the table needs at least 1 dimension, got f32[]", [&] { gather_rows(Tensor(1.0f), whole); }},
                 {"the updates must lead with the index's dimensions [2], got [3,2]", [&] { scatter_add_rows(whole, random({3, 2}, 1), 4); }},
                 {"rows must not be negative, got -1", [&] { scatter_add_rows(whole, x, -1); }},
                 {"needs one update per index, got i32[2] and f32[3]", [&] { scatter_add_along(whole, random({3}, 1), 4); }},
                 {"cols must be positive, got 0", [&] { scatter_add_along(whole, random({2}, 1), 0); }},
                 {"the index and the operand must be equal except in the last axis, got i32[2,1] and f32[3,4]",
                  [&] { take_along(random({3, 4}, 1), reshape(whole, {2, 1})); }}});
}

TEST(FunctionErrors, OfTensors) {
  const Tensor x = random({2, 3}, 1);
  expect_errors(
      {{"[Tensor] data needs a fixed shape, got [N,3]", [] { Tensor::zeros({DType::f32, {Dim::batch(), 3}}); }},
       {"function_test.cpp:", [] { Tensor({1, 2}, {Dim::batch()}); }},
       {"data needs a fixed shape, got [N]", [] { Tensor({1, 2}, {Dim::batch()}); }},
       {"shape [3] has 3 elements, got 2", [] { Tensor({1, 2}, {3}); }},
       {"[tensor] too many elements: f32[4611686018427387904]", [] { Tensor::zeros({DType::f32, {std::int64_t{1} << 62}}); }},
       {"[Tensor::dim] axis 2 does not exist in [2,3], which has 2 dimensions", [&] { (void)x.dim(2); }},
       {"item() of a tensor that was never set", [] { (void)Tensor().item(); }},
       {"to_vector of another element type than the tensor's, which is f32[2,3]", [&] { (void)x.to_vector<std::int32_t>(); }},
       {"[Parameter] a name must not be empty; give one", [&] { Parameter("", x); }},
       {"[w] a parameter needs a value to start from, not a traced or missing tensor; compute it before the trace", [] { Parameter("w", Tensor()); }},
       {"[Parameter] reading a parameter that was never set", [] { (void)Parameter().read(); }},
       {"assigning to a parameter that was never set", [&] { Parameter().assign(x); }},
       {"[Columns] exactly one array is needed, but there are 2; pick one by its index", [&] { (void)Columns{x, x}.only(); }}});
}

TEST(FunctionErrors, OfTracedTensors) {
  NEEDS_CODEGEN();
  const Parameter w("w", random({2, 3}, 1));
  Tensor kept;
  compile([&](const Tensor& x) { return kept = x * 2; })(random({2, 3}, 2));
  EXPECT_TRUE(kept.is_traced());
  expect_errors({{"is traced, and its trace has ended; return it from the compiled function instead", [&] { (void)(kept + 1); }},
                 {"cannot assign a traced or missing tensor to 'w' outside of its trace", [&] { w.assign(Tensor(w.type(), 1, 0)); }},
                 {"an operand was never set", [] { compile([](const Tensor& t) { return t + Tensor(); })(random({2}, 1)); }},
                 {"[image] only the first dimension may be N",
                  [] { compile([](const Tensor& x) { return max_pool1d(reshape(x, {4, -1, 2}), 2); })(random({1, 4, 2}, 1)); }},
                 {"slice needs an axis of fixed size, got axis 0 of f32[N,3]; do it before the compiled step",
                  [] { compile([](const Tensor& x) { return slice(x, 0, 0, 1); })(random({2, 3}, 1)); }}});
}

TEST(FunctionParameters, AreNamedAndFrozen) {
  Parameter w("w", Tensor(1.0f));
  w.set_name("layer.w");
  EXPECT_EQ(w.name(), "layer.w");
  EXPECT_TRUE(w.trainable());
  w.set_trainable(false);
  EXPECT_FALSE(w.trainable());
  EXPECT_EQ(w.cell()->trainable, false);
  const std::uint64_t before = w.version();
  w.assign(Tensor(2.0f));
  EXPECT_NE(w.version(), before) << "another value";
  EXPECT_EQ(w.cell()->version, w.version());
  EXPECT_EQ(*w.read().view().as<float>(), *reinterpret_cast<const float*>(w.cell()->buffer.data()));
  w.cell()->changed();
  EXPECT_NE(w.cell()->version, before) << "whoever writes into the buffer says so";
}

}  // namespace
}  // namespace sinter::test::function_test
