// Every op of the list on its samples: rules that hold for all. A new op is covered the moment it joins the list.
#include <algorithm>
#include <cmath>

#include "ir/differentiate.h"
#include "ir/kernel.h"
#include "ir/print.h"
#include "ir/reference.h"
#include "tests/ir/expect_error.h"
#include "tests/ir/op_types.h"
#include "tests/ir/random_arrays.h"

namespace sinter::ir::every_op_test {
namespace {

template <class O>
class EveryOp : public ::testing::Test {};
TYPED_TEST_SUITE(EveryOp, test::OpTypes, test::OpName);

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
  EXPECT_EQ(is_leaf(op) + is_pointwise(op) + moves_elements(op) + is_anchor(op) + source, 1);
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

/// The analytic gradient of a scalar against central differences, both in double, on up to `most` elements of each f32 operand. Returns whether any
/// is not 0. An empty gradient counts as 0.
bool judge_gradient(SampleGraph& s, std::vector<Array> inputs, Value scalar, const Values& gradients, std::size_t most) {
  const std::int64_t n = 3;
  const auto values = evaluate(s.graph, inputs, {}, n);
  const auto scalar_at = [&] { return evaluate(s.graph, inputs, {}, n)[scalar.id].data[0]; };
  test::Random random(3);
  bool any = false;
  for (std::size_t i = 0; i < s.operands.size(); ++i) {
    if (!is_float(s.operands[i].type().dtype)) continue;
    EXPECT_TRUE(!gradients[i] || gradients[i].type() == s.operands[i].type());
    const std::size_t count = inputs[i].data.size(), tried = std::min(count, most);
    for (std::size_t t = 0; t < tried; ++t) {
      const std::size_t at = tried == count ? t : random.below(count);
      double& x = inputs[i].data[at];
      const double saved = x, step = 1e-5;
      x = saved + step;
      const double above = scalar_at();
      x = saved - step;
      const double below = scalar_at();
      x = saved;
      const double expected = (above - below) / (2 * step), gradient = gradients[i] ? values[gradients[i].id].data[at] : 0;
      EXPECT_NEAR(gradient, expected, 1e-6 * (1 + std::abs(expected))) << "operand " << i << ", element " << at << "\n" << to_text(s.graph);
      if (::testing::Test::HasFailure()) return true;
      any |= gradient != 0;
    }
  }
  return any;
}

TYPED_TEST(EveryOp, GradientIsThatOfCentralDifferences) {
  if constexpr (!HasNoGradient<TypeParam>)
    for (const auto& sample : TypeParam::samples()) {
      SampleGraph s = sample_graph(sample);
      if (!s.loss) continue;
      const Values gradients = differentiate(s.loss, s.operands);
      for (std::size_t i = 0; i < gradients.size(); ++i)
        ASSERT_TRUE(gradients[i] || !is_float(s.operands[i].type().dtype)) << "no gradient of operand " << i << "\n" << to_text(s.graph);
      EXPECT_TRUE(judge_gradient(s, sample_values(s, sample, 3, 2), s.loss, gradients, 250)) << to_text(s.graph);
      if (this->HasFailure()) return;
    }
}

/// Each gradient rule is made of ops that have gradients, so gradients have gradients: of sum(gradient · weights), over all operands.
TYPED_TEST(EveryOp, GradientOfTheGradientIsThatOfCentralDifferences) {
  if constexpr (!HasNoGradient<TypeParam>)
    for (const auto& sample : TypeParam::samples()) {
      SampleGraph s = sample_graph(sample);
      if (!s.loss) continue;
      test::Random random(4);
      std::vector<Array> inputs = sample_values(s, sample, 3, 2);
      Value total;
      for (const Value gradient : differentiate(s.loss, s.operands)) {
        if (!gradient) continue;
        inputs.push_back(test::random_array(random, gradient.type(), 3, 0.5, 1.5));
        const Value weights = s.graph.add_input({str("weights_", inputs.size()), gradient.type()}),
                    term = sum(gradient * weights, 0, gradient.shape().rank());
        total = total ? total + term : term;
      }
      judge_gradient(s, std::move(inputs), total, differentiate(total, s.operands), 40);
      if (this->HasFailure()) return;
    }
}

TEST(MakeOp, RefusesUnknownNames) {
  EXPECT_USER_ERROR(make_op("frobnicate", {}), "[op] unknown op 'frobnicate'; it needs a newer version of Sinter or the name is wrong");
}

}  // namespace
}  // namespace sinter::ir::every_op_test
