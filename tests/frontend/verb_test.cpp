// Functions that are compositions of ops: permute, products, einsum, slices, rows.
#include <algorithm>
#include <numeric>

#include "ir/graph.h"
#include "tests/frontend/mistakes.h"
#include "tests/frontend/verbs.h"

namespace sinter::test::verb_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor counted(const Shape& shape) { return cast(iota(shape), DType::f32); }

// ---- permute ----

/// Element by element.
std::vector<float> permuted(const Tensor& x, const std::vector<std::int64_t>& axes) {
  const std::vector<float> in = x.to_vector<float>();
  const std::size_t rank = x.rank();
  std::vector<std::int64_t> extents = x.shape().extents(1), strides(rank, 1), out;
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * extents[axis];
  std::vector<float> result;
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), from = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto source = static_cast<std::size_t>(axes[axis]);
      from += rest % extents[source] * strides[source];
      rest /= extents[source];
    }
    result.push_back(in[static_cast<std::size_t>(from)]);
  }
  return result;
}

TEST(Permute, OfAllOrdersOfFourAxes) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{3, 1, 2, 17}, Shape{1, 1, 4, 1}}) {
    const Tensor x = counted(shape);
    std::vector<std::int64_t> axes{0, 1, 2, 3};
    do {
      const Tensor y = permute(x, axes);
      SCOPED_TRACE(str(shape, " -> ", y.shape()));
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(y.shape()[i], shape[static_cast<std::size_t>(axes[i])]);
      EXPECT_EQ(y.to_vector<float>(), permuted(x, axes));
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(Permute, OfOtherTypesAndRanks) {
  EXPECT_THAT(permute(Tensor(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}, {2, 3}), {1, 0}).to_vector<std::uint8_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(permute(counted({3}), {-1}).to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(permute(Tensor(2.0f), {}).item(), 2);
  const Tensor six = counted({2, 1, 3, 2, 1, 2});
  EXPECT_EQ(permute(six, {5, 4, 3, 2, 1, 0}).to_vector<float>(), permuted(six, {5, 4, 3, 2, 1, 0}));
}

template <class O>
std::size_t count_of(const ir::Graph& graph) {
  std::size_t count = 0;
  for (const ir::NodeId id : graph.topological_order()) count += std::holds_alternative<O>(graph.node(id).op);
  return count;
}

TEST(Permute, IsATransposeOfBlocksWhereThatDoesIt) {
  NEEDS_CODEGEN();
  const auto transposes_and_permutations = [](const std::vector<std::int64_t>& axes) {
    auto step = compile([&](const Tensor& x) { return permute(x, axes); });
    step(random({3, 4, 5, 6}, 1));
    return std::pair(count_of<ir::Transpose>(step.graph()), count_of<ir::Permute>(step.graph()));
  };
  const std::pair<std::size_t, std::size_t> nothing{0, 0}, transpose{1, 0}, permutation{0, 1};
  EXPECT_EQ(transposes_and_permutations({0, 1, 2, 3}), nothing);
  EXPECT_EQ(transposes_and_permutations({0, 1, 3, 2}), transpose);
  EXPECT_EQ(transposes_and_permutations({0, 3, 1, 2}), transpose) << "neighbours stay together";
  EXPECT_EQ(transposes_and_permutations({0, 2, 1, 3}), permutation);
  EXPECT_EQ(transposes_and_permutations({1, 0, 2, 3}), permutation) << "N may go to any place";
}

TEST(Permute, IsRightCompiledAndSoIsItsGradient) {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0, 2, 1, 3}, {0, 3, 2, 1}, {2, 0, 3, 1}, {3, 2, 1, 0}}) {
    const Tensor weight = random({2, 3, 2, 3}, 7);
    const Tensor turned = permute(weight, axes);
    SCOPED_TRACE(str(turned.shape()));
    expect_right([&](const Tensor& x, const auto&) { return permute(x, axes) * 2 + mean(permute(square(x), axes)); }, random({5, 3, 2, 3}, 1));
  }
}

