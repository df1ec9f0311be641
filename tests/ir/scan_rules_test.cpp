// What a scan and its body may not be. What they are: scan_test.cpp.
#include <gtest/gtest.h>

#include "ir/differentiate.h"
#include "ir/reference.h"
#include "ir/scan.h"
#include "ir/verify.h"
#include "tests/ir/expect_error.h"

namespace sinter::ir::scan_rules_test {
namespace {

const Dim n = Dim::batch(), T = Dim::length();

Type f32(Shape shape) { return {DType::f32, shape}; }

/// A graph with a carry, a sequence and a weight, and the scan of a body made of them.
struct Refused {
  Graph graph{"g"}, body{"step"};
  Value carry = graph.add_input({"h", f32({n, 3})}), sequence = graph.add_input({"x", f32({n, 5, 3})}),
        weight = graph.add_state({"w", f32({3, 3}), true});
  Value h = body.add_input({"h", f32({n, 3}), InputSpec::Kind::hidden}), x = body.add_input({"x", f32({n, 3}), InputSpec::Kind::hidden}),
        w = body.add_input({"w", f32({3, 3}), InputSpec::Kind::hidden});
  Value add(const Values& outputs, Scan op = {{}, 1, 1, 5, false}) {
    for (const Value v : outputs) body.add_output(v);
    op.body = Body(body);
    return graph.add(op, {carry, sequence, weight});
  }
};

TEST(ScanRules, RefusesBodiesThatBreakItsRules) {
  EXPECT_USER_ERROR(Refused().graph.add(Scan{}, {}), "scan: has no body");
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({r.h}, {{}, 0, 0, 5, false}), "scan: takes at least one carry or sequence, got 0 and 0");
  }
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({r.h}, {{}, 1, 1, 0, false}), "scan: takes 1 step or more, k or k·T, got 0");
  }
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({r.h}, {{}, 1, 1, 6, false}), "scan: operand 1 is a sequence of [N,6,...], got f32[N,5,3]");
  }
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({sum(r.h, 1, 2)}), "scan: carry 0 is f32[N,3], and the body makes f32[N] of it");
  }
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({r.h - sum(r.h, 0, 1)}), "scan: node %3 of the body (sum) mixes samples");
  }
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({r.h, r.w}), "scan: an output of the body has a value for each of N samples, got f32[3,3]");
  }
  {
    Refused r;
    EXPECT_USER_ERROR(r.add({}), "scan: the body has 0 outputs, 1 of which would be carries");
  }
  {
    Refused r;
    const Value scan = r.add({r.h});
    EXPECT_USER_ERROR(reshape(scan, {1}), "reshape: cannot read a scan; a scan_result can");
    EXPECT_USER_ERROR(r.graph.add(ScanResult{0, DType::f32, {n, 3}}, {r.carry}), "scan_result: reads a scan, got input");
    EXPECT_USER_ERROR(r.graph.add(ScanResult{1, DType::f32, {n, 3}}, {scan}), "scan_result: the scan has 1 results, no result 1");
    EXPECT_USER_ERROR(r.graph.add(ScanResult{0, DType::f32, {n, 4}}, {scan}), "scan_result: result 0 of the scan is f32[N,3], got f32[N,4]");
    r.graph.add_output(scan);
    EXPECT_USER_ERROR(verify(r.graph), "[g] node %3 (scan): a scan cannot be an output, only one of its results");
  }
  {
    Refused r;
    const Value counter = r.body.add_state({"t", f32({3}), false});
    EXPECT_USER_ERROR(r.add({r.h + counter}), "[scan] a step reads the state 't' as such; pass it as an operand");
  }
}

/// The loss depends on the scan, but through whole numbers.
TEST(ScanRules, HasNoGradientsWhereNonePasses) {
  Refused r;
  r.body.add_output(r.h * 0.5);
  r.body.add_output(cast(r.x, DType::i32));
  const Value scan = r.graph.add(Scan{Body(r.body), 1, 1, 5, false}, {r.carry, r.sequence, r.weight});
  const Value loss = sum(cast(scan_result(scan, 1), DType::f32) * 2, 0, 3);
  const Value wrt[] = {r.carry, r.sequence, r.weight};
  for (const Value gradient : differentiate(loss, wrt)) EXPECT_FALSE(gradient);
}

