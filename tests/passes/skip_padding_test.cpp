// What need not heed the steps of sequences that a mask leaves out.
#include "ir/scan.h"
#include "tests/passes/helpers.h"

namespace sinter::passes::skip_padding_test {
namespace {

using ir::Value;

const Dim n = Dim::batch(), t = Dim::length();

Value tanh(Value x) { return x.graph->add(ir::Tanh{}, {x}); }

/// A graph with x f32[N,T,3], a mask of its steps, and another one.
struct Steps {
  ir::Graph graph{"g"};
  Value x = graph.add_input({"x", {DType::f32, {n, t, 3}}}), mask = input_mask("mask"), other_mask = input_mask("other"),
        zero = graph.add(ir::Constant{0}, {});

  Value input_mask(const char* name) {
    // Not a leaf, whose value another node could not be.
    const Value given = graph.add_input({name, {DType::i32, {n, t}}});
    return graph.add(ir::Less{}, {given, graph.add(ir::Constant{2, DType::i32}, {})});
  }
  Value condition(Value of) { return reshape(of, {n, t, 1}); }
  /// x where the mask is true, else 0.
  Value kept(Value x) { return select(condition(mask), x, zero); }
  Value rows(Value x) { return reshape(x, {n * t, x.shape()[2]}); }

  void run() {
    const auto options = test::reference_options();
    PassContext context{options, {}};
    (void)skip_padding(graph, context);
    ir::verify(graph);
  }
  bool is_free(Value v, Value of = {}) const { return graph.node(v.id).padding.mask == (of ? of : mask).id; }
  bool is_needed(Value v) const { return graph.node(v.id).padding.mask == ir::no_node; }
  bool may_be_anything(Value v) const { return graph.node(v.id).padding.anything; }
};

TEST(PaddingOfSteps, WhatIsSelectedMayBeAnythingElsewhere) {
  Steps s;
  const Value twice = s.x * 2.0, logarithm = s.graph.add(ir::Log{}, {twice}), kept = s.kept(logarithm), total = sum(kept, 0, 2);
  s.graph.add_output(total);
  s.run();
  EXPECT_TRUE(s.is_free(twice) && s.may_be_anything(twice));
  EXPECT_TRUE(s.is_free(logarithm) && s.may_be_anything(logarithm));
  EXPECT_TRUE(s.is_free(kept) && !s.may_be_anything(kept)) << "it is 0 there, which is added";
  EXPECT_TRUE(s.is_free(total));
}

TEST(PaddingOfSteps, WhatAnythingElseReadsIsNeeded) {
  for (const int other : {0, 1, 2, 3}) {
    Steps s;
    const Value twice = s.x * 2.0, kept = s.kept(twice);
    s.graph.add_output(sum(kept, 0, 2));
    if (other == 0) s.graph.add_output(twice);
    if (other == 1) s.graph.add_output(sum(twice, 0, 2));
    if (other == 2) s.graph.add_output(select(s.condition(s.other_mask), twice, s.zero));
    if (other == 3) s.graph.add_output(s.graph.add(ir::Cumsum{}, {s.graph.add(ir::Permute{{0, 2, 1}}, {twice})}));  // along the steps
    s.run();
    EXPECT_TRUE(s.is_needed(twice)) << other;
    EXPECT_TRUE(s.is_free(kept)) << other;
  }
}

TEST(PaddingOfSteps, TheOtherBranchIsNeeded) {
  Steps s;
  const Value twice = s.x * 2.0, rest = select(s.condition(s.mask), s.zero, twice);
  s.graph.add_output(sum(rest, 0, 2));
  s.run();
  EXPECT_TRUE(s.is_needed(twice));
  EXPECT_TRUE(s.is_needed(rest));
}

TEST(PaddingOfSteps, OfAValueThatTwoMasksSelectWhatBothLeaveOutIsNotFound) {
  Steps s;
  const Value twice = s.x * 2.0;
  s.graph.add_output(sum(s.kept(twice), 0, 2));
  s.graph.add_output(sum(select(s.condition(s.other_mask), twice, s.zero), 0, 2));
  s.run();
  EXPECT_TRUE(s.is_needed(twice));
}

TEST(PaddingOfSteps, AProductWithZerosNeedsFiniteNumbers) {
  Steps s;
  const Value twice = s.x * 2.0, logarithm = s.graph.add(ir::Log{}, {s.x * 3.0}), kept = s.kept(s.x);
  const Value weight = matmul(s.rows(twice), s.rows(kept), true), other = matmul(s.rows(logarithm), s.rows(kept), true);
  s.graph.add_output(weight);
  s.graph.add_output(other);
  s.run();
  EXPECT_TRUE(s.is_free(weight));
  EXPECT_TRUE(s.is_free(other));
  EXPECT_TRUE(s.is_free(twice) && !s.may_be_anything(twice));
  EXPECT_TRUE(s.is_free(logarithm) && !s.may_be_anything(logarithm)) << "0 in its place is finite";
  EXPECT_TRUE(s.is_needed(s.graph.value(s.graph.node(logarithm.id).inputs[0]))) << "the logarithm of 0 is not";
}

TEST(PaddingOfSteps, TheSignOfAZeroThatIsAResultStays) {
  Steps s;
  const Value factor = s.x * 2.0, product = s.kept(s.x) * factor;  // -0 where the factor is negative
  const Value summed = s.x * 3.0, sum = ir::sum(s.rows(s.kept(s.x) * summed), 0, 1);
  s.graph.add_output(reshape(product, {n * t, 3}));
  s.graph.add_output(sum);
  s.run();
  EXPECT_TRUE(s.is_needed(product));
  EXPECT_TRUE(s.is_needed(factor));
  EXPECT_TRUE(s.is_free(summed)) << "zeros of either sign are the same in a sum";
}

TEST(PaddingOfSteps, RowsOfOtherShapesAreThoseOfTheSameSteps) {
  Steps s;
  const Value w = s.graph.add_state({"w", {DType::f32, {3, 4}}, true});
  const Value product = matmul(s.rows(s.x), w), back = reshape(product, {n, t, 4}), kept = s.kept(back);
  s.graph.add_output(sum(kept, 0, 2));
  s.run();
  EXPECT_TRUE(s.is_free(product) && s.may_be_anything(product));
  EXPECT_TRUE(s.is_free(back));
  EXPECT_TRUE(s.is_needed(w));
}

TEST(PaddingOfSteps, AMaskOfOtherRowsLeavesNothingOut) {
  Steps s;
  // The mask of the steps in another order.
  const Value turned = s.graph.add(ir::Permute{{1, 0}}, {s.mask}), condition = reshape(turned, {n, t, 1}), twice = s.x * 2.0;
  s.graph.add_output(sum(select(condition, twice, s.zero), 0, 2));
  s.run();
  EXPECT_TRUE(s.is_needed(twice));
}

TEST(PaddingOfSteps, SamplesOfFewStepsAreNotWorthIt) {
  for (const std::int64_t steps : {15, 16}) {
    ir::Graph graph("g");
    const Value x = graph.add_input({"x", {DType::f32, {n, steps, 3}}}), mask = graph.add_input({"m", {DType::boolean, {n, steps}}}), twice = x * 2.0;
    graph.add_output(sum(select(reshape(mask, {n, steps, 1}), twice, graph.add(ir::Constant{0}, {})), 0, 2));
    const auto options = test::reference_options();
    PassContext context{options, {}};
    EXPECT_EQ(skip_padding(graph, context), steps == 16);
    EXPECT_EQ(graph.node(twice.id).padding.mask == mask.id, steps == 16);
  }
}

/// h ← what `next` makes of h, x and the step's mask; the scan's node.
using Next = std::function<Value(Value h, Value x, Value mask)>;
struct Loop : Steps {
  Value scan, last, stacked;
  explicit Loop(const Next& next, bool is_masked = true) {
    ir::Graph step("step");
    const auto input = [&](const char* name, DType type, const Shape& shape) {
      return step.add_input({name, {type, shape}, ir::InputSpec::Kind::hidden});
    };
    const Value before = input("h", DType::f32, {n, 3}), element = input("x", DType::f32, {n, 3}), exists = input("m", DType::boolean, {n, 1});
    const Value after = next(before, element, exists);
    const Value first = graph.add_input({"h", {DType::f32, {n, 3}}});
    const ir::ScanValues made =
        ir::add_scan(graph, {step, {first}, {x * 2.0, condition(is_masked ? mask : other_mask)}, {}, t, false}, {{after.id}, {after.id}, {}});
    last = made.last[0];
    stacked = made.stacked[0];
    scan = graph.value(graph.node(last.id).inputs[0]);
  }
  Value sequence() { return graph.value(graph.node(scan.id).inputs[1]); }
};

TEST(PaddingOfSteps, ALoopWhoseCarriesStayAsTheyAreSkipsSteps) {
  Loop l([](Value h, Value x, Value mask) { return select(mask, tanh(x + h), h); });
  l.graph.add_output(l.last);
  l.graph.add_output(sum(l.kept(l.stacked), 0, 2));
  l.run();
  EXPECT_TRUE(l.is_free(l.scan));
  EXPECT_TRUE(l.is_free(l.sequence()) && l.may_be_anything(l.sequence()));
}

TEST(PaddingOfSteps, OneWhoseOutputsAreNeededRunsThemAll) {
  Loop l([](Value h, Value x, Value mask) { return select(mask, tanh(x + h), h); });
  l.graph.add_output(l.last);
  l.graph.add_output(l.stacked);
  l.run();
  EXPECT_TRUE(l.is_needed(l.scan));
  EXPECT_TRUE(l.is_free(l.sequence()) && l.may_be_anything(l.sequence())) << "it is not selected there";
}

TEST(PaddingOfSteps, OneWhoseCarriesGoOnRunsThemAll) {
  struct Case {
    Next next;
    bool reads_sequence;  // where the mask is false
  };
  const std::vector<Case> cases{{[](Value h, Value x, Value) { return tanh(x + h); }, true},
                                {[](Value h, Value x, Value mask) { return select(mask, tanh(x + h), h * 0.5); }, false},
                                {[](Value h, Value x, Value mask) { return select(mask, h, tanh(x + h)); }, true},
                                {[](Value h, Value x, Value mask) { return select(mask, tanh(x + h), h) + x; }, true}};
  for (const auto& [next, reads_sequence] : cases) {
    Loop l(next);
    l.graph.add_output(l.last);
    l.run();
    EXPECT_TRUE(l.is_needed(l.scan));
    EXPECT_EQ(l.is_needed(l.sequence()), reads_sequence);
  }
}

TEST(PaddingOfSteps, ALoopOverAnotherMaskHeedsThat) {
  Loop l([](Value h, Value x, Value mask) { return select(mask, tanh(x + h), h); }, false);
  l.graph.add_output(l.last);
  l.run();
  EXPECT_TRUE(l.is_free(l.scan, l.other_mask));
  EXPECT_TRUE(l.is_free(l.sequence(), l.other_mask));
}

}  // namespace
}  // namespace sinter::passes::skip_padding_test