TEST(PermuteErrors, SayWhatIsWrong) {
  const Tensor x = counted({2, 3});
  expect_errors({{"permute needs each axis of f32[2,3] once, got [0,0]", [&] { permute(x, {0, 0}); }},
                 {"permute needs each axis of f32[2,3] once, got [1]", [&] { permute(x, {1}); }},
                 {"axis 2 does not exist in a tensor of 2 dimensions", [&] { permute(x, {0, 2}); }},
                 {"verb_test.cpp:", [&] { permute(x, {1}); }}});
}

// ---- products ----

TEST(MatrixProducts, OfVectorsAndMatrices) {
  const Tensor m({1, 2, 3, 4, 5, 6}, {2, 3}), v({1, 10, 100}, {3}), u({1, 10}, {2});
  EXPECT_THAT(matmul(m, v).to_vector<float>(), ElementsAre(321, 654));
  EXPECT_THAT(matmul(u, m).to_vector<float>(), ElementsAre(41, 52, 63));
  EXPECT_THAT(matmul(m, u, true).to_vector<float>(), ElementsAre(41, 52, 63));
  EXPECT_EQ(to_string(matmul(v, v).type()), "f32[]");
  EXPECT_EQ(matmul(v, v).item(), 10101);
  EXPECT_EQ(dot(v, v).item(), 10101);
  const Tensor stacked = stack({m, 2 * m});
  EXPECT_THAT(matmul(stacked, v).to_vector<float>(), ElementsAre(321, 654, 642, 1308));
  EXPECT_THAT(matmul(u, stacked).to_vector<float>(), ElementsAre(41, 52, 63, 82, 104, 126));
}

/// The elements of the product of each pair of matrices, the leading axes repeated.
TEST(MatrixProducts, BroadcastTheirLeadingAxes) {
  struct Case {
    Shape a, b;
    const char* shape;
    bool transpose_a = false, transpose_b = false;
  };
  for (const Case& c :
       {Case{{4, 2, 3}, {3, 5}, "[4,2,5]"}, Case{{4, 3, 2}, {5, 3}, "[4,2,5]", true, true}, Case{{2, 3}, {4, 3, 5}, "[4,2,5]"},
        Case{{6, 1, 2, 3}, {4, 3, 5}, "[6,4,2,5]"}, Case{{4, 2, 3}, {1, 5, 3}, "[4,2,5]", false, true}, Case{{2, 4, 2, 3}, {3, 5}, "[2,4,2,5]"}}) {
    const Tensor a = random(c.a, 1), b = random(c.b, 2);
    const Tensor got = matmul(a, b, c.transpose_a, c.transpose_b);
    EXPECT_EQ(to_string(got.shape()), c.shape);
    // By a product of elements and a sum.
    const Tensor left = c.transpose_a ? transpose(a) : a, right = c.transpose_b ? b : transpose(b);
    const auto with_one = [](const Tensor& x, std::size_t axis) {
      const Shape shape = x.shape().insert(axis, 1);
      return reshape(x, {shape.begin(), shape.end()});
    };
    const Tensor wanted = sum(with_one(left, left.rank() - 1) * with_one(right, right.rank() - 2), {-1});
    EXPECT_LT(max(abs(got - wanted)).item(), 1e-6) << c.shape;
  }
}

TEST(MatrixProducts, AreRightCompiledAndSoAreTheirGradients) {
  expect_right([](const Tensor& x, const auto& o) { return matmul(x, o[0]); }, random({5, 4, 3}, 1), {random({3, 2}, 2)});
  expect_right([](const Tensor& x, const auto& o) { return matmul(x, o[0], true, true); }, random({5, 4, 3}, 1), {random({2, 4}, 2)});
  expect_right([](const Tensor& x, const auto& o) { return matmul(x, o[0]); }, random({5, 3}, 1), {random({3}, 2)});
  expect_right([](const Tensor& x, const auto& o) { return matmul(o[0], x, false, true); }, random({5, 3}, 1), {random({3}, 2)});
  expect_right([](const Tensor& x, const auto& o) { return matmul(o[0], x); }, random({5, 4, 3}, 1), {random({2, 4}, 2)});
  expect_right([](const Tensor& x, const auto& o) { return matmul(x, o[0]); }, random({5, 1, 2, 3}, 1), {random({4, 3, 2}, 2)});
  expect_right([](const Tensor& x, const auto&) { return dot(x, x * 2); }, random({5}, 1));
}

