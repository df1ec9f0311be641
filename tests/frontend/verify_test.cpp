// verify(): what it finds, names, compares and prints.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "frontend/compile/bounds.h"
#include "frontend/compile/judge.h"
#include "ir/print.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::verify_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(Verify, AgreesAndRestoresState) {
  NEEDS_CODEGEN();
  SmallModel m;
  const Tensor x = random({65, 20}, 1), y = random_labels(65, 7, 2);
  m.step(x, y);
  const auto before = m.values();
  const VerifyReport report = m.step.verify(x, y);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GT(report.nodes, 20u);
  EXPECT_GT(report.worst, 0);
  EXPECT_LE(report.worst, 1) << "of its tolerance";
  EXPECT_EQ(m.values(), before);
}

/// Where it shows first that node `id` is wrong: there, if its value leaves its kernel, else where its kernel lets out what it made of it.
ir::NodeId first_seen(const ir::Graph& graph, ir::NodeId id) {
  std::vector<bool> wrong(graph.size());
  for (const ir::NodeId next : graph.topological_order()) {
    const ir::Node& node = graph.node(next);
    if (node.kernel != graph.node(id).kernel) continue;
    wrong[next] = next == id || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::NodeId in) { return wrong[in]; });
    const bool leaves = graph.is_output(next) ||
                        std::any_of(node.users.begin(), node.users.end(), [&](ir::NodeId user) { return graph.node(user).kernel != node.kernel; });
    if (wrong[next] && leaves) return next;
  }
  return ir::no_node;
}

TEST(Verify, NamesThePerturbedNode) {
  NEEDS_CODEGEN();
  const Tensor x = random({65, 20}, 1), y = random_labels(65, 7, 2);
  SmallModel honest;
  honest.step(x, y);
  const ir::Graph& graph = honest.step.graph();
  const auto names = ir::printed_names(graph);
  int itself = 0, later = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    if (!std::holds_alternative<ir::Sigmoid>(graph.node(id).op) && !std::holds_alternative<ir::Sqrt>(graph.node(id).op) &&
        !std::holds_alternative<ir::Matmul>(graph.node(id).op))
      continue;
    const Environment fault("SINTER_FAULT", names[id].c_str());
    SmallModel faulty;
    const VerifyReport report = faulty.step.verify(x, y);
    ASSERT_FALSE(report.ok()) << names[id];
    EXPECT_GT(report.first().ulps, 2);
    EXPECT_GT(std::abs(report.first().got - report.first().wanted), report.first().tolerance);
    EXPECT_EQ(report.first().part, "kernels");
    const ir::NodeId wanted = first_seen(graph, id);
    ASSERT_NE(wanted, ir::no_node);
    EXPECT_THAT(report.first().node, StartsWith(names[wanted] + " = ")) << "perturbed: " << names[id] << "\n" << report << ir::to_text(graph);
    (wanted == id ? itself : later) += 1;
  }
  EXPECT_GE(itself, 2);
  EXPECT_GE(later, 2) << "nodes within a kernel, whose values nobody sees";
}

TEST(Verify, PrintsBothValuesAndTheirDistance) {
  NEEDS_CODEGEN();
  std::ostringstream text;
  VerifyReport report;
  report.nodes = 20;
  report.worst = 0.25;
  text << report;
  EXPECT_EQ(text.str(), "verify: 20 values agree; the greatest error is 0.25 of its tolerance\n");
  EXPECT_THAT(error_of([&] { report.first(); }), HasSubstr("all values agree"));
  text.str("");
  report.disagreements = {{"kernels", "%4 = sigmoid   # dense_1, mlp.cpp:14", 7, 0.1f, 0.10000000149, 1e-8, 3.5},
                          {"memory plan", "output 0", 1, 2, 3, 0, 4194304}};
  text << report;
  EXPECT_EQ(text.str(),
            "verify: 2 of 20 values disagree, this one first:\n"
            "  [kernels] %4 = sigmoid   # dense_1, mlp.cpp:14: element 7 is 0.1, should be 0.10000000149 within 1e-08, 3.5 ulps off\n"
            "  [memory plan] output 0: element 1 is 2, should be 3 as it is with separate memory, 4.1943e+06 ulps off\n");
  EXPECT_EQ(report.first().index, 7u);
}

TEST(Verify, SaysWhatIsNotFinite) {
  NEEDS_CODEGEN();
  const Parameter w("w", Tensor({1, 1}, {2}));
  auto step = compile([&](const Tensor& x) {
    const Tensor y = log(x);
    w.assign(w * 0.5);
    return y;
  });
  VerifyReport report = step.verify(Tensor({1, 2, 3, 0}, {2, 2}));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_THAT(report.non_finite, ElementsAre(AllOf(HasSubstr("output 0: "), HasSubstr(" = log"), HasSubstr(" is -inf at [1, 1]"))));
  std::ostringstream text;
  text << report;
  EXPECT_THAT(text.str(), AllOf(HasSubstr(" values agree; "), HasSubstr("\n  not finite, as it should be: output 0: ")));
  w.assign(Tensor({1, NAN}, {2}));
  report = step.verify(Tensor({1, 2, 3, 4}, {2, 2}));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_THAT(report.non_finite, ElementsAre(AllOf(HasSubstr("state w: "), HasSubstr("nan at [1]"))));
  w.assign(Tensor({1, 1}, {2}));
  EXPECT_THAT(step.verify(Tensor({1, 2, 3, 4}, {2, 2})).non_finite, IsEmpty());
}

