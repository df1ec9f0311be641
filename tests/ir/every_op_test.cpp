// Every op of the list on its samples: rules that hold for all. A new op is covered the moment it joins the list.
#include <algorithm>
#include <cmath>

#include "ir/differentiate.h"
#include "ir/kernel.h"
#include "ir/print.h"
#include "ir/reference.h"
#include "tests/ir/expect_error.h"
#include "tests/ir/random_arrays.h"

namespace sinter::ir {
namespace {

template <class O>
class EveryOp : public ::testing::Test {};
template <class... Ops>
::testing::Types<Ops...> types_of(std::variant<Ops...>*);
struct OpName {
  template <class O>
  static std::string GetName(int) {
    return std::string(O::name);
  }
};
TYPED_TEST_SUITE(EveryOp, decltype(types_of(static_cast<Op*>(nullptr))), OpName);

/// The op on inputs of its sample, and the loss sum(y · weights) with fixed random weights.
struct SampleGraph {
  Graph graph{"sample"};
  Values operands;
  Value y, loss;
};

template <class O>
SampleGraph sample_graph(const Sample<O>& sample) {
  SampleGraph s;
  std::vector<NodeId> ids;
  for (const SampleInput& input : sample.inputs) {
    s.operands.push_back(s.graph.add_input({str("in", s.operands.size()), input.type}));
    ids.push_back(s.operands.back().id);
  }
  s.y = s.graph.add(sample.op, ids, {});
  if (is_float(s.y.type().dtype)) s.loss = sum(s.y * s.graph.add_input({"weights", s.y.type()}), 0, s.y.shape().rank());
  return s;
}

template <class O>
std::vector<Array> sample_values(const SampleGraph& s, const Sample<O>& sample, std::int64_t n, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<Array> values;
  for (const SampleInput& input : sample.inputs) values.push_back(test::random_array(random, input.type, n, input.low, input.high));
  if (s.loss) values.push_back(test::random_array(random, s.y.type(), n, 0.5, 1.5));
  return values;
}

TYPED_TEST(EveryOp, AttributesRebuildIt) {
  const TypeParam op;
  EXPECT_TRUE(operator_equal(make_op(TypeParam::name, attributes(op)), op));
  Attributes missing = attributes(op), strange = missing;
  strange.emplace_back("strange", true);
  EXPECT_THROW(make_op(TypeParam::name, strange), UserError);
  if (missing.empty()) return;
  missing.pop_back();
  EXPECT_USER_ERROR(make_op(TypeParam::name, missing), str("[", TypeParam::name, "] attribute '"));
}

TYPED_TEST(EveryOp, IsLeafPointwiseOrAnchor) {
  const Op op{TypeParam{}};
  const bool source = std::is_same_v<TypeParam, Constant> || std::is_same_v<TypeParam, Extent> || std::is_same_v<TypeParam, Iota>;
  EXPECT_EQ(is_leaf(op) + is_pointwise(op) + is_anchor(op) + source, 1);
}

TYPED_TEST(EveryOp, GivesTheInferredTypeAtEveryN) {
  if constexpr (!IsLeaf<TypeParam>)
    for (const auto& sample : TypeParam::samples()) {
      const SampleGraph s = sample_graph(sample);
      for (const std::int64_t n : {1, 4}) {
        const auto values = evaluate(s.graph, sample_values(s, sample, n, 1), {}, n);
        EXPECT_EQ(values[s.y.id].dtype, s.y.type().dtype);
        EXPECT_EQ(values[s.y.id].extents, s.y.shape().extents(n)) << to_text(s.graph);
        if (is_float(s.y.type().dtype)) continue;
        for (const double v : values[s.y.id].data) EXPECT_EQ(v, wrap(s.y.type().dtype, v));
      }
    }
}

/// The analytic gradient against central differences, both in double, on up to 250 elements of each f32 operand.
TYPED_TEST(EveryOp, GradientIsThatOfCentralDifferences) {
  if constexpr (!HasNoGradient<TypeParam>)
    for (const auto& sample : TypeParam::samples()) {
      SampleGraph s = sample_graph(sample);
      if (!s.loss) continue;
      const Values gradients = differentiate(s.loss, s.operands);
      const std::int64_t n = 3;
      auto inputs = sample_values(s, sample, n, 2);
      const auto values = evaluate(s.graph, inputs, {}, n);
      const auto loss_at = [&] { return evaluate(s.graph, inputs, {}, n)[s.loss.id].data[0]; };
      test::Random random(3);
      bool all_zero = true;
      for (std::size_t i = 0; i < s.operands.size(); ++i) {
        if (!is_float(s.operands[i].type().dtype)) continue;
        ASSERT_TRUE(gradients[i]) << "no gradient of operand " << i << "\n" << to_text(s.graph);
        ASSERT_EQ(gradients[i].type(), s.operands[i].type());
        const Array& gradient = values[gradients[i].id];
        const std::size_t count = gradient.data.size(), tried = std::min<std::size_t>(count, 250);
        for (std::size_t t = 0; t < tried; ++t) {
          const std::size_t at = tried == count ? t : random.below(count);
          double& x = inputs[i].data[at];
          const double saved = x, step = 1e-5;
          x = saved + step;
          const double above = loss_at();
          x = saved - step;
          const double below = loss_at();
          x = saved;
          const double expected = (above - below) / (2 * step);
          ASSERT_NEAR(gradient.data[at], expected, 1e-6 * (1 + std::abs(expected))) << "operand " << i << ", element " << at << "\n"
                                                                                    << to_text(s.graph);
          all_zero &= gradient.data[at] == 0;
        }
      }
      EXPECT_FALSE(all_zero) << to_text(s.graph);
    }
}

TEST(MakeOp, RefusesUnknownNames) {
  EXPECT_USER_ERROR(make_op("frobnicate", {}), "[op] unknown op 'frobnicate'; it needs a newer version of Sinter or the name is wrong");
}

}  // namespace
}  // namespace sinter::ir