TEST(ProductErrors, NameBothOperands) {
  const Tensor m = random({2, 3}, 1), v = random({3}, 1), deep = random({4, 2, 3}, 1);
  expect_errors(
      {{"matmul: the contracted dimensions differ: 3 of f32[4,2,3] against 2 of f32[2,5]", [&] { matmul(deep, random({2, 5}, 1)); }},
       {"the contracted dimensions differ: 2 of f32[4,2,3] (transposed) against 5 of f32[5,2]", [&] { matmul(deep, random({5, 2}, 1), true); }},
       {"shapes [4] and [5] do not broadcast", [&] { matmul(deep, random({5, 3, 2}, 1)); }},
       {"matmul needs vectors or matrices, got f32[2,3] and f32[]; a * b scales", [&] { matmul(m, Tensor(2.0f)); }},
       {"matmul cannot transpose a vector, got f32[3] and f32[2,3]", [&] { matmul(v, m, true); }},
       {"dot needs two vectors of one length, got f32[3] and f32[2]", [&] { dot(v, random({2}, 1)); }},
       {"dot needs two vectors of one length, got f32[2,3] and f32[2,3]; matmul takes matrices", [&] { dot(m, m); }}});
}

// ---- einsum ----

/// By loops over all letters.
std::vector<double> einsum_by_loops(const std::string& inputs, const std::string& result, const std::vector<Tensor>& operands) {
  std::vector<std::string> axes(1);
  for (const char c : inputs)
    if (c == ',') axes.emplace_back();
    else axes.back() += c;
  std::map<char, std::int64_t> size, at;
  std::vector<std::vector<float>> data;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    data.push_back(operands[i].to_vector<float>());
    for (std::size_t axis = 0; axis < axes[i].size(); ++axis) size[axes[i][axis]] = operands[i].shape()[axis].factor();
  }
  const auto place = [&](const std::string& letters) {
    std::int64_t p = 0;
    for (const char c : letters) p = p * size[c] + at[c];
    return static_cast<std::size_t>(p);
  };
  std::int64_t count = 1, all = 1;
  for (const char c : result) count *= size[c];
  for (const auto& [letter, extent] : size) all *= extent;
  std::vector<double> sums(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < all; ++i) {
    std::int64_t rest = i;
    for (const auto& [letter, extent] : size) at[letter] = rest % extent, rest /= extent;
    double product = 1;
    for (std::size_t k = 0; k < operands.size(); ++k) product *= static_cast<double>(data[k][place(axes[k])]);
    sums[place(result)] += product;
  }
  return sums;
}

TEST(Einsum, IsTheSumOfProductsThatItSays) {
  const std::map<char, std::int64_t> sizes{{'a', 2}, {'b', 4}, {'c', 3}, {'d', 5}, {'i', 3}, {'j', 4}, {'k', 2}, {'l', 5}};
  const std::pair<const char*, const char*> cases[] = {
      {"bij,bjk", "bik"}, {"ij,jk", "ik"},       {"ij,kj", "ik"},   {"ji,jk", "ik"},       {"ij,jk", "ki"},
      {"ij", "ji"},       {"ij", "i"},           {"ij", ""},        {"i,i", ""},           {"i,j", "ij"},
      {"ij,ij", "ij"},    {"ij,ij", "i"},        {"ij,ij", "ji"},   {"ij,j", "i"},         {"i,ij", "j"},
      {"bij,bkj", "bk"},  {"bij,kj", "bik"},     {"bij,jk", "kib"}, {"abij,abkj", "abik"}, {"aibj,bkaj", "abik"},
      {"ijk,jil", "kl"},  {"ij,jk,kl", "il"},    {"ij,ik,il", "i"}, {"bij,bj,bi", "bi"},   {"abcd,abd", "acb"},
      {"bij,bij", "b"},   {"ij,kl", "ijkl"},     {"ij,kl", "kj"},   {"a,ab,abc", "c"},     {"ab,ab,c", "bc"},
      {"abc", "cab"},     {"abij,jkbl", "kail"}, {"ij,j", "ji"}};
  for (const auto& [inputs, result] : cases) {
    std::vector<Tensor> operands;
    std::vector<Dim> dims;
    const auto finish = [&] {
      operands.push_back(random(Shape(std::span<const Dim>(dims)), operands.size() + 3));
      dims.clear();
    };
    for (const char* c = inputs; *c; ++c)
      if (*c == ',') finish();
      else dims.emplace_back(sizes.at(*c));
    finish();
    const std::string subscripts = str(inputs, "->", result);
    SCOPED_TRACE(subscripts);
    const Tensor got = einsum(subscripts, operands);
    ASSERT_EQ(got.rank(), std::string(result).size());
    for (std::size_t axis = 0; axis < got.rank(); ++axis) EXPECT_EQ(got.shape()[axis], Dim(sizes.at(result[axis])));
    const std::vector<double> wanted = einsum_by_loops(inputs, result, operands);
    const std::vector<float> values = got.to_vector<float>();
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-5) << i;
  }
}