TEST(ScanRules, RefusesOperandsThatItsBodyDoesNotTake) {
  Refused r;
  r.body.add_output(r.h);
  const Scan op{Body(r.body), 1, 1, 5, false};
  EXPECT_USER_ERROR(r.graph.add(op, {r.carry, r.sequence}), "scan: takes 1 carries, 1 sequences and what else its body reads, 3 operands, got 2");
  EXPECT_USER_ERROR(r.graph.add(op, {r.carry, r.sequence, r.carry}), "scan: operand 2 is f32[N,3] for a step, its body takes f32[3,3]");
  const Value table = r.graph.add_input({"t", f32({Dim::rows(), 3}), InputSpec::Kind::table});
  EXPECT_USER_ERROR(r.graph.add(op, {r.carry, r.sequence, table}), "scan: operand 2 is a table, f32[R,3]; gather its rows first");
  Graph twice("step");
  const Value wide = twice.add_input({"h", f32({Dim::batch(2), 3}), InputSpec::Kind::hidden});
  twice.add_output(wide);
  EXPECT_USER_ERROR(r.graph.add(Scan{Body(twice), 1, 0, 5, false}, {reshape(r.graph.add_input({"y", f32({n, 6})}), {Dim::batch(2), 3})}),
                    "scan: samples are N or a number, got 2N");
  Graph scalar("step");
  scalar.add_output(scalar.add_input({"h", f32({}), InputSpec::Kind::hidden}));
  EXPECT_USER_ERROR(r.graph.add(Scan{Body(scalar), 1, 0, 5, false}, {constant(r.graph, 1)}),
                    "scan: its sequences have a dimension of samples, got f32[] for a step");
}

TEST(ScanRules, ACarryIsF32AndAScanIsNoUpdate) {
  Graph graph("g"), body("step");
  const Value w = graph.add_state({"w", {DType::i32, {2, 3}}, false}), x = graph.add_input({"x", f32({2, 5, 3}), InputSpec::Kind::fixed});
  const Value c = body.add_input({"c", {DType::i32, {2, 3}}, InputSpec::Kind::hidden});
  (void)body.add_input({"x", f32({2, 3}), InputSpec::Kind::hidden});
  body.add_output(c);
  EXPECT_USER_ERROR(graph.add(Scan{Body(body), 1, 1, 5, false}, {w, x}), "scan: carry 0 is i32[2,3]; carries are f32");
  Graph of_bytes("g");
  const Value byte = of_bytes.add_state({"b", packed_type, false}), y = of_bytes.add_input({"x", f32({2, 5, 3}), InputSpec::Kind::fixed});
  (void)byte;
  Graph step("step");
  step.add_output(step.add_input({"x", f32({2, 3}), InputSpec::Kind::hidden}));
  of_bytes.set_update(0, of_bytes.add(Scan{Body(step), 0, 1, 5, false}, {y}).id);
  EXPECT_USER_ERROR(verify(of_bytes), "[g] node %2 (scan): a scan cannot be an update, only one of its results");
}

/// The gradient of a weight sums over samples and steps, which cannot both be T long.
TEST(ScanRules, RefusesGradientsThatNeedTwoLengths) {
  Graph graph("g");
  const Value h = graph.add_input({"h", f32({n, T, 3})}), x = graph.add_input({"x", f32({n, T, 3})}), w = graph.add_state({"w", f32({3, 3}), true});
  Graph step("step");
  const Value c = step.add_input({"h", f32({n, T, 3}), InputSpec::Kind::hidden}), e = step.add_input({"x", f32({n, 3}), InputSpec::Kind::hidden}),
              u = step.add_input({"w", f32({3, 3}), InputSpec::Kind::hidden});
  const Value rows = reshape(c, {Dim::batch() * Dim::length(), 3}), next = reshape(matmul(rows, u), {n, T, 3}) + reshape(e, {n, 1, 3});
  const Value last = add_scan(graph, {step, {h}, {x}, {w}, T, false}, {{next.id}, {}, {}}).last[0];
  EXPECT_THAT([&] { differentiate(sum(last, 0, 3), {&w, 1}); },
              ::testing::ThrowsMessage<UserError>(::testing::HasSubstr("at most one length per shape, got [N,T,T,3]")));
}