TEST(Verify, ComparesBytesButNotTheSignsOfNaN) {
  NEEDS_CODEGEN();
  const auto compared = [](const std::vector<float>& got, const std::vector<float>& wanted) {
    VerifyReport report;
    const Shape shape{static_cast<std::int64_t>(got.size())};
    judge_bytes(report, "output 0", Tensor(got, shape), Tensor(wanted, shape));
    std::ostringstream text;
    for (const Disagreement& d : report.disagreements) text << d.index << ": " << d.got << ", " << d.wanted;
    return text.str();
  };
  EXPECT_EQ(compared({1, NAN, 2}, {1, -NAN, 2}), "");
  EXPECT_EQ(compared({1, NAN, 2, 3}, {1, -NAN, 2.5, 4}), "2: 2, 2.5");
  EXPECT_EQ(compared({1, NAN}, {1, 7}), "1: nan, 7");
  EXPECT_EQ(compared({0, 0}, {0, -0.0f}), "1: 0, -0");
}

/// 1e30 / 1e60 is 0 in f32, where 1e60 is infinite.
TEST(Verify, WhatAnOverflowMakesFiniteAgainIsNoDisagreement) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) { return x / square(x); });
  const VerifyReport report = step.verify(Tensor({1e30f, -1e30f, 2}, {3}));
  std::ostringstream text;
  text << report;
  EXPECT_TRUE(report.ok()) << text.str();
  EXPECT_EQ(step(Tensor({1e30f}, {1})).item(), 0);
}

TEST(Verify, CountsUnitsInTheLastPlace) {
  NEEDS_CODEGEN();
  EXPECT_EQ(ulps_apart(1, 1), 0);
  EXPECT_EQ(ulps_apart(1 + 0x1p-23, 1), 1);
  EXPECT_EQ(ulps_apart(1, 1 + 0x1p-23), 1);
  EXPECT_EQ(ulps_apart(1 - 0x1p-24, 1), 0.5);
  EXPECT_EQ(ulps_apart(-3, -2), 0x1p22);
  EXPECT_EQ(ulps_apart(0x1p-149, 0), 1) << "below the least normal number steps stay as they are";
  EXPECT_EQ(ulps_apart(NAN, NAN), 0);
  EXPECT_EQ(ulps_apart(NAN, 1), INFINITY);
  EXPECT_EQ(ulps_apart(INFINITY, 1), INFINITY);
  EXPECT_EQ(ulps_apart(-INFINITY, -INFINITY), 0);
}

TEST(Verify, OfEveryStepWhereTheEnvironmentAsks) {
  NEEDS_CODEGEN();
  const Environment verify("SINTER_VERIFY", "1");
  const Tensor x = random({65, 20}, 1), y = random_labels(65, 7, 2);
  SmallModel good;
  const auto before = good.values();
  good.step(x, y);
  EXPECT_NE(good.values(), before);

  SmallModel faulty;
  const auto untouched = faulty.values();
  std::string sigmoid;
  const auto names = ir::printed_names(good.step.graph());
  for (const ir::NodeId id : good.step.graph().topological_order())
    if (std::holds_alternative<ir::Sigmoid>(good.step.graph().node(id).op)) sigmoid = names[id];
  {
    const Environment fault("SINTER_FAULT", sigmoid.c_str());
    EXPECT_THAT(error_of([&] { faulty.step(x, y); }),
                AllOf(HasSubstr("SINTER_VERIFY: the compiled step is wrong, this is a bug in Sinter; nothing was changed"),
                      HasSubstr("[kernels] " + sigmoid + " = sigmoid")));
    EXPECT_EQ(faulty.values(), untouched);
  }
  faulty.step(x, y);
  EXPECT_EQ(faulty.values(), good.values());
}

TEST(Verify, UnknownWish) {
  NEEDS_CODEGEN();
  const Environment verify("SINTER_VERIFY", "yes");
  SmallModel m;
  EXPECT_THAT(error_of([&] { m.step(random({4, 20}, 1), random_labels(4, 7, 2)); }), HasSubstr("[SINTER_VERIFY] must be 0 or 1, got 'yes'"));
}

/// The errors of all operands are carried at once: not each choice of those that move.
TEST(Verify, JudgesConcatenationsOfManyParts) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) {
    std::vector<Tensor> parts;
    for (int i = 0; i < 70; ++i) parts.push_back(tanh(x * (0.01 * i)));
    return pad(concat(parts, 1), 1, 1, 1, 5);
  });
  const VerifyReport report = step.verify(random({3, 2}, 1));
  EXPECT_TRUE(report.ok()) << report;
}

/// What is subtracted from all elements of a row rounds the small ones too.
TEST(Verify, AllowsASoftmaxTheRoundingOfItsGreatestElement) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) { return softmax(concat({x, x * 0 + 64.3}, 1)); });
  const VerifyReport report = step.verify(random({2000, 3}, 1, 0, 0.5));
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
}  // namespace sinter::test::verify_test