TEST(Einsum, WithoutAnArrowKeepsWhatIsNamedOnce) {
  const Tensor a = random({2, 3}, 1), b = random({3, 4}, 2);
  EXPECT_EQ(einsum("ij,jk", {a, b}).to_vector<float>(), matmul(a, b).to_vector<float>());
  EXPECT_EQ(einsum("ba", {a}).to_vector<float>(), transpose(a).to_vector<float>()) << "in the order of the alphabet";
  EXPECT_EQ(to_string(einsum(" i j , j k -> k i ", {a, b}).shape()), "[4,2]");
  EXPECT_EQ(einsum("ij->", {cast(a > 0, DType::i32)}).item(), sum(a > 0).item()) << "sums of integers too";
}

TEST(Einsum, IsRightCompiledAndSoIsItsGradient) {
  const auto with = [](const char* subscripts) { return [=](const Tensor& x, const auto& o) { return einsum(subscripts, {x, o[0]}); }; };
  expect_right(with("bij,jk->bik"), random({5, 2, 3}, 1), {random({3, 4}, 2)});
  expect_right(with("bij,jk->kib"), random({5, 2, 3}, 1), {random({3, 4}, 2)});
  expect_right(with("bi,ci->bc"), random({5, 3}, 1), {random({4, 3}, 2)});
  expect_right(with("nci,cio->cno"), random({5, 2, 3}, 1), {random({2, 3, 4}, 2)});  // N in the matrices of several products
  expect_right([](const Tensor& x, const auto&) { return einsum("bqd,bkd->bqk", {x, x * 2}); }, random({5, 2, 3}, 1));
  expect_right([](const Tensor& x, const auto&) { return einsum("bi,bj->ij", {x, x}); }, random({5, 3}, 1));
  expect_right([](const Tensor& x, const auto&) { return einsum("b,b->", {x, x}); }, random({5}, 1));
}

TEST(EinsumErrors, NameTheLetter) {
  const Tensor a = random({2, 3}, 1), b = random({4, 5}, 2);
  expect_errors({{"einsum \"ij,jk->ik\": 'j' is 3 in operand 0 and 4 in operand 1", [&] { einsum("ij,jk->ik", {a, b}); }},
                 {"einsum \"ij->iz\": 'z' of the result is in no operand", [&] { einsum("ij->iz", {a}); }},
                 {"einsum \"ij->ii\": 'i' is twice in the result", [&] { einsum("ij->ii", {a}); }},
                 {"einsum \"ii->i\": 'i' is twice in operand 0; a diagonal is not supported", [&] { einsum("ii->i", {a}); }},
                 {"einsum \"ij,jk->ik\": has subscripts of 2 operands, got 1", [&] { einsum("ij,jk->ik", {a}); }},
                 {"einsum \"ijk->i\": \"ijk\" names 3 axes, but operand 0 is f32[2,3]", [&] { einsum("ijk->i", {a}); }},
                 {"einsum \"...i->i\": \"...\" is not supported; name all axes", [&] { einsum("...i->i", {a}); }},
                 {"einsum \"i1->i\": subscripts are letters, commas and one ->, got '1'", [&] { einsum("i1->i", {a}); }},
                 {"einsum \"abcd,efgh->abcdefgh\": a product of two operands has the axes \"abcdefgh\", at most 6 are possible",
                  [&] { einsum("abcd,efgh->abcdefgh", {random({1, 1, 1, 1}, 1), random({1, 1, 1, 1}, 1)}); }},
                 {"einsum \"ij->i\" needs at least 1 operand, got none", [] { einsum("ij->i", {}); }}});
  if (codegen::is_built()) {
    expect_errors({{"einsum \"bi,ci->bc\": the batch dimension is in one product as 'b' and as 'c'; sum over one of them first",
                    [&] { compile([](const Tensor& x) { return einsum("bi,ci->bc", {x, x}); })(a); }}});
  }
}