/// With a fixed number of samples a step may mix them, but what its gradient keeps has samples.
TEST(ScanRules, RefusesGradientsOfWhatHasNoSamples) {
  Graph graph("g");
  const Value h = graph.add_input({"h", f32({2, 3}), InputSpec::Kind::fixed}), x = graph.add_input({"x", f32({2, 5, 3}), InputSpec::Kind::fixed});
  Graph step("step");
  const Value c = step.add_input({"h", f32({2, 3}), InputSpec::Kind::hidden}), e = step.add_input({"x", f32({2, 3}), InputSpec::Kind::hidden});
  const Value next = c * exp(sum(c, 0, 1)) + e;  // [3], of both samples
  const Value last = add_scan(graph, {step, {h}, {x}, {}, 5, false}, {{next.id}, {}, {}}).last[0];
  EXPECT_THAT([&] { differentiate(sum(last, 0, 2), {&x, 1}); },
              ::testing::ThrowsMessage<UserError>(::testing::HasSubstr("scan: the gradient needs ")));
  EXPECT_THAT([&] { differentiate(sum(last, 0, 2), {&x, 1}); },
              ::testing::ThrowsMessage<UserError>(::testing::HasSubstr(
                  " of each step, which has no dimension of 2 samples; compute what is of the whole batch before or after the scan")));
}

TEST(ScanRules, RefusesBodiesThatAreNestedTooDeep) {
  Graph inner("step");
  const Value h = inner.add_input({"h", f32({n, 3}), InputSpec::Kind::hidden}), x = inner.add_input({"x", f32({n, 5, 3}), InputSpec::Kind::hidden});
  const auto nest = [&](Graph& graph, Value carry, Value sequence) {
    Graph body("step");
    const Value c = body.add_input({"h", f32({n, 3}), InputSpec::Kind::hidden}), all = body.add_input({"x", f32({n, 5, 3}), InputSpec::Kind::hidden});
    (void)all;
    body.add_output(c * 0.5);
    return scan_result(graph.add(Scan{Body(body), 1, 0, 5, false}, {carry, sequence}), 0);
  };
  Graph graph = inner;
  const auto deeper = [&](const Graph& from) {
    Graph outer("step");
    const Value c = outer.add_input({"h", f32({n, 3}), InputSpec::Kind::hidden}),
                all = outer.add_input({"x", f32({n, 5, 3}), InputSpec::Kind::hidden});
    outer.add_output(scan_result(outer.add(Scan{Body(from), 1, 0, 5, false}, {c, all}), 0));
    return outer;
  };
  graph.add_output(nest(graph, {&graph, h.id}, {&graph, x.id}));
  EXPECT_EQ(Body(graph).depth(), 2u);
  graph = deeper(graph);
  graph = deeper(graph);
  EXPECT_EQ(Body(graph).depth(), 4u);
  EXPECT_USER_ERROR(Body(deeper(graph)), "[scan] scans are nested 5 deep; at most 4 may be");
  // As deep as they may be, they are computed.
  graph.value(0);
  const std::vector<Array> in{Array(DType::f32, {2, 3}), Array(DType::f32, {2, 5, 3})};
  EXPECT_NO_THROW((void)evaluate(graph, in, {}, 2));
}

TEST(ScanRules, BodiesAreEqualThatComputeTheSame) {
  const auto body = [](double factor, const char* name) {
    Graph graph(name);
    const Value h = graph.add_input({name, f32({n, 3}), InputSpec::Kind::hidden});
    graph.add_output(h * factor);
    return Body(graph);
  };
  EXPECT_EQ(body(0.5, "a"), body(0.5, "b"));
  EXPECT_NE(body(0.5, "a"), body(0.25, "a"));
  EXPECT_EQ(body(0.5, "a").text(), "(f32[N,3]) { %1 = constant(value=0.5, dtype=f32) %2 = mul(%0, %1) } -> %2");
  EXPECT_EQ(Body().text(), "none");
  EXPECT_ERROR(Body().graph(), InternalError, "[scan] internal error: has no body");
}

}  // namespace
}  // namespace sinter::ir::scan_rules_test