// ---- rows and slices ----

TEST(Rows, AreTakenByNumber) {
  const Tensor x = counted({3, 2});
  EXPECT_THAT(x[0].to_vector<float>(), ElementsAre(0, 1));
  EXPECT_THAT(x[-1].to_vector<float>(), ElementsAre(4, 5));
  EXPECT_EQ(x[1][1].item(), 3);
  EXPECT_EQ(to_string(counted({2, 3, 4})[1].type()), "f32[3,4]");
  const Index last(-1);
  EXPECT_EQ(last.number, -1);
  EXPECT_THAT(std::string(last.where.file_name()), HasSubstr("verb_test.cpp"));
  expect_errors({{"index 3 is outside [-3, 3), the rows of f32[3,2]", [&] { (void)x[3]; }},
                 {"a scalar has no rows; item() reads it", [&] { (void)x[1][1][0]; }},
                 {"verb_test.cpp:", [&] { (void)x[3]; }}});
}

TEST(Slices, OfSeveralAxes) {
  const Tensor x = counted({3, 4, 5});
  EXPECT_THAT(slice(x, {{1, 2}, {.begin = 2}, {3}}).to_vector<float>(), ElementsAre(33, 34, 38, 39));
  EXPECT_THAT(slice(x, {{-1}, {0, -3}, {1, 3}}).to_vector<float>(), ElementsAre(41, 42));
  EXPECT_EQ(slice(x, {{1, Slice::to_end}}).to_vector<float>(), slice(x, 0, 1, 3).to_vector<float>());
  EXPECT_EQ(slice(x, {{}, {}}).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(slice(x, {}).to_vector<float>(), x.to_vector<float>());
  expect_errors({{"slice of 2 axes of f32[3], which has 1", [] { slice(counted({3}), {{}, {}}); }},
                 {"slice needs a step of at least 1, got -1; flip reverses an axis", [&] { slice(x, {{.step = -1}}); }},
                 {"slice [2, 2) of axis 0 of f32[3,4,5] is empty or outside", [&] { slice(x, {{2, 2}}); }}});
}

TEST(Slices, TakeEachSoManyth) {
  const Tensor x = counted({7});
  EXPECT_THAT(slice(x, {{.step = 2}}).to_vector<float>(), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(slice(x, {{1, -1, 2}}).to_vector<float>(), ElementsAre(1, 3, 5));
  EXPECT_THAT(slice(x, {{.step = 3}}).to_vector<float>(), ElementsAre(0, 3, 6));
  EXPECT_THAT(slice(x, {{.step = 100}}).to_vector<float>(), ElementsAre(0));
  EXPECT_THAT(slice(counted({3, 4}), {{.step = 2}, {1, 4, 2}}).to_vector<float>(), ElementsAre(1, 3, 9, 11));
  EXPECT_THAT(slice(cast(counted({4}), DType::u8), {{.step = 2}}).to_vector<std::uint8_t>(), ElementsAre(0, 2));
}

TEST(Slices, AreRightCompiledAndSoAreTheirGradients) {
  expect_right([](const Tensor& x, const auto& o) { return slice(x, {{}, {1, 6, 2}, {1}}) * o[0][1]; }, random({5, 7, 3}, 1), {random({2, 2}, 2)});
}

// ---- assignment with an operator ----

TEST(Assignment, WithAnOperatorMakesANewValue) {
  Tensor x({1, 2}, {2});
  const Tensor before = x;
  x += 1;
  x *= Tensor({2, 3}, {2});
  x -= before;
  x /= 2;
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1.5f, 3.5f));
  EXPECT_THAT(before.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(error_of([&] { x += random({3}, 1); }), HasSubstr("verb_test.cpp:"));
  expect_right(
      [](const Tensor& in, const auto& o) {
        Tensor y = in;
        y += o[0];
        y *= 2;
        y -= in;
        y /= 4;
        return y;
      },
      random({5, 3}, 1), {random({3}, 2)});
}

}  // namespace
}  // namespace sinter::test::verb_test
